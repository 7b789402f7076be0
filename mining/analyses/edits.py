"""Finds what differs in iterations from what others of their type agree on, and the time that each difference costs."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...store.tables import TABLES
from ...store.trace import Trace
from ..alignment import INSERTION
from ..charges import charges
from ..edits import KINDS, NONE, Edits, edits_of
from ..naming import labels
from ..programs import Content, Program, programs
from ..slow import JUDGED

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

VERSION = 1
NEEDS = ("hierarchy",)

SLOW = f"""
with {JUDGED.strip()}
select unit.unit
from judged
join unit on unit.level = judged.level and unit.iteration = judged.iteration
where slow
order by unit.unit
"""


def mine(trace: Trace) -> Mapping[str, "pa.Table"]:
    """The table `edit`; empty where no sequence has iterations or all are alike, nothing without device work."""
    import polars as pl

    if not trace.has("unit"):
        return {}
    found = programs(trace)
    slow = trace.sql(SLOW)["unit"].to_numpy() if found else np.zeros(0, np.int64)
    edits: list[tuple[Program, Content, Edits, int]] = []
    first = 0
    for program in found:
        charged = charges(program.start_ns, program.end_ns, program.first, program.stop, program.from_ns)
        marked = np.isin(first + np.arange(len(program.first)), slow)
        edits += [(program, one, edits_of(program, one, *charged, marked), first) for one in program.contents]
        first += len(program.first)
    known = _names(trace, edits)
    parts = [_rows(*one, known) for one in edits if len(one[2].unit)]
    schema = TABLES["edit"].schema
    if not parts:
        return {"edit": schema.empty_table()}
    return {"edit": pl.concat(parts).sort("unit", maintain_order=True).to_arrow().cast(schema)}


def _names(trace: Trace, edits: Sequence[tuple[Program, Content, Edits, int]]) -> Mapping[int, str]:
    """The names of symbols: those that the trees have, and all others too if an edit has one of them."""
    known = dict(trace.sql("select symbol, label from tree where kind = 'symbol' group by all order by all").rows())
    there = np.zeros(max(known, default=-1) + 1, np.bool_)
    there[list(known)] = True
    for program, _, some, _ in edits:
        symbols = program.symbols[some.ordinal[some.ordinal >= 0]]
        if int(symbols.max(initial=-1)) >= len(there) or not there[symbols].all():
            return {symbol: label.text for symbol, label in labels(trace).items()}
    return known


def _rows(program: Program, content: Content, edits: Edits, first: int, known: Mapping[int, str]) -> "pl.DataFrame":
    """The rows of a type's units; `first` is the number of the program's first unit."""
    import polars as pl

    expected = np.where(edits.column >= 0, np.r_[content.symbols, NONE][edits.column], NONE)
    expected = np.where(edits.kind == INSERTION, NONE, expected)
    symbol = np.where(edits.ordinal >= 0, np.r_[program.symbols, NONE][edits.ordinal], NONE)
    begins = np.flatnonzero(np.r_[True, edits.unit[1:] != edits.unit[:-1]][: len(edits.unit)])
    rows: dict[str, Any] = {
        "unit": first + edits.unit,
        "sequence": program.sequence,
        "process": program.process,
        "level": program.level[edits.unit],
        "iteration": program.iteration[edits.unit],
        "type": content.number,
        "number": np.arange(len(edits.unit)) - np.repeat(begins, np.diff(np.r_[begins, len(edits.unit)])),
        "kind": [KINDS[kind] for kind in edits.kind.tolist()],
        "column": edits.column,
        "ordinal": edits.ordinal,
        "expected_symbol": expected,
        "expected": [known.get(one) for one in expected.tolist()],
        "symbol": symbol,
        "label": [known.get(one) for one in symbol.tolist()],
        "time_ns": np.where(edits.ordinal >= 0, edits.duration_ns, NONE),
        "usual_ns": np.where(expected >= 0, edits.usual_ns, NONE),
        "dt_ns": edits.dt_ns,
        "wait_dt_ns": edits.wait_dt_ns,
    }
    missing = ("level", "iteration", "column", "ordinal", "expected_symbol", "symbol", "time_ns", "usual_ns")
    texts = {"kind": pl.String, "expected": pl.String, "label": pl.String}
    known_only = [pl.when(pl.col(name) != NONE).then(pl.col(name)) for name in missing]
    return pl.DataFrame(rows, schema_overrides=texts).with_columns(known_only)
