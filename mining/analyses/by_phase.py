"""How do time, launches, copies and memory divide into forward, backward and optimizer?"""

from ...store.errors import NotCollected
from ...store.trace import Trace
from ..attributed import UNATTRIBUTED, evidence, parts
from ..finding import Finding, total
from ..words import duration, percent, plural

NEEDS = ("attribution", "memory_use")


def find(trace: Trace) -> Finding:
    """Phases of a training step; `told_by` says what tells them (`attribution.phase_from`)."""
    sql = parts(trace, "phase", "phase_from")
    rows = trace.sql(sql)
    named = rows.filter(rows["part"] != UNATTRIBUTED)
    if not len(named):
        raise NotCollected("phases (forward, backward, optimizer) of the device work", "annotate them in the program")
    whole = total(rows, "work_ns")
    told = [
        f"{row['part']} {percent(row['work_ns'], whole)} in {plural(row['launches'], 'kernel')}"
        for row in rows.iter_rows(named=True)
    ]
    sentence = f"Of {duration(whole)} of device work: {', '.join(told)}."
    sources = ", ".join(sorted({one for text in named["told_by"].drop_nulls() for one in str(text).split(", ")}))
    return Finding("by_phase", sentence, rows, sql, (f"Phases are told by: {sources}.", *evidence(rows)))
