"""Ranks planted in trace files: iterations matched across ranks, stragglers named"""

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from data.generator.planted import Training
from data.generator.planted_trace import write_planted
from tracelode.collect.ingest import read
from tracelode.mining.mine import mine
from tracelode.mining.ranks import Rank, match, ranks_of, slower
from tracelode.store import Archive

__all__ = ["CASES", "rows"]

CASES = {
    "2 ranks": Training(iterations=12, layers=4, ranks=2),
    "2 ranks, the second slow": Training(iterations=12, layers=4, ranks=2, straggler=1),
    "4 ranks, the third slow, noise 0.1 %": Training(iterations=12, layers=4, ranks=4, straggler=2, noise=0.001),
    "8 ranks, the first slow": Training(iterations=12, layers=4, ranks=8, straggler=0),
    "8 ranks, the last slow by 5 %": Training(iterations=12, layers=4, ranks=8, straggler=7, straggle=1.05),
}


def rows(seeds: Sequence[int]) -> list[dict[str, object]]:
    """A row a case, of the first seed.

    `matched` counts iterations beside one of the first rank, `rightly` those beside the same one. `named` are the ranks
    that are slower than the first; the first itself, where it is slower than all others.
    """
    return [_row(name, replace(plan, seed=seeds[0])) for name, plan in CASES.items()]


def _row(name: str, plan: Training) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        write_planted(plan, Path(folder))
        archive = Archive(Path(folder) / "archive")
        ranks: list[Rank] = []
        for number in range(plan.ranks):
            trace, _ = read(Path(folder) / f"rank{number}.json", archive)
            ranks += ranks_of(mine(trace, archive, "iteration_states"))
    found = [match(ranks[0], other) for other in ranks[1:]]
    pairs = [pair for pair in found if pair is not None]
    right = sum(int((pair.base.iteration == pair.other.iteration).sum()) for pair in pairs)
    late = [slower(pair) for pair in pairs]
    named = [number for number, (share, sure) in enumerate(late, start=1) if sure and share > 0]
    named += [0] if late and all(sure and share < 0 for share, sure in late) else []
    return {
        "case": name,
        "iterations": plan.iterations * (plan.ranks - 1),
        "matched": sum(len(pair.base.iteration) for pair in pairs),
        "rightly": right,
        "straggler": plan.straggler,
        "named": ", ".join(map(str, named)) or None,
    }
