"""Which page faults and moves of managed memory did a run come to, where only sums were recorded?"""

from ...store.errors import NotCollected
from ...store.trace import Trace
from ..finding import Finding, total
from ..managed_vendors import faults_hint
from ..words import duration, plural, size

NEEDS = ()

SQL = """
select
    process,
    kind,
    name,
    device,
    count,
    time_ns,
    nullif(regexp_extract(args, '"total_size_bytes": ([0-9]{1,18})\\b', 1), '')::bigint as bytes
from total
where kind in ('page faults', 'page moves', 'triggers of page moves')
order by kind, id
"""


def find(trace: Trace) -> Finding:
    """The sums as rocprofiler-systems prints them: page faults, moves by device and direction, what triggered them."""
    rows = trace.sql(SQL) if trace.has("total") else None
    if rows is None or not len(rows):
        raise NotCollected("sums of page faults and moves", faults_hint(trace))
    faults, moves = rows.filter(rows["kind"] == "page faults"), rows.filter(rows["kind"] == "page moves")
    parts = [plural(total(faults, "count"), "page fault")]
    for name, way in (("HtoD", "to devices"), ("DtoH", "to the host"), ("DtoD", "between devices")):
        part = moves.filter(moves["name"] == name)
        if total(part, "count"):
            what = f"{plural(total(part, 'count'), 'move')} of {size(total(part, 'bytes'))} {way}"
            parts.append(f"{what} in {duration(total(part, 'time_ns'))}")
    note = f"Sums alone: when and where, and what kernels wait, is not in them. To see that, {faults_hint(trace)}."
    return Finding("uvm_totals", f"Only sums were recorded: {'; '.join(parts)}.", rows, SQL.strip(), (note,))
