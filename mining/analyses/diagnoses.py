"""Asks every diagnosis what costs a device time, and keeps the answers with their evidence."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ...store.parts import load, names
from ...store.tables import TABLES
from ...store.trace import Trace
from ..diagnosis import Diagnosis

if TYPE_CHECKING:
    import pyarrow as pa

VERSION = 3
NEEDS = tuple(sorted({need for name in names("diagnosis") for need in load("diagnosis", name).NEEDS}))


def mine(trace: Trace) -> Mapping[str, "pa.Table"]:
    """The tables `finding` and `evidence`; empty where all is well, nothing without device work."""
    if not trace.has("segment"):
        return {}
    told = [one for name in names("diagnosis") for one in load("diagnosis", name).diagnose(trace)]
    told.sort(key=lambda one: (-one.saves_ns, one.name))
    return {
        "finding": _table("finding", (_finding(number, one) for number, one in enumerate(told))),
        "evidence": _table("evidence", (row for number, one in enumerate(told) for row in _evidence(number, one))),
    }


def _finding(number: int, told: Diagnosis) -> dict[str, Any]:
    return {"finding": number} | {name: getattr(told, name) for name in TABLES["finding"].names[1:]}


def _evidence(number: int, told: Diagnosis) -> Iterator[dict[str, Any]]:
    for place, row in enumerate(told.rows.iter_rows(named=True)):
        yield {"finding": number, "number": place} | row


def _table(name: str, rows: Iterator[dict[str, Any]]) -> "pa.Table":
    import pyarrow as pa

    return pa.Table.from_pylist(list(rows), schema=TABLES[name].schema)
