"""How much of the communication and of the copying is hidden behind other work?"""

from ...store.trace import Trace
from ..finding import Finding, total
from ..words import duration, percent

NEEDS = ("concurrency",)

SQL = """
with kind as (
    select
        process,
        device,
        unnest(['compute', 'communication', 'copy']) as work,
        unnest([compute, communication, copy]) as runs,
        unnest([null, compute, compute]) as under_compute,
        unnest([null, null, if(compute = 0, communication, 0)]) as under_communication,
        time_ns
    from device_time
),
whole as (
    select
        process,
        device,
        work,
        sum(time_ns * runs)::bigint as time_ns,
        sum(time_ns * runs * under_compute)::bigint as beside_compute_ns,
        sum(time_ns * runs * under_communication)::bigint as beside_communication_ns,
        sum(time_ns)::bigint as span_ns
    from kind
    group by process, device, work
)
select
    process,
    device,
    work,
    time_ns,
    beside_compute_ns,
    beside_communication_ns,
    time_ns - coalesce(beside_compute_ns, 0) - coalesce(beside_communication_ns, 0) as exposed_ns,
    beside_compute_ns / time_ns as hidden_share,
    exposed_ns / span_ns as exposed_share,
    span_ns
from whole
where time_ns > 0
order by process, device, exposed_ns desc, work
"""


def find(trace: Trace) -> Finding:
    """For how long each kind of work runs on a device, and how much of that behind a kind that counts before it.

    Times are unions over streams: two communications at once count once. `time_ns` is `beside_compute_ns`,
    `beside_communication_ns` (of copies without compute) and `exposed_ns` added up; compute is all exposed. The exposed
    times are those of the states, and with idling they add up to `span_ns`. `hidden_share` is `beside_compute_ns` /
    `time_ns`: for communication the overlap that HolisticTraceAnalysis prints, a share of the time spent communicating
    and not of the span.
    """
    rows = trace.sql(SQL)
    parts: list[str] = []
    for work in ("communication", "copy"):
        of_work = rows.filter(rows["work"] == work)
        time, hidden, exposed = (total(of_work, name) for name in ("time_ns", "beside_compute_ns", "exposed_ns"))
        if len(of_work):
            noun = "communication" if work == "communication" else "copying"
            parts.append(f"{percent(hidden, time)} of {duration(time)} of {noun} has compute beside it")
            parts[-1] += f", {duration(exposed)} is exposed" if exposed else ""
    sentence = "; ".join(parts) or "Nothing but compute runs: there is no communication or copy to hide"
    return Finding("overlap", f"{sentence}.", rows, SQL.strip())
