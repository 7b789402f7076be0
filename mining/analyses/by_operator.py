"""Which framework operators do time, launches, copies and memory belong to?"""

from ...store.errors import NotCollected
from ...store.trace import Trace
from ..attributed import UNATTRIBUTED, evidence, parts
from ..finding import Finding, total
from ..words import duration, percent, plural

NEEDS = ("attribution", "memory_use")


def find(trace: Trace) -> Finding:
    """Innermost operators around the host calls of device operations, linked by correlation, never by position.

    A backward operator is one of its own: `forward_ns` and the like tell an operator's phases apart.
    """
    sql = parts(trace, "operator", "if(operator is null, null, 'correlation')")
    rows = trace.sql(sql)
    every = rows.filter(rows["part"] != UNATTRIBUTED)
    named = every.filter(every["work_ns"] > 0)
    if not len(every):
        raise NotCollected("operators around the launches of device work", "record the framework's operators")
    whole, held = total(rows, "work_ns"), total(named, "work_ns")
    sentence = f"{percent(held, whole)} of {duration(whole)} of device work is in {plural(len(named), 'operator')}"
    if len(named):
        first = named.row(0, named=True)
        sentence += f"; {first['part']} has most: {percent(first['work_ns'], whole)}"
    return Finding("by_operator", f"{sentence}.", rows, sql, (*unlinked(trace), *evidence(rows)))


def unlinked(trace: Trace) -> tuple[str, ...]:
    """What is to say of operations in no operator: their host call was not recorded, or made outside all operators."""
    lost, outside = trace.sql(
        "select count(*) filter (linked = 0), count(*) filter (linked = 1 and operator is null) from attribution"
    ).row(0)
    notes = [f"{plural(lost, 'operation')} without a recorded host call."] if lost else []
    return (*notes, *([f"{plural(outside, 'operation')} launched outside all operators."] if outside else []))
