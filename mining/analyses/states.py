"""How much of the device's time goes to compute, exposed communication, exposed copies and idling?"""

from ...store.trace import Trace
from ..finding import Finding, total
from ..words import duration, percent

NEEDS = ("segments",)

SQL = """
select
    process,
    device,
    state,
    sum(duration_ns)::bigint as time_ns,
    sum(duration_ns) / sum(sum(duration_ns)) over (partition by process, device) as share,
    sum(sum(duration_ns)) over (partition by process, device)::bigint as span_ns
from segment
group by process, device, state
order by process, device, time_ns desc, state
"""


def find(trace: Trace) -> Finding:
    """Time and share of the span by state, for each device; `share` is of the span from first start to last end."""
    import polars as pl

    rows = trace.sql(SQL)
    devices = rows.unique(["process", "device"])
    idle = total(rows.filter(rows["state"] == "idle"), "time_ns")
    span = total(devices, "span_ns")
    many = len(devices) > 1
    subject = f"The {len(devices)} devices are" if many else "The device is"
    of = f"the time ({duration(span / len(devices))} each on average)" if many else duration(span)
    busy = rows.filter(rows["state"] != "idle").group_by("state").agg(pl.col("time_ns").sum())
    parts = [
        f"{percent(ns, span)} {state}" for state, ns in busy.sort(["time_ns", "state"], descending=[True, False]).rows()
    ]
    sentence = f"{subject} busy {percent(span - idle, span)} of {of}: {', '.join(parts)}."
    return Finding("states", sentence, rows, SQL.strip())
