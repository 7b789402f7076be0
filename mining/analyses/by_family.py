"""Which families of kernels, and which copies, do time, launches and bytes belong to?"""

from ...store.trace import Trace
from ..attributed import UNATTRIBUTED, parts
from ..finding import Finding, total
from ..words import duration, percent, plural

NEEDS = ("attribution",)

FIRST = 4
"""Families that the sentence names."""


def find(trace: Trace) -> Finding:
    """Categories of kernels by their names (`store.kinds`), directions of copies, and fills.

    Kernels whose names tell nothing are the unattributed.
    """
    sql = parts(trace, "nullif(family, 'other')", "if(family = 'other', null, 'name')", memory=False)
    rows = trace.sql(sql)
    whole = total(rows, "work_ns")
    known = rows.filter(rows["part"] != UNATTRIBUTED)
    told = [f"{part} {percent(ns, whole)}" for part, ns in known.head(FIRST).select("part", "work_ns").rows()]
    rest = {"others": total(known[FIRST:], "work_ns"), UNATTRIBUTED: whole - total(known, "work_ns")}
    said = [*told, *(f"{part} {percent(ns, whole)}" for part, ns in rest.items() if ns)]
    sentence = f"Of {duration(whole)} of device work in {plural(total(rows, 'launches'), 'kernel')}: {', '.join(said)}."
    if not told:
        sentence = "The names of the kernels tell no family."
    return Finding("by_family", sentence, rows, sql)
