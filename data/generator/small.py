"""A run of three short iterations, small enough to be read by eye: what the sample of every format shows."""

from typing import Any

from .program import COMPUTE_STREAM, REDUCE_STREAM, Program
from .records import Copy, Fill, Kernel, Operator
from .run import Run
from .workload import Workload

__all__ = ["HIP_NAMES", "SMALL", "hip", "small_program", "small_run"]

SMALL = Workload(iterations=3, layers=1, warm_up=0, seed=11, world_size=2, outlier=None, stall=None, late=())

MATRIX = ((64, 256), (256, 256))
INPUT = Copy(direction="HtoD", source="Pinned", target="Device", bytes=65536, speed=24000)
LOSS = Copy(direction="DtoH", source="Device", target="Pageable", bytes=4, speed=12000)
ZERO = Fill(bytes=262144, duration_ns=2300)
GEMM = Kernel(
    name="small_gemm_f32_f32_f32_tn_n_tilesize64x64x8_kernel", duration_ns=21000, grid=(4, 1, 1), registers=122,
    static_shared=8192,
)  # fmt: skip
GELU = Kernel(
    name="void small::elementwise_kernel<4, small::Gelu<float>, 2>(int, float*, float const*)", duration_ns=3100,
    grid=(32, 1, 1), registers=24,
)  # fmt: skip
LOSS_SUM = Kernel(
    name="void small::reduce_kernel<128, float, small::Sum>(float*, float const*, int)", duration_ns=4700,
    grid=(8, 2, 1), registers=40, dynamic_shared=1024,
)  # fmt: skip
GRADIENT = Kernel(
    name="small_gemm_f32_f32_f32_nt_n_tilesize64x64x8_kernel", duration_ns=26000, grid=(16, 1, 1), registers=128,
    static_shared=8192,
)  # fmt: skip
STEP = Kernel(
    name="triton_poi_fused_add_mul_0", duration_ns=5200, grid=(256, 1, 1), registers=20, call="cuLaunchKernel"
)
REDUCE = Kernel(
    name="ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", duration_ns=48000,
    grid=(2, 1, 1), block=(256, 1, 1), registers=96, dynamic_shared=8192, call="cudaLaunchKernelExC", reduces=262144,
)  # fmt: skip

HIP_NAMES = {
    GEMM.name: "Small_Alik_Bljk_SB_MT64x64x8_SE_K1",
    GRADIENT.name: "Small_Ailk_Bjlk_SB_MT64x64x8_SE_K1",
    REDUCE.name: "ncclDevKernel_Generic(ncclDevComm*, unsigned long, ncclWork*)",
    "cudaLaunchKernelExC": "hipExtLaunchKernel",
    "cuLaunchKernel": "hipModuleLaunchKernel",
}
"""What is called otherwise on AMD: the kernels of libraries; calls that are not here change but their prefix."""


def hip(name: str) -> str:
    """Returns the name of a kernel or a call of the run as AMD's software has it."""
    return HIP_NAMES.get(name) or (f"hip{name.removeprefix('cuda')}" if name.startswith("cuda") else name)


def small_run() -> Run:
    """Returns the run."""
    return Run(SMALL, small_program)


def small_program(workload: Workload, kind: str, number: int) -> Program:
    """Returns the program of an iteration, or of the end, where the host waits for the device."""
    program = Program(workload)
    if kind != "iteration":
        program.add("sync", None)
        return program
    _forward(program)
    program.add("switch", 1)
    _backward(program)
    program.add("switch", 0)
    program.add("record", REDUCE_STREAM)
    program.add("wait", COMPUTE_STREAM, REDUCE_STREAM)
    with program.annotation("Optimizer.step#SGD.step"), _operator(program, "aten::_foreach_add_", *MATRIX):
        program.launch((STEP,))
    with _operator(program, "aten::item"):
        program.launch((LOSS,))
        program.add("sync", COMPUTE_STREAM)
    return program


def _forward(program: Program) -> None:
    with _operator(program, "aten::copy_", (64, 256)):
        program.launch((INPUT,))
    with _operator(program, "aten::zero_", (256, 256)):
        program.launch((ZERO,))
    for layer in range(2):
        with _operator(program, "aten::linear", *MATRIX):
            program.add("allocate", layer, 65536)
            program.launch((GEMM, GELU))
    program.launch((LOSS_SUM,))  # outside every operator, as code of one's own may launch


def _backward(program: Program) -> None:
    for layer in reversed(range(2)):
        with program.span(Operator(name="AddmmBackward0", dims=MATRIX, types=("float", "float"), backward=True)):
            program.launch((GRADIENT,))
            program.add("free", layer)
    with program.span(Operator(name="nccl:all_reduce", category="user_annotation")):
        program.add("record", COMPUTE_STREAM)
        program.add("wait", REDUCE_STREAM, COMPUTE_STREAM)
        program.launch((REDUCE,), REDUCE_STREAM)


def _operator(program: Program, name: str, *dims: tuple[int, ...]) -> Any:
    return program.span(Operator(name=name, dims=dims, types=("float",) * len(dims), concrete=("",) * len(dims)))
