"""What the run does: training iterations with the planted faults, evaluations and checkpoints, as programs."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from .catalog import (
    BACKWARD_HEAD,
    BACKWARD_LAYER,
    CANDIDATES,
    CHECK,
    CHECKPOINT,
    EMBEDDING,
    EMBEDDING_BACKWARD,
    FORWARD_HEAD,
    FORWARD_LAYER,
    INPUTS,
    LATE_INPUT,
    LOSS_VALUE,
    OPTIMIZER,
    SLOW_ATTENTION,
)
from .program import COMPUTE_STREAM, REDUCE_STREAM, Instruction, Program
from .records import Operator
from .workload import Workload

__all__ = ["layers", "program_of", "schedule"]

LATE_NS = 8_000_000
LOADING_NS = 60_000
EXTRA_KERNELS = 5


def schedule(workload: Workload) -> Iterator[tuple[str, int]]:
    """Yields the kind and number of each segment of the run, in order."""
    evaluations = checkpoints = 0
    for number in range(workload.iterations):
        yield "iteration", number
        if workload.evaluate_every and (number + 1) % workload.evaluate_every == 0:
            yield "evaluation", evaluations
            evaluations += 1
        if workload.checkpoint_every and (number + 1) % workload.checkpoint_every == 0:
            yield "checkpoint", checkpoints
            checkpoints += 1
    yield "end", 0


def program_of(workload: Workload, kind: str, number: int) -> Program:
    """Returns the program of a segment, with its planted faults, but without its step annotation and random edits."""
    program = Program(workload)
    if kind == "iteration":
        _train(program, number)
    elif kind == "evaluation":
        with program.frame("train.py(88): evaluate"):
            for batch in range(2):
                _inputs(program, late=False, stalled=False)
                _forward(program, ("evaluation", batch), differentiable=False, slow=False)
            _loss_value(program)
    elif kind == "checkpoint":
        with program.frame("train.py(101): save"):
            for _ in range(workload.layers):
                with program.span(Operator(name="aten::copy_")):
                    program.launch((CHECKPOINT,))
                    program.add("sync", COMPUTE_STREAM)
    else:
        program.add("sync", None)
    return program


def layers(workload: Workload, program: Callable[[Workload, str, int], Program]) -> list[dict[str, Any]]:
    """Returns the repeated layers in an iteration without faults: first operation, length, repeats and names."""
    found: dict[str, list[list[str]]] = {}
    first: dict[str, int] = {}
    operations = 0
    current: list[str] | None = None
    plain = replace(workload, warm_up=0, outlier=None, stall=None, late=())
    for code, *rest in program(plain, "iteration", 0).instructions:
        if code == "mark" and rest[0].startswith("layer "):
            first.setdefault(rest[0], operations)
            current = []
            found.setdefault(rest[0], []).append(current)
        elif code == "mark":
            current = None
        elif code == "launch":
            operations += 1
            if current is not None:
                current.append(rest[0].name)
    return [
        {
            "name": label.removeprefix("layer "),
            "offset": first[label],
            "length": len(repeats[0]),
            "repeats": len(repeats),
            "operations": repeats[0],
        }
        for label, repeats in found.items()
    ]


def _train(program: Program, number: int) -> None:
    workload = program.workload
    with program.frame("train.py(42): train_step"):
        _inputs(program, late=number in workload.late, stalled=number == workload.stall)
        _tune(program, max(0, workload.warm_up - number))
        slow = number == workload.outlier
        with program.frame("model.py(17): forward"):
            _forward(program, "train", differentiable=True, slow=slow)
        with program.frame("torch/_tensor.py(521): backward"):
            program.add("switch", 1)
            _backward(program)
            program.add("switch", 0)
        _optimize(program)
        _loss_value(program)


def _inputs(program: Program, *, late: bool, stalled: bool) -> None:
    with program.annotation("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"):
        program.add("sleep", LATE_NS if late else LOADING_NS, late)
    copies = (LATE_INPUT, INPUTS[1]) if stalled else INPUTS
    for copy in copies:
        with program.span(Operator(name="aten::to"), Operator(name="aten::_to_copy"), Operator(name="aten::copy_")):
            if copy.blocking:
                program.add("mark", "stall")
            program.launch((copy,))
            if copy.blocking:
                program.add("sync", COMPUTE_STREAM)


def _tune(program: Program, rounds: int) -> None:
    """Adds the autotuner's trial launches, fewer in each warm-up iteration."""
    if not rounds:
        return
    with program.span(Operator(name="CachingAutotuner.benchmark_all_configs")):
        for candidate in CANDIDATES:
            program.launch((candidate,) * (3 * rounds))
            program.add("sync", None)


def _forward(program: Program, place: object, *, differentiable: bool, slow: bool) -> None:
    program.forward((place, -1), EMBEDDING, differentiable=differentiable)
    for layer in range(program.workload.layers):
        with program.frame(f"nn.Module: Block_{layer}"):
            program.add("mark", "layer forward")
            begin = len(program.instructions)
            for step in FORWARD_LAYER:
                program.forward((place, layer), step, differentiable=differentiable)
            if slow and layer == program.workload.layers // 2:
                _slow_down(program.instructions, begin)
    program.add("mark", "end of layers")
    for step in FORWARD_HEAD:
        program.forward((place, -1), step, differentiable=differentiable)


def _slow_down(instructions: list[Instruction], begin: int) -> None:
    """Replaces the attention kernel launched after `begin` by a slow one with extra kernels behind it."""
    for index in range(begin, len(instructions)):
        instruction = instructions[index]
        if instruction[0] == "launch" and instruction[1].name == SLOW_ATTENTION.name:
            extra = [("mark", "extra"), ("launch", CHECK, COMPUTE_STREAM)] * EXTRA_KERNELS
            instructions[index : index + 1] = [("mark", "slow"), ("launch", SLOW_ATTENTION, COMPUTE_STREAM), *extra]
            return


def _backward(program: Program) -> None:
    for step in BACKWARD_HEAD:
        program.backward(("train", -1), step)
    for layer in reversed(range(program.workload.layers)):
        program.add("mark", "layer backward")
        for step in BACKWARD_LAYER:
            program.backward(("train", layer), step)
        program.reduce()
    program.add("mark", "end of layers")
    program.backward(("train", -1), EMBEDDING_BACKWARD)
    program.end_backward()


def _optimize(program: Program) -> None:
    if program.workload.world_size > 1:
        program.add("record", REDUCE_STREAM)
        program.add("wait", COMPUTE_STREAM, REDUCE_STREAM)
    with program.frame("torch/optim/adamw.py(201): step"), program.annotation("Optimizer.step#AdamW.step"):
        for step in OPTIMIZER:
            for operator, works in step.inner:
                with program.span(operator):
                    program.launch(works)


def _loss_value(program: Program) -> None:
    with program.span(Operator(name="aten::item"), Operator(name="aten::_local_scalar_dense")):
        program.launch((LOSS_VALUE,))
        program.add("sync", COMPUTE_STREAM)
