"""How do time, launches, copies and memory divide into forward, backward and optimizer?"""

from collections.abc import Mapping
from typing import Any

from ...store.errors import NotCollected
from ...store.trace import Trace
from ..attributed import UNATTRIBUTED, evidence, parts
from ..finding import Finding, total
from ..words import count, duration, percent

NEEDS = ("attribution", "memory_use")

OPERATIONS = {"launches": ("kernel", "kernels"), "copies": ("copy", "copies"), "fills": ("fill", "fills")}


def find(trace: Trace) -> Finding:
    """Phases of a training step; `told_by` says what tells them (`attribution.phase_from`)."""
    sql = parts(trace, "phase", "phase_from")
    rows = trace.sql(sql)
    named = rows.filter(rows["part"] != UNATTRIBUTED)
    if not len(named):
        raise NotCollected("phases (forward, backward, optimizer) of the device work", "annotate them in the program")
    whole = total(rows, "work_ns")
    told = [
        f"{row['part']} {percent(row['work_ns'], whole)} in {_operations(row)}" for row in rows.iter_rows(named=True)
    ]
    sentence = f"Of {duration(whole)} of device work: {', '.join(told)}."
    sources = ", ".join(sorted({one for text in named["told_by"].drop_nulls() for one in str(text).split(", ")}))
    return Finding("by_phase", sentence, rows, sql, (f"Phases are told by: {sources}.", *evidence(rows)))


def _operations(row: Mapping[str, Any]) -> str:
    """How many of each kind there are, as in: 36 kernels and 1 copy."""
    told = [f"{count(row[key])} {words[row[key] != 1]}" for key, words in OPERATIONS.items() if row[key]]
    return " and ".join([", ".join(told[:-1]), told[-1]] if len(told) > 1 else told)
