"""What finding iterations costs as sequences grow: noise 1 %, each in a process of its own"""

from collections.abc import Sequence

from benchmarks.process import run

__all__ = ["SIZES", "rows"]

SIZES = (100_000, 1_000_000, 10_000_000)
PROGRAM = """
import sys, time
from data.generator.planted import Training, plant
from tracelode.mining.iterations import levels
planted = plant(Training(iterations=int(sys.argv[1]) // 1245, noise=0.01, seed=int(sys.argv[2])))
columns = (planted.symbols, planted.start_ns, planted.end_ns, planted.launch_ns)
levels(*(column[:5000] for column in columns))
begin = time.process_time()
found = levels(*columns)
print(time.process_time() - begin, file=sys.stderr)
print(len(planted.symbols), sum(level.count for level in found if level.kind == "iteration"))
"""


def rows(seeds: Sequence[int]) -> list[dict[str, object]]:
    """A row a size, of the first seed. `peak MB` is that of the process, the planted arrays included."""
    return [_row(size, seeds[0]) for size in SIZES]


def _row(size: int, seed: int) -> dict[str, object]:
    measure = run(PROGRAM, str(size), str(seed))
    operations, count = map(int, measure.answer.split())
    seconds = measure.own_seconds or 0.0
    return {
        "operations": operations,
        "planted": size // 1245,
        "found": count,
        "CPU s": round(seconds, 2),
        "µs each": round(seconds / operations * 1e6, 2),
        "peak MB": round(measure.peak / 1e6),
    }
