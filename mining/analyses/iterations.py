"""Finds the iterations of the program, and every other cadence at which its device work repeats.

Needs no markers, names or counts. Where the trace has annotations that repeat, they only decide where in the cycle an
iteration begins; `level.phase_confidence` says how sure the cut is without them.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...store.tables import TABLES
from ...store.trace import Trace
from ..iterations import STEADY, Iterations, Level, iterations, levels
from ..sequence import OPERATIONS, SYMBOLS, Sequence, sequences

if TYPE_CHECKING:
    import pyarrow as pa

VERSION = 4
NEEDS = ()

STEP = "regexp_matches(name, '^(profilerstep|step|iteration|iter)[#_: ]*\\d+$', 'i')"
MARKS = {
    "range": f"select process, start_ns from range where kind in ('annotation', 'nvtx') and {STEP}",
    "op": f"select process, start_ns from op where {STEP}",  # where PyTorch had its steps until 2021
}
"""SQL: the starts of annotated steps, by the table that may hold them."""


def mine(trace: Trace, *, symbols: str = SYMBOLS) -> Mapping[str, "pa.Table"]:
    """The tables `member` (operations in mined order), `level` and `iteration`; nothing without device work.

    They are empty where there is device work but none that can be put into an order (copies without launches).
    """
    import polars as pl
    import pyarrow as pa

    if not any(trace.has(name) for name in OPERATIONS):
        return {}
    found = sequences(trace, symbols=symbols)
    if not found:
        return {name: TABLES[name].schema.empty_table() for name in ("member", "level", "iteration")}
    told = marks(trace)
    members, level_rows, parts = [], [], []
    for sequence in found:
        members.append(_members(sequence))
        times = (sequence.start_ns, sequence.end_ns, sequence.launch_ns)
        for level in levels(sequence.symbols, *times, marks_ns=told.get(sequence.process)):
            number = len(level_rows)
            occurrences = iterations(level, sequence.symbols, sequence.start_ns, sequence.end_ns)
            level_rows.append(_level(number, sequence, level) | {"period_ns": _usual_ns(occurrences)})
            parts.append(_iterations(number, sequence, occurrences))
    return {
        "member": pl.concat(members).to_arrow().cast(TABLES["member"].schema),
        "level": pa.Table.from_pylist(level_rows, schema=TABLES["level"].schema),
        "iteration": pa.concat_tables([TABLES["iteration"].schema.empty_table(), *parts]),
    }


def marks(trace: Trace) -> dict[int, npt.NDArray[np.int64]]:
    """The starts of annotated steps by process, on the clock of launches."""
    there = [query for name, query in MARKS.items() if trace.has(name)]
    if not there:
        return {}
    parts = trace.sql(" union all ".join(there) + " order by process, start_ns").partition_by(
        "process", maintain_order=True
    )
    return {int(part["process"][0]): part["start_ns"].to_numpy() for part in parts}


def _members(sequence: Sequence) -> Any:
    import polars as pl

    return sequence.rows.select(
        pl.lit(sequence.number, pl.Int32).alias("sequence"),
        pl.int_range(pl.len(), dtype=pl.Int64).alias("ordinal"),
        *("process", "device", "stream", "start_ns", "end_ns", "kind", "symbol"),
    )


def _level(number: int, sequence: Sequence, level: Level) -> dict[str, Any]:
    return {
        "level": number,
        "sequence": sequence.number,
        "process": sequence.process,
        "device": sequence.device,
        "stream": sequence.stream,
        "period": level.period,
        "kind": level.kind,
        "count": level.count,
        "first": level.first,
        "last": level.last,
        "coverage": level.coverage,
        "confidence": level.confidence,
        "phase_confidence": level.phase_confidence,
    }


def _iterations(number: int, sequence: Sequence, found: Iterations) -> "pa.Table":
    import pyarrow as pa

    rows, schema = len(found.first), TABLES["iteration"].schema
    columns = {
        "level": np.full(rows, number),
        "iteration": np.arange(rows),
        "sequence": np.full(rows, sequence.number),
        "process": np.full(rows, sequence.process),
        "first": found.first,
        "last": found.last,
        "start_ns": found.start_ns,
        "end_ns": found.end_ns,
        "from_ns": found.from_ns,
        "operations": found.last - found.first + 1,
        "phase": found.phase,
    }
    return pa.table([pa.array(columns[name]).cast(schema.field(name).type) for name in schema.names], schema=schema)


def _usual_ns(found: Iterations) -> int:
    """The median time of the repetitions; of the steady ones where there are some."""
    times, steady = found.end_ns - found.from_ns, found.phase == STEADY
    return int(np.median(times[steady] if steady.any() else times))
