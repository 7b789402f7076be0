"""What does each stream do, and how busy is it?"""

from ...store.trace import Trace
from ..finding import Finding, total
from ..words import percent, plural

NEEDS = ("concurrency",)

SQL = """
with span as (
    select process, device, sum(time_ns) as span_ns
    from device_time
    group by process, device
)
select
    process,
    device,
    stream,
    operations,
    computing,
    communicating,
    copying,
    busy_ns,
    busy_ns / nullif(span_ns, 0) as share,
    gaps,
    gap_ns,
    longest_gap_ns,
    longest_gap_at_ns
from stream_time
left join span using (process, device)
order by busy_ns desc, process, device, stream
"""


def find(trace: Trace) -> Finding:
    """The streams, the busiest first: operations by kind, time busy, gaps between its operations.

    `share` is of the span of its device, from its first to its last work. A gap of a stream is no idle time of the
    device: other streams may be busy meanwhile.
    """
    rows = trace.sql(SQL)
    sql = SQL.strip()
    devices = rows.unique(["process", "device"])
    if len(rows) == len(devices):
        one = "The device's work is on one stream" if len(devices) == 1 else "All work of each device is on one stream"
        return Finding("streams", f"{one}.", rows, sql)
    most = rows.unique(["process", "device"], keep="first", maintain_order=True)
    on = f" of {len(devices)} devices" if len(devices) > 1 else ""
    sentence = (
        f"{plural(len(rows), 'stream')}{on}; the busiest of a device has "
        f"{percent(total(most, 'busy_ns'), total(rows, 'busy_ns'))} of the streams' busy time."
    )
    return Finding("streams", sentence, rows, sql)
