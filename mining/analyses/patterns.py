"""Finds the sequences of operations that occur again and again, ranked by the device time they stand for."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...store.tables import TABLES
from ...store.trace import Trace
from ..pattern import LONGEST, Pattern, patterns
from ..sequence import Sequence, sequences

if TYPE_CHECKING:
    import pyarrow as pa

VERSION = 1
NEEDS = ("iterations",)

LONGEST_SQL = "select sequence, max(period) // 2 from level where kind = 'iteration' group by sequence"
"""A pattern is at most half an iteration long: else the iteration is the first, and hides the others."""


def mine(trace: Trace) -> Mapping[str, "pa.Table"]:
    """The tables `pattern` and `occurrence`, numbered by time; nothing without device work."""
    import pyarrow as pa

    if not trace.has("member"):
        return {}
    longest = dict(trace.sql(LONGEST_SQL).rows())
    found = [
        (sequence, pattern)
        for sequence in sequences(trace)
        for pattern in patterns(sequence, longest=longest.get(sequence.number, LONGEST))
    ]
    found.sort(key=lambda pair: (-int(pair[1].busy_ns.sum()), pair[0].number, int(pair[1].first[0])))
    rows = [_pattern(number, *pair) for number, pair in enumerate(found)]
    occurrences = [row for number, pair in enumerate(found) for row in _occurrences(number, *pair)]
    return {
        "pattern": pa.Table.from_pylist(rows, schema=TABLES["pattern"].schema),
        "occurrence": pa.Table.from_pylist(occurrences, schema=TABLES["occurrence"].schema),
    }


def _pattern(number: int, sequence: Sequence, pattern: Pattern) -> dict[str, Any]:
    return {
        "pattern": number,
        "sequence": sequence.number,
        "process": sequence.process,
        "length": len(pattern.symbols),
        "count": len(pattern.first),
        "time_ns": int(pattern.busy_ns.sum()),
        "idle_ns": int(pattern.idle_ns.sum()),
        "symbols": [sequence.labels[symbol] for symbol in pattern.symbols],
    }


def _occurrences(number: int, sequence: Sequence, pattern: Pattern) -> list[dict[str, Any]]:
    columns = (pattern.first, pattern.last, pattern.start_ns, pattern.end_ns, pattern.busy_ns)
    return [
        {
            "pattern": number,
            "sequence": sequence.number,
            "first": first,
            "last": last,
            "start_ns": start,
            "end_ns": end,
            "time_ns": busy,
        }
        for first, last, start, end, busy in zip(*(column.tolist() for column in columns), strict=True)
    ]
