"""Writes the sample history: a small run a night, as a schedule leaves them.

`python -m data.generator.history data/samples/history`
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from .kineto import write_kineto
from .program import COMPUTE_STREAM, Program
from .records import Copy, Kernel
from .run import Run
from .workload import Workload

__all__ = ["NIGHTS", "Night", "nights", "write_history"]

NIGHTS = 60
NEW_DRIVER, OUTLIER, SLOWER = 21, 35, 50
"""The nights from which the driver is a newer one, in which the machine was busy, from which a kernel is slower."""
SPREAD = 0.006
"""How much nights differ, relative to the mean."""
SLOWDOWN, BUSY = 1.3, 1.6

INPUT = Copy(direction="HtoD", source="Pinned", target="Device", bytes=65536, speed=24000)
KERNELS = (
    Kernel(name="nightly_gemm_f16_f16_f32_tn_n_tilesize128x64x32_kernel", duration_ns=64000, grid=(64, 1, 1)),
    Kernel(
        name="void nightly::softmax_kernel<4, float>(float*, float const*, int)", duration_ns=31000, grid=(32, 1, 1)
    ),
    Kernel(name="void nightly::layer_norm_kernel<float>(float*, float const*)", duration_ns=22000, grid=(32, 1, 1)),
    Kernel(name="triton_poi_fused_add_gelu_0", duration_ns=43000, grid=(128, 1, 1)),
    Kernel(name="nightly_adam_kernel", duration_ns=36000, grid=(128, 1, 1)),
)
SLOW = KERNELS[1]


@dataclass(frozen=True)
class Night:
    """A run: its name, when it was, and by how much all kernels and the slow one are longer than usual."""

    number: int
    scale: float
    slowdown: float
    driver: int

    @property
    def name(self) -> str:
        """Returns the file's name without its suffixes."""
        return f"night-{self.number:02d}"

    def run(self) -> Run:
        """Returns the run: eight iterations of a copy and five kernels."""
        workload = Workload(
            iterations=8,
            warm_up=1,
            seed=7000 + self.number,
            world_size=1,
            outlier=None,
            stall=None,
            late=(),
            memory_events=False,
            day=self.number,
            driver=self.driver,
        )
        return Run(workload, self._program)

    def _program(self, workload: Workload, kind: str, number: int) -> Program:
        """Returns the program of an iteration, or of the end, where the host waits for the device."""
        program = Program(workload)
        if kind != "iteration":
            program.add("sync", None)
            return program
        program.launch((INPUT,))
        program.launch(self._scaled(kernel) for kernel in KERNELS)
        program.add("sync", COMPUTE_STREAM)
        return program

    def _scaled(self, kernel: Kernel) -> Kernel:
        factor = self.scale * (self.slowdown if kernel is SLOW else 1)
        return replace(kernel, duration_ns=round(kernel.duration_ns * factor))


def nights() -> Iterator[Night]:
    """Yields the runs in order."""
    random = Random(20260201)
    for number in range(1, NIGHTS + 1):
        scale = (1 + random.gauss(0, SPREAD)) * (BUSY if number == OUTLIER else 1)
        slowdown = SLOWDOWN if number >= SLOWER else 1
        yield Night(number, scale, slowdown, 13000 if number >= NEW_DRIVER else 12090)


def write_history(folder: Path) -> None:
    """Writes a Kineto file for each night."""
    folder.mkdir(parents=True, exist_ok=True)
    for night in nights():
        write_kineto(night.run(), folder / f"{night.name}.json.gz")


def main() -> None:
    """Reads the command line and writes the samples."""
    parser = argparse.ArgumentParser(prog="python -m data.generator.history", description=__doc__)
    parser.add_argument("folder", type=Path)
    write_history(parser.parse_args().folder)


if __name__ == "__main__":
    main()
