"""Runs of several ranks for tests: played together, so that a collective ends on all of them when the last is done."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from data.generator import Run, Workload, write_kineto
from data.generator.run import KINETO_BASE_NS

__all__ = ["write_ranks"]


def write_ranks(
    folder: Path, *, ranks: int = 3, straggler: int | None = None, offsets_ns: Sequence[int] = (), iterations: int = 8
) -> list[Path]:
    """Writes `rank0.json` and so on; the clock of each rank is so far ahead."""
    folder.mkdir(parents=True, exist_ok=True)
    usual = Workload(
        seed=11, iterations=iterations, layers=1, warm_up=0, ranks=ranks, world_size=ranks, straggler=straggler,
        outlier=None, stall=None, late=(), noise=0.01, memory_events=False,
    )  # fmt: skip
    paths = [folder / f"rank{rank}.json" for rank in range(ranks)]
    for rank, path in enumerate(paths):
        write_kineto(Run(replace(usual, rank=rank)), path)
        base = KINETO_BASE_NS + (offsets_ns[rank] if offsets_ns else 0)
        text = path.read_text()
        assert text.count(f": {KINETO_BASE_NS}") == 1
        path.write_text(text.replace(f": {KINETO_BASE_NS}", f": {base}"))
    return paths
