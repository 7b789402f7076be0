"""Training runs that a device keeps up with, or that have exactly one defect: what costs time, and nothing else.

Without a defect the host runs far ahead, the device computes all the time, and copies and collectives hide behind it.
Each defect has the name of the diagnosis that should find it.
"""

from dataclasses import dataclass, field, replace
from pathlib import Path

from .kineto import write_kineto
from .nsys import write_nsys
from .program import COMPUTE_STREAM, REDUCE_STREAM, Program
from .records import Copy, Kernel, Operator
from .run import Run
from .workload import Workload

__all__ = ["DEFECTS", "NONE", "defect_runs", "write_defect"]

NONE = "none"
LAYERS = 6
SLOW_FACTOR = 40
FULL, NARROW = (1056, 1, 1), (16, 1, 1)
"""Grids: of all kernels, and of those of a batch that is too small for 132 multiprocessors."""
WAITING_NS = 6_000_000
"""What a host does besides launching, in runs where it is late: more than the device has to do in an iteration."""


def _kernel(name: str, duration_ns: int) -> Kernel:
    return Kernel(name=f"void net::{name}_kernel<float>(float*, int)", duration_ns=duration_ns, grid=FULL)


FORWARD = (
    _kernel("gemm_in", 90_000),
    _kernel("gelu", 30_000),
    _kernel("attention", 60_000),
    _kernel("gemm_out", 80_000),
)
BACKWARD = (_kernel("gemm_weight", 160_000), _kernel("gelu_back", 40_000), _kernel("gemm_input", 150_000))
EMBEDDING_BACK, LOSS = _kernel("embedding_back", 220_000), _kernel("loss", 25_000)
OPTIMIZER = tuple(_kernel(f"multi_tensor_apply_{part}", 60_000) for part in ("mul", "add", "sqrt", "div"))
TINY = tuple(_kernel(f"scale_{number}", 3_000) for number in range(6))
CANDIDATES = tuple(_kernel(f"candidate_{number}", 150_000) for number in range(8))
REDUCE = Kernel(
    name="ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", duration_ns=110_000,
    grid=(24, 1, 1), block=(544, 1, 1), reduces=1 << 24,
)  # fmt: skip
LONG_REDUCE = replace(REDUCE, duration_ns=260_000)
INPUT = Copy(direction="HtoD", source="Pinned", target="Device", bytes=1 << 18, speed=24_000)
PAGEABLE = Copy(direction="HtoD", source="Pageable", target="Device", bytes=24 << 20, speed=6_200, blocking=True)


@dataclass(frozen=True, kw_only=True)
class Defect:
    """What is different in a run, as switches of its program and as options of its workload."""

    waits_ns: int = 0  # of the data loader, in each iteration
    stops_ns: int = 0  # of the host between forward and backward
    tiny: bool = False  # nothing but tiny kernels, each below operators of its own
    little: bool = False  # tiny kernels between those of a layer
    syncs: bool = False  # after every kernel
    inline: bool = False  # collectives that all that follows waits for
    pageable: bool = False
    narrow: bool = False
    workload: dict[str, int] = field(default_factory=dict[str, int])


DEFECTS = {
    NONE: Defect(),
    "copy_stalls": Defect(pageable=True),
    "data_starvation": Defect(waits_ns=WAITING_NS),
    "exposed_communication": Defect(inline=True),
    "host_late": Defect(stops_ns=WAITING_NS),
    "launch_bound": Defect(tiny=True),
    "slow_iterations": Defect(workload={"outlier": 5, "stall": 9}),
    "small_kernels": Defect(little=True),
    "stragglers": Defect(workload={"ranks": 4, "world_size": 4, "straggler": 2}),
    "synchronisation": Defect(syncs=True),
    "underfilled": Defect(narrow=True),
    "warm_up": Defect(workload={"warm_up": 2}),
}
"""Every defect by the name of its diagnosis, and a run without any."""


def defect_runs(name: str, seed: int, *, iterations: int = 12, annotations: bool = True) -> list[Run]:
    """Returns the run of each rank; the slow one is the third. Equal arguments give equal runs."""
    defect = DEFECTS[name]
    plain = Workload(
        seed=seed, iterations=iterations, layers=LAYERS, warm_up=0, outlier=None, stall=None, late=(),
        annotations=annotations, memory_events=False,
    )  # fmt: skip
    workload = replace(plain, **defect.workload)  # type: ignore[arg-type]  # options that are numbers

    def program(workload: Workload, kind: str, number: int) -> Program:
        return _program(defect, workload, kind, number)

    return [Run(replace(workload, rank=rank), program) for rank in range(workload.ranks)]


def write_defect(name: str, seed: int, folder: Path, *, annotations: bool = True) -> Path:
    """Writes the run as a Kineto file, one of several ranks as an Nsight Systems export that holds them all."""
    first, *others = defect_runs(name, seed, annotations=annotations)
    path = folder / f"{name}-{seed}.{'sqlite' if others else 'json'}"
    if others:
        write_nsys(first, path, others=others)
    else:
        write_kineto(first, path)
    return path


def _program(defect: Defect, workload: Workload, kind: str, number: int) -> Program:
    program = Program(workload)
    if kind != "iteration":
        program.add("sync", None)
        return program
    _inputs(program, defect)
    for candidate in CANDIDATES * max(0, workload.warm_up - number):
        program.launch((candidate,) * 3)
    slow = number in (workload.outlier, workload.stall)
    for layer in range(workload.layers):
        _layer(program, defect, FORWARD, "aten::forward_layer", slow=slow and layer == 2)
    _launch(program, defect, LOSS)
    if defect.stops_ns:
        program.add("sleep", defect.stops_ns, True)
    for _ in range(workload.layers):
        _layer(program, defect, BACKWARD, "BackwardLayer", slow=False)
        _reduce(program, defect)
    _launch(program, defect, EMBEDDING_BACK)
    if workload.world_size > 1:
        program.add("record", REDUCE_STREAM)
        program.add("wait", COMPUTE_STREAM, REDUCE_STREAM)
    with program.annotation("Optimizer.step#AdamW.step"):
        for kernel in OPTIMIZER:
            _launch(program, defect, kernel)
    return program


def _inputs(program: Program, defect: Defect) -> None:
    """Gets a batch and copies it beside what is computed, unless the copy is what stalls."""
    with program.annotation("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"):
        program.add("sleep", defect.waits_ns or 40_000, defect.waits_ns > 0)
    if defect.pageable:
        program.launch((PAGEABLE,))
        return
    program.launch((INPUT,), REDUCE_STREAM)
    program.add("record", REDUCE_STREAM)
    program.add("wait", COMPUTE_STREAM, REDUCE_STREAM)


def _layer(program: Program, defect: Defect, kernels: tuple[Kernel, ...], name: str, *, slow: bool) -> None:
    for place, kernel in enumerate(kernels):
        longer = replace(kernel, duration_ns=kernel.duration_ns * SLOW_FACTOR) if slow and not place else kernel
        with program.span(Operator(name=name)):
            _launch(program, defect, longer)


def _launch(program: Program, defect: Defect, kernel: Kernel) -> None:
    """Launches a kernel as the defect has it: in tiny pieces, narrow, with tiny ones behind, with a wait."""
    if defect.tiny:
        for piece in TINY[:3]:
            with program.span(*(Operator(name=f"aten::{part}") for part in ("scale", "mul", "mul_out"))):
                program.launch((piece,))
        return
    program.launch((replace(kernel, grid=NARROW) if defect.narrow else kernel,))
    if defect.little:
        program.launch(TINY)
    if defect.syncs:
        program.add("sync", COMPUTE_STREAM)


def _reduce(program: Program, defect: Defect) -> None:
    """Adds the all-reduce of a layer's gradients beside the backward pass, or in its way."""
    if defect.tiny or program.workload.world_size == 1:
        return
    program.add("record", COMPUTE_STREAM)
    program.add("wait", REDUCE_STREAM, COMPUTE_STREAM)
    program.launch((LONG_REDUCE if defect.inline else REDUCE,), REDUCE_STREAM)
    if defect.inline:
        program.add("record", REDUCE_STREAM)
        program.add("wait", COMPUTE_STREAM, REDUCE_STREAM)
