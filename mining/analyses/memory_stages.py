"""When does allocated memory rise, stay and fall?"""

from ...store.trace import Trace
from ..evidence_levels import memory_missing, told
from ..finding import Finding
from ..words import count, percent, size

NEEDS = ("memory_use",)

SQL = """
select
    process,
    device,
    granularity,
    stage,
    min(event) as first_event,
    max(event) as last_event,
    count(*) as changes,
    count(*) / sum(count(*)) over (partition by process, device, granularity) as share,
    min(time_ns) as start_ns,
    max(time_ns) as end_ns,
    min(bytes) as least_bytes,
    avg(bytes) as mean_bytes,
    max(bytes) as most_bytes
from memory_curve
where stage is not null
group by process, device, granularity, stage
order by process, device, granularity, first_event
"""

CHANGES = """
select count(*)
from memory_curve
where process = {process} and device is not distinct from {device} and granularity = '{of}'
"""


def find(trace: Trace) -> Finding:
    """Ramp-up, peak and ramp-down: the two change points that fit a line up, a constant and a line down best.

    Of the main iteration that holds the peak; of the whole recording where there are fewer than 3, where the level at
    its end is not near that at its start, as of layers in a forward pass, or the curve hardly varies. Fitted by least
    squares over the numbers of the changes; a stage may be missing. See `mining/memory_curve.py`.
    """
    if not trace.has("memory_curve"):
        raise memory_missing(trace, "what is allocated on the device")
    rows = trace.sql(SQL.strip())
    first = rows.filter(rows["granularity"] == rows["granularity"].max())
    key = first.row(0)[:3]
    own = first.filter((first["process"] == key[0]) & first["device"].eq_missing(key[1]))
    told_ = [
        f"{row['stage']} from change {count(row['first_event'])} ({percent(row['share'], 1)}, "
        f"{size(row['mean_bytes'])} on average)"
        for row in own.iter_rows(named=True)
    ]
    changes = trace.sql(CHANGES.format(process=key[0], device=key[1] if key[1] is not None else "null", of=key[2]))
    within = changes.item() > own["changes"].sum()
    where = "in the iteration that holds the peak" if within else "over the whole curve"
    return Finding("memory_stages", f"Of {key[2]}s, {where}: {', '.join(told_)}.", rows, SQL.strip(), (told("C"),))
