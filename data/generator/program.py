"""The host's program: a flat list of instructions that the simulation plays."""

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from random import Random
from typing import Any

from .catalog import INSERTED, REDUCE, REDUCE_OPERATORS, REPLACEMENT, Step
from .records import Copy, Fill, Kernel, Operator
from .workload import Workload

__all__ = ["COMPUTE_STREAM", "REDUCE_STREAM", "Instruction", "Program", "edited"]

COMPUTE_STREAM, REDUCE_STREAM = 7, 20

Instruction = tuple[Any, ...]  # the name of one of the simulation's methods, and its arguments


class Program:
    """Builds the list of instructions; `sequences` counts the autograd nodes that it makes."""

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        self.instructions: list[Instruction] = []
        self.sequences = 0
        self._nodes: dict[tuple[object, str], int] = {}
        self._gradient: tuple[object, ...] | None = None

    def add(self, *instruction: object) -> None:
        """Appends one instruction."""
        self.instructions.append(instruction)

    @contextmanager
    def span(self, *operators: Operator, sequence: int | None = None) -> Generator[None]:
        """Surrounds what is added inside by operators, outermost first."""
        for operator in operators:
            self.add("open", operator, sequence)
        yield
        for _ in operators:
            self.add("close")

    def annotation(self, name: str) -> Any:
        """Returns a span of a user annotation, or an empty one where the run has none."""
        wanted = (Operator(name=name, category="user_annotation"),) if self.workload.annotations else ()
        return self.span(*wanted)

    def frame(self, name: str) -> Any:
        """Returns a span of a Python frame, or an empty one where the run has none."""
        wanted = (Operator(name=name, category="python_function"),) if self.workload.python_frames else ()
        return self.span(*wanted)

    def stack(self, function: str) -> Any:
        """Returns the Python frames through which a module comes to a function; none where stacks are shallow."""
        name = function.rpartition("::")[2]
        frames = (
            "torch/nn/modules/module.py(1773): _wrapped_call_impl",
            "torch/nn/modules/module.py(1784): _call_impl",
            f"torch/nn/modules/{name}.py(125): forward",
            f"<built-in function {name}>",
        )
        wanted = frames if self.workload.deep_stacks else ()
        return self.span(*(Operator(name=frame, category="python_function") for frame in wanted))

    def launch(self, works: Iterable[Kernel | Copy | Fill], stream: int = COMPUTE_STREAM) -> None:
        """Puts work on a stream."""
        for work in works:
            self.add("launch", work, stream)

    def forward(self, place: object, step: Step, *, differentiable: bool) -> None:
        """Adds a forward step; its result lives until the backward step of the same place and key, if any."""
        sequence = None
        if differentiable:
            sequence = self._nodes[place, step.key] = self.sequences
            self.sequences += 1
        with self.stack(step.outer[0].name if step.outer else step.key), self.span(*step.outer):
            for operator, works in step.inner:
                with self.span(operator, sequence=sequence):
                    self.add("allocate", (place, step.key), step.output_bytes)
                    self.launch(works)
        if not differentiable:
            self.add("free", (place, step.key))

    def backward(self, place: object, step: Step) -> None:
        """Adds a backward step: it frees the forward step's result and the gradient that it consumes."""
        gradient = (place, step.key, "gradient")
        with self.span(*step.outer, sequence=self._nodes[place, step.key]):
            self.add("allocate", gradient, step.output_bytes)
            for operator, works in step.inner:
                with self.span(operator):
                    self.launch(works)
            if self._gradient is not None:
                self.add("free", self._gradient)
            self.add("free", (place, step.key))
        self._gradient = gradient

    def end_backward(self) -> None:
        """Frees the last gradient."""
        self.add("free", self._gradient)
        self._gradient = None

    def reduce(self) -> None:
        """Adds one layer's all-reduce on its own stream, behind what computes the gradients."""
        if self.workload.world_size == 1:
            return
        with self.span(*REDUCE_OPERATORS):
            self.add("record", COMPUTE_STREAM)
            self.add("wait", REDUCE_STREAM, COMPUTE_STREAM)
            self.launch((REDUCE,), REDUCE_STREAM)


def edited(
    instructions: list[Instruction], workload: Workload, random: Random
) -> tuple[list[Instruction], dict[str, int]]:
    """Returns the instructions with kernels inserted, deleted and replaced at random, and the number of each."""
    insert, delete, substitute = workload.rates
    counts = {"inserted": 0, "deleted": 0, "substituted": 0}
    result: list[Instruction] = []
    for instruction in instructions:
        if instruction[0] != "launch" or not isinstance(instruction[1], Kernel) or instruction[1].reduces:
            result.append(instruction)
            continue
        chance = random.random()
        if chance < delete:
            counts["deleted"] += 1
        elif chance < delete + substitute:
            counts["substituted"] += 1
            result.append(("launch", REPLACEMENT, instruction[2]))
        elif chance < delete + substitute + insert:
            counts["inserted"] += 1
            result += [instruction, ("launch", INSERTED, instruction[2])]
        else:
            result.append(instruction)
    return result, counts
