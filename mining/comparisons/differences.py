"""What differs between the iterations of two traces, and what does each difference cost?"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from ...store.errors import Error
from ...store.tables import TABLES
from ...store.trace import Trace
from ..delta import PHRASES, apart, rounded
from ..differences import Both, Side, changed_words
from ..finding import Finding
from ..stretches import Dictionary, side_of
from ..words import duration, percent, plural

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

VERSION = 1
NEEDS = ("iterations",)
TABLE = "pattern_diff"

SYMBOLS = "name"
"""A kernel of another shape is the same operation, only slower or faster: so traces of other sizes can be compared."""
NAME = 80
"""Characters of an operation's name in the sentence, at most."""
LIMIT = 200
"""Sequences kept, those with the largest difference in time."""

SQL = """
select
    kind,
    change,
    base_count_per_iteration,
    count_per_iteration,
    base_time_per_iteration_ns,
    time_per_iteration_ns,
    delta_ns,
    calls_ns,
    speed_ns,
    array_to_string(symbols, ' → ') as operations
from pattern_diff
where base = '{base}' and change <> 'same'
order by pattern
"""


def compare(base: Trace, trace: Trace, *, symbols: str = SYMBOLS) -> Mapping[str, "pa.Table"]:
    """The table `pattern_diff`: how an iteration of a trace differs from one of the base.

    Where one of them has no iterations both are compared as wholes. Raises `Error` where one has no device work.
    """
    import pyarrow as pa

    dictionary = Dictionary()
    one, other = (side_of(side, dictionary, symbols, whole=False) for side in (base, trace))
    if one is None or other is None:
        dictionary = Dictionary()
        one, other = (side_of(side, dictionary, symbols, whole=True) for side in (base, trace))
    for side, there in ((base, one), (trace, other)):
        if there is None:
            raise Error(f"{side.source}: no kernel, copy or fill to compare", "compare traces with device work")
    assert one is not None
    assert other is not None
    found = enumerate(rows(one, other, dictionary.labels))
    table = [{"base": base.id, "pattern": number, **row} for number, row in found]
    return {TABLE: pa.Table.from_pylist(table, schema=TABLES[TABLE].schema)}


def rows(base: Side, side: Side, labels: list[str]) -> list[dict[str, Any]]:
    """The rows of `pattern_diff` but for base and number: total, gaps, operations, sequences; `labels` by symbol."""
    total, gaps = _sums(base, side)
    parts = [gaps, *_operations(base, side, labels)]
    return [
        *rounded([total]),
        *rounded(parts),
        *(row for one in _sequences(base, side, labels) for row in rounded([one])),
    ]


def find(base: Trace, trace: Trace) -> Finding:
    """What makes an iteration of a trace longer or shorter than one of the base, the largest difference first.

    The rows of kind `operation` and `gaps` add up to the one of kind `total`. Those of kind `sequence` say which
    orders of operations became more or less frequent; their time is part of that of their operations.
    """
    sql = SQL.format(base=base.id).strip()
    total = trace.sql(f"select * from pattern_diff where base = '{base.id}' and kind = 'total'").row(0, named=True)
    found = trace.sql(sql)
    notes = ()
    if min(total["iterations"], total["base_iterations"]) < 2:
        notes = ("Compared as wholes, as one iteration: at least one of the traces shows no iterations.",)
    return Finding("differences", _sentence(total, found), found, sql, notes)


def _sentence(total: Mapping[str, Any], found: "pl.DataFrame") -> str:
    """How much longer an iteration is, how many operations came and went, and the one that matters most."""
    before, now = total["base_time_per_iteration_ns"], total["time_per_iteration_ns"]
    said = f"On average an iteration takes {duration(now)} instead of {duration(before)}"
    if before and now != before:
        said += f", {percent(abs(now - before), before)} {'more' if now > before else 'less'}"
    operations = found.filter(found["kind"] == "operation")
    counts = [(change, int((operations["change"] == change).sum())) for change in ("appeared", "vanished")]
    parts = [f"{plural(number, 'operation')} {change}" for change, number in counts if number]
    if len(operations):
        first = operations.row(0, named=True)
        ns = ("+" if first["delta_ns"] > 0 else "−") + duration(abs(first["delta_ns"]))
        parts.append(f"the largest difference, {ns}, is {_short(first['operations'])}, {PHRASES[first['change']]}")
    return "; ".join([said, *parts]) + "."


def _short(name: str) -> str:
    return name if len(name) <= NAME else f"{name[: NAME - 1]}…"


def _sums(base: Side, side: Side) -> Iterator[dict[str, Any]]:
    """The time of the iterations, and what of it no operation accounts for."""
    spans = base.span_ns, side.span_ns
    gaps = base.span_ns - int(base.time_ns.sum()), side.span_ns - int(side.time_ns.sum())
    for kind, (before, now) in (("total", spans), ("gaps", gaps)):
        row = _row(kind, base, side, (base.iterations, side.iterations), (before, now))
        change = "same" if row["delta_ns"] == 0 else "longer" if row["delta_ns"] > 0 else "shorter"
        yield row | {"change": change, "calls_ns": None, "speed_ns": None}


def _operations(base: Side, side: Side, labels: list[str]) -> list[dict[str, Any]]:
    """A row for each operation of either trace, the largest difference first."""
    size = len(labels)
    counts = [np.bincount(one.symbols, minlength=size).tolist() for one in (base, side)]
    times: list[list[int]] = []
    for one in (base, side):
        total = np.zeros(size, np.int64)
        np.add.at(total, one.symbols, one.time_ns)  # whole numbers: the sums are exact
        times.append(total.tolist())
    found = [
        _row("operation", base, side, (counts[0][at], counts[1][at]), (times[0][at], times[1][at]), [label])
        for at, label in enumerate(labels)
        if counts[0][at] or counts[1][at]
    ]
    return sorted(found, key=lambda row: -abs(row["delta_ns"]))


def _sequences(base: Side, side: Side, labels: list[str]) -> list[dict[str, Any]]:
    """A row for each sequence, of one operation or several, that became more or less frequent."""
    both = Both.of(base, side)
    found: list[dict[str, Any]] = []
    for word in changed_words(both):
        before, now = both.occurrences(word)
        times = both.time(before, len(word)), both.time(now, len(word))
        names = [labels[symbol] for symbol in word.tolist()]
        found.append(_row("sequence", base, side, (len(before), len(now)), times, names))
    return sorted(found, key=lambda row: -abs(row["delta_ns"]))[:LIMIT]


def _row(
    kind: str, base: Side, side: Side, counts: tuple[int, int], times: tuple[int, int], symbols: list[str] | None = None
) -> dict[str, Any]:
    """A row of the table but for base and number; the differences are fractions, so they add up."""
    rates = [Fraction(count, one.iterations) for count, one in zip(counts, (base, side), strict=True)]
    before, now = (Fraction(time, one.iterations) for time, one in zip(times, (base, side), strict=True))
    return {
        "kind": kind,
        "base_iterations": base.iterations,
        "iterations": side.iterations,
        "base_count": counts[0],
        "count": counts[1],
        "base_time_ns": times[0],
        "time_ns": times[1],
        "base_count_per_iteration": float(rates[0]),
        "count_per_iteration": float(rates[1]),
        "base_time_per_iteration_ns": round(before),
        "time_per_iteration_ns": round(now),
        "symbols": symbols,
        **apart((rates[0], rates[1]), (before, now)),
    }
