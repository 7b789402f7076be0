"""Finds the sequences of operations that occur again and again, ranked by the device time they stand for."""

from collections.abc import Mapping
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...store.tables import TABLES
from ...store.trace import Trace
from ..categories import kernel_categories
from ..extent import UNKNOWN, Work
from ..host_time import Calls, host_calls
from ..pattern import LONGEST, Pattern, patterns
from ..sequence import SYMBOLS, Sequence, sequences
from ..typical import typical

if TYPE_CHECKING:
    import pyarrow as pa

VERSION = 4
NEEDS = ("iterations",)

Ints = npt.NDArray[np.int64]

LEVELS = """
select sequence, arg_max(level, coverage order by level) as level, max(period) as period, min(count) as count
from level
where kind = 'iteration'
group by sequence
"""
"""A pattern is at most half an iteration long: else the iteration is the first, and hides the others."""


def mine(trace: Trace, *, symbols: str = SYMBOLS) -> Mapping[str, "pa.Table"]:
    """The tables `pattern` and `occurrence`, numbered by marginal time; nothing without device work."""
    import pyarrow as pa

    if not trace.has("member"):
        return {}
    found: list[tuple[int, Sequence, Pattern, float | None]] = []
    calls, elementwise, levels = host_calls(trace), _elementwise(trace), _levels(trace)
    for sequence in sequences(trace, symbols=symbols):
        level = levels.get(sequence.number)
        ranked = patterns(
            sequence,
            _work(sequence, calls, elementwise),
            iterations=level["count"] if level else 2,
            typical=typical(sequence.symbols, level["first"], level["last"]) if level else (),
            longest=level["period"] // 2 if level else LONGEST,
        )
        # Those of one sequence stay in the order in which they were taken.
        keys = accumulate((_marginal(pattern) for pattern in ranked), min)
        found += [(key, sequence, one, _per_iteration(one, level)) for key, one in zip(keys, ranked, strict=True)]
    found.sort(key=lambda one: (-one[0], one[1].number))
    rows = [_pattern(number, *one[1:]) for number, one in enumerate(found)]
    occurrences = [_occurrences(number, *one[1:3]) for number, one in enumerate(found)]
    return {
        "pattern": pa.Table.from_pylist(rows, schema=TABLES["pattern"].schema),
        "occurrence": pa.concat_tables([TABLES["occurrence"].schema.empty_table(), *occurrences]),
    }


def _elementwise(trace: Trace) -> frozenset[str]:
    """The names of the kernels that are elementwise."""
    return frozenset(
        name for name, category in kernel_categories(trace).items() if name is not None and category == "elementwise"
    )


def _levels(trace: Trace) -> dict[int, dict[str, Any]]:
    """By sequence: the iteration level that covers most, with its iterations, the longest period, the least count."""
    found: dict[int, dict[str, Any]] = {}
    for row in trace.sql(LEVELS).iter_rows(named=True):
        ranges = trace.sql(f"select first, last from iteration where level = {row['level']} order by first")
        found[row["sequence"]] = row | {"first": ranges["first"].to_numpy(), "last": ranges["last"].to_numpy()}
    return found


def _work(sequence: Sequence, calls: Calls | None, elementwise: frozenset[str]) -> Work:
    flags = np.array([label in elementwise for label in sequence.labels], np.bool_)
    unknown = np.full(len(sequence.symbols), UNKNOWN, np.int64)
    return Work(
        calls.durations(sequence) if calls else unknown,
        flags[sequence.symbols],
        np.array(sequence.rows["stream"].to_numpy()),
    )


def _per_iteration(pattern: Pattern, level: Mapping[str, Any] | None) -> float | None:
    """How often a pattern occurs within an iteration, on average."""
    if level is None:
        return None
    at = np.searchsorted(level["first"], pattern.first, "right") - 1
    inside = (at >= 0) & (pattern.last <= level["last"][at])
    return int(inside.sum()) / len(level["first"])


def _marginal(pattern: Pattern) -> int:
    return int(pattern.extents.busy_ns[pattern.free].sum())


def _pattern(number: int, sequence: Sequence, pattern: Pattern, per_iteration: float | None) -> dict[str, Any]:
    extents = pattern.extents
    example = int(np.argsort(extents.busy_ns, kind="stable")[len(pattern.first) // 2])
    launched = bool((extents.call_ns != UNKNOWN).all())
    return {
        "pattern": number,
        "sequence": sequence.number,
        "process": sequence.process,
        "length": len(pattern.symbols),
        "count": len(pattern.first),
        "count_per_iteration": per_iteration,
        "time_ns": int(extents.busy_ns.sum()),
        "marginal_time_ns": _marginal(pattern),
        "idle_ns": int(extents.idle_ns.sum()),
        "launch_overhead_ns": int(extents.call_ns.sum()) if launched else None,
        "elementwise": int(extents.elementwise[example]),
        "saving_ns": int(extents.idle_ns.sum() + extents.fusible_ns.sum()),
        "example_first": int(pattern.first[example]),
        "symbols": [sequence.labels[symbol] for symbol in pattern.symbols],
    }


def _occurrences(number: int, sequence: Sequence, pattern: Pattern) -> "pa.Table":
    import pyarrow as pa

    count, extents = len(pattern.first), pattern.extents
    columns = {
        "pattern": np.full(count, number, np.int32),
        "sequence": np.full(count, sequence.number, np.int32),
        "first": pattern.first,
        "last": pattern.last,
        "start_ns": extents.start_ns,
        "end_ns": extents.end_ns,
        "time_ns": extents.busy_ns,
    }
    return pa.table(columns, schema=TABLES["occurrence"].schema)
