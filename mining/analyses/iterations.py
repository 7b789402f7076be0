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
from ..iterations import Iteration, Level, iterations, levels
from ..sequence import OPERATIONS, SYMBOLS, Sequence, sequences

if TYPE_CHECKING:
    import pyarrow as pa

VERSION = 2
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
    members, level_rows, iteration_rows = [], [], []
    for sequence in found:
        members.append(_members(sequence))
        times = (sequence.start_ns, sequence.end_ns, sequence.launch_ns)
        for level in levels(sequence.symbols, *times, marks_ns=told.get(sequence.process)):
            number = len(level_rows)
            rows = _iterations(number, sequence, level)
            level_rows.append(_level(number, sequence, level) | {"period_ns": _usual_ns(rows)})
            iteration_rows += rows
    return {
        "member": pl.concat(members).to_arrow().cast(TABLES["member"].schema),
        "level": pa.Table.from_pylist(level_rows, schema=TABLES["level"].schema),
        "iteration": pa.Table.from_pylist(iteration_rows, schema=TABLES["iteration"].schema),
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


def _iterations(number: int, sequence: Sequence, level: Level) -> list[dict[str, Any]]:
    found = iterations(level, sequence.symbols, sequence.start_ns, sequence.end_ns)
    begins = _begins(found)
    return [
        {
            "level": number,
            "iteration": at,
            "sequence": sequence.number,
            "process": sequence.process,
            "first": one.first,
            "last": one.last,
            "start_ns": one.start_ns,
            "end_ns": one.end_ns,
            "from_ns": begins[at],
            "operations": one.last - one.first + 1,
            "phase": one.phase,
        }
        for at, one in enumerate(found)
    ]


def _begins(found: list[Iteration]) -> list[int]:
    """Where the time of each begins: at the end of the iteration right before it, but not after its own end."""
    begins: list[int] = []
    latest, last = 0, -1
    for one in found:
        adjacent = bool(begins) and one.first == last + 1
        begins.append(min(latest, one.end_ns) if adjacent else one.start_ns)
        latest, last = one.end_ns, one.last
    return begins


def _usual_ns(rows: list[dict[str, Any]]) -> int:
    """The median time of the repetitions; of the steady ones where there are some."""
    times = [row["end_ns"] - row["from_ns"] for row in rows if row["phase"] == "steady"]
    return int(np.median(times or [row["end_ns"] - row["from_ns"] for row in rows]))
