"""How much of the memory that is reserved on a device is not allocated?"""

from ...store.trace import Trace
from ..evidence_levels import told
from ..finding import Finding, total
from ..memory_sources import asked
from ..reserves import RESERVE, needed
from ..words import count, percent, plural, size

NEEDS = ("memory_use",)

SQL = f"""
{RESERVE}
select
    process,
    device,
    source,
    count(*) as moments,
    max(reserved_bytes) as peak_reserved_bytes,
    max(allocated_bytes) as peak_allocated_bytes,
    arg_max(reserved_bytes, row(allocated_bytes, -time_ns)) as reserved_at_peak_bytes,
    (reserved_at_peak_bytes - peak_allocated_bytes) / nullif(reserved_at_peak_bytes, 0) as unused_at_peak_share,
    max(unused_bytes) as most_unused_bytes,
    (sum(unused_bytes::hugeint * held_ns) / nullif(sum(held_ns), 0))::double as mean_unused_bytes,
    (sum(unused_bytes::hugeint * held_ns) / nullif(sum(reserved_bytes::hugeint * held_ns), 0))::double as unused_share,
    count(*) filter (grown_bytes > 0) as grown,
    count(*) filter (grown_bytes > 0 and before_bytes >= grown_bytes) as grown_in_spite,
    coalesce(sum(grown_bytes) filter (grown_bytes > 0 and before_bytes >= grown_bytes), 0)::bigint as in_spite_bytes,
    count(*) filter (unused_bytes < 0) as above
from reserve
group by process, device, source
order by process, device, source
""".strip()
KEPT = (
    "What is reserved and not allocated is kept for later, or lies in pieces too small for what is asked for: totals "
    "do not tell which. More reserved where as much was free is a sign of pieces, or of pools and streams that do not "
    "share."
)
ABOVE = (
    "At {moments} more is allocated than reserved: not all that is reserved is known, as where it was before the "
    "recording, and what is said of the unused is too little."
)


def find(trace: Trace) -> Finding:
    """What is reserved against what is allocated, by device: at the peak of what is allocated, at most, over time.

    `grown_in_spite` counts the times that more was reserved, of the `grown`, where what was reserved and not allocated
    was as much as that before. Without both over time `NotCollected`.
    """
    needed(trace)
    rows = trace.sql(SQL)
    top = rows.sort("peak_reserved_bytes", descending=True).row(0, named=True)
    at_peak = max(top["reserved_at_peak_bytes"] - top["peak_allocated_bytes"], 0)
    sentence = (
        f"When most is allocated, {percent(at_peak, top['reserved_at_peak_bytes'])} of the "
        f"{size(top['reserved_at_peak_bytes'])} reserved is not allocated"
    )
    if top["unused_share"] is not None:
        sentence += f"; over time {percent(top['unused_share'], 1)} on average"
    if top["grown"]:
        sentence += f". More was reserved {plural(top['grown'], 'time')}, {count(top['grown_in_spite'])} of them "
        sentence += "where as much was free"
    notes = [told("C"), KEPT, *asked(trace)]
    if above := total(rows, "above"):
        notes.append(ABOVE.format(moments=plural(above, "moment")))
    return Finding("memory_reserve", f"{sentence}.", rows, SQL, tuple(notes))
