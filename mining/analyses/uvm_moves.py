"""Which pages of managed memory move where, and why?"""

from ...store.trace import Trace
from ..finding import Finding, total
from ..managed_sums import wanted
from ..words import duration, plural, size

NEEDS = ("uvm_events",)

SQL = """
select
    process,
    device,
    kind,
    cause,
    count(*) as moves,
    sum(bytes)::bigint as bytes,
    sum(end_ns - start_ns)::bigint as time_ns,
    count(*) filter (end_ns is null) as untimed,
    sum(bytes) filter (end_ns is not null)::double * 1e9 / nullif(sum(end_ns - start_ns), 0) as bytes_per_s,
    max(bytes) as largest_bytes,
    sum(again_bytes)::bigint as again_bytes,
    sum(returned_bytes)::bigint as returned_bytes
from uvm_event
where kind in ('HtoD', 'DtoH', 'DtoD')
group by process, device, kind, cause
order by bytes desc, process, device, kind, cause
"""
CAUSES = (
    "Causes are the driver's: coherence is a fault's own move, prefetch what the driver moves around it unasked, user "
    "what the program asked for, eviction what makes room."
)


def find(trace: Trace) -> Finding:
    """Moves by direction and cause, the most bytes first; throughput is bytes over summed duration.

    `again_bytes` are of pages that moved to a device which had had them: what thrashing costs. `returned_bytes` are of
    pages that last moved the other way.
    """
    wanted(trace, "HtoD", "DtoH", "DtoD")
    rows = trace.sql(SQL)
    parts: list[str] = []
    for kind, way in (("HtoD", "to devices"), ("DtoH", "to the host"), ("DtoD", "between devices")):
        part = rows.filter(rows["kind"] == kind)
        if len(part):
            moved = size(total(part, "bytes")) if part["bytes"].count() else "unknown size"
            text = f"{plural(total(part, 'moves'), 'move')} of {moved} {way}"
            parts.append(f"{text} in {duration(total(part, 'time_ns'))}")
    again = total(rows, "again_bytes")
    said = f"; {size(again)} move to a device that had had them" if again else ""
    notes = (CAUSES,) if rows["cause"].count() else ()
    return Finding("uvm_moves", f"{'; '.join(parts)}{said}.", rows, SQL.strip(), notes)
