"""How much of the time are no, one, two or more streams busy at once?"""

from ...store.trace import Trace
from ..finding import Finding, total
from ..words import percent, plural

NEEDS = ("concurrency",)

SQL = """
select
    process,
    device,
    streams,
    sum(time_ns)::bigint as time_ns,
    sum(time_ns) / sum(sum(time_ns)) over (partition by process, device) as share
from device_time
group by process, device, streams
order by process, device, streams
"""


def find(trace: Trace) -> Finding:
    """The time of each device by the number of its streams that are busy; it adds up to the device's span."""
    rows = trace.sql(SQL)
    sql = SQL.strip()
    whole = total(rows, "time_ns")
    several = rows.filter(rows["streams"] > 1)
    most = int(rows["streams"].max() or 0)  # pyright: ignore[reportArgumentType] - a number of streams
    if not len(several):
        return Finding("busy_streams", "No two streams of a device are ever busy at once.", rows, sql)
    sentence = (
        f"Two streams or more are busy for {percent(total(several, 'time_ns'), whole)} of the time, "
        f"at most {plural(most, 'stream')} at once."
    )
    return Finding("busy_streams", sentence, rows, sql)
