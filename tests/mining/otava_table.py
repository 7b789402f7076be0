"""What Apache Otava finds in made series: its original E-divisive, with permutations.

Writes the table beside it, of 30 series, where Otava is installed: `python -m tests.mining.otava_table`. Its
dependencies are heavy (BigQuery, PostgreSQL, Slack), so it is none of ours, not even for development.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["COUNT", "TABLE", "asked", "series"]

TABLE = Path(__file__).with_name("otava_table.json")
COUNT = 30
SEED = 20261130
STEPS = (-0.08, 0.04, 0.06, 0.10)


def series(count: int) -> Iterator[list[float]]:
    """Series of 8 to 60 runs that vary by 1 %, with no, one or two changes, one in four with a bad day."""
    random = np.random.default_rng(SEED)
    for _ in range(count):
        length = int(random.integers(8, 61))
        values = random.normal(100, 1, length)
        for _ in range(int(random.integers(0, 3))):
            values[int(random.integers(3, length - 2)) :] *= 1 + float(random.choice(STEPS))
        if random.random() < 0.25:
            values[int(random.integers(0, length))] *= 1.4
        yield [round(float(value), 4) for value in values]


def asked(values: list[float]) -> dict[str, Any]:
    """Otava's strongest split with its statistic, and its change points."""
    from otava.analysis import compute_change_points_orig
    from otava.change_point_divisive.calculator import PairDistanceCalculator

    array = np.array(values)
    best = PairDistanceCalculator(array).get_candidate_change_point(slice(0, len(values)))
    found, _ = compute_change_points_orig(array, max_pvalue=0.001, seed=SEED)
    return {"split": int(best.index), "statistic": float(best.qhat), "changes": [int(one.index) for one in found]}


if __name__ == "__main__":
    rows = [json.dumps({"values": values, **asked(values)}) for values in series(COUNT)]
    TABLE.write_text("[\n" + ",\n".join(rows) + "\n]\n")
