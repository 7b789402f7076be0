"""Where do pages of managed memory thrash, are processors throttled, are pages mapped without a move?"""

from ...store.trace import Trace
from ..finding import Finding
from ..managed_sums import KINDS, wanted
from ..managed_vendors import kind_hint
from ..words import plural

NEEDS = ("uvm_events",)

ACTS = ("thrash", "throttle", "remote_map")

SQL = """
select
    process,
    device,
    kind,
    range,
    count(*) as events,
    sum(bytes)::bigint as bytes,
    sum(end_ns - start_ns) filter (kind = 'throttle')::bigint as time_ns,
    min(start_ns) as first_ns,
    max(start_ns) as last_ns
from uvm_event
where kind in ('thrash', 'throttle', 'remote_map')
group by process, device, kind, range
order by kind, events desc, process, device, range
"""


def find(trace: Trace) -> Finding:
    """Thrashing, throttling and remote maps by range. Only throttling has a duration that means something."""
    there = wanted(trace, *ACTS)
    rows = trace.sql(SQL)
    counts = {kind: int(rows.filter(rows["kind"] == kind)["events"].sum()) for kind in ACTS if kind in there}
    parts = [f"{KINDS[kind]} {plural(number, 'time')}" for kind, number in counts.items()]
    sentence = ", ".join(parts)
    missing = ", ".join(KINDS[kind] for kind in ACTS if kind not in there)
    hint = kind_hint(trace, "thrash")
    note = f"No event of {missing} was recorded: there was none, or it was not collected. {hint[0].upper()}{hint[1:]}."
    notes = (note,) if missing else ()
    return Finding("uvm_contention", f"{sentence[0].upper()}{sentence[1:]}.", rows, SQL.strip(), notes)
