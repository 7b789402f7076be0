"""Writes the samples: `python -m data.generator FOLDER [--seed N]`."""

import argparse
from dataclasses import replace
from pathlib import Path

from . import Run, Workload, write_formats, write_kineto, write_nsys, write_truth

__all__ = ["main", "write_samples"]

SEED = 20260201


def write_samples(folder: Path, *, seed: int = SEED) -> None:
    """Writes one run as Kineto and as an Nsight Systems export, a run of two ranks of which the second is slow, and a
    small run in every format, which no seed changes."""
    train = Run(Workload(seed=seed, python_frames=True))
    folder.mkdir(parents=True, exist_ok=True)
    write_kineto(train, folder / "train.json.gz")
    write_nsys(train, folder / "train.sqlite")
    write_truth(train, folder / "train.truth.json")
    pair = Workload(
        seed=seed + 1, iterations=6, layers=2, world_size=2, ranks=2, straggler=1, outlier=None, stall=None, late=()
    )
    (folder / "two-ranks").mkdir(exist_ok=True)
    for rank in range(pair.ranks):
        run = Run(replace(pair, rank=rank, memory_events=False))
        write_kineto(run, folder / "two-ranks" / f"rank{rank}.json.gz")
        write_truth(run, folder / "two-ranks" / f"rank{rank}.truth.json")
    write_formats(folder / "formats")


def main() -> None:
    """Reads the command line and writes the samples."""
    parser = argparse.ArgumentParser(prog="python -m data.generator", description="Writes the sample traces.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=SEED, help="another seed gives other traces (default %(default)s)")
    options = parser.parse_args()
    write_samples(options.folder, seed=options.seed)


if __name__ == "__main__":
    main()
