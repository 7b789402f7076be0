"""How does the delay of a launch depend on how much is queued ahead of it?"""

from ...store.errors import NotCollected
from ...store.trace import Trace
from ..finding import Finding, total
from ..words import count, duration, percent

NEEDS = ("launch_delays",)

SQL = """
with placed as (
    select
        case when queue < 5 then queue else (5 * 2 ** floor(log2(queue / 5)))::bigint end as queue_from,
        delay_ns
    from launch_delay
    where place = 0 and delay_ns >= 0
)
select
    queue_from,
    case when queue_from < 5 then queue_from else 2 * queue_from - 1 end as queue_to,
    count(*) as launches,
    count(*) / sum(count(*)) over () as share,
    quantile_cont(delay_ns, 0.1) as p10_ns,
    quantile_cont(delay_ns, 0.5) as p50_ns,
    quantile_cont(delay_ns, 0.9) as p90_ns
from placed
group by queue_from
order by queue_from
"""


def find(trace: Trace) -> Finding:
    """Delays by the number of operations queued on the device at the launch: each up to 4, then 5-9, 10-19, 20-39, ...

    With nothing queued the delay is what a launch costs at least; where it grows with the queue, the device is behind
    and the host ahead, as it should be.
    """
    if not trace.has("launch_delay"):
        raise NotCollected(
            "no launch of device work is known", "record the host's calls to the runtime together with the device work"
        )
    rows = trace.sql(SQL)
    if not len(rows):
        return Finding("delay_by_queue", "No launch has a delay to be trusted.", rows, SQL.strip())
    launches, first, last = total(rows, "launches"), rows.row(0, named=True), rows.row(-1, named=True)
    sentence = f"Of {count(launches)} launches {percent(first['launches'], launches)} "
    if first["queue_from"] == 0:
        sentence += f"find an empty queue and wait {duration(first['p50_ns'])} in the median"
    else:
        sentence += f"find the shortest queue ({count(first['queue_from'])} ahead)"
    if len(rows) > 1:
        sentence += f"; behind {count(last['queue_from'])} or more the median is {duration(last['p50_ns'])}"
    return Finding("delay_by_queue", sentence + ".", rows, SQL.strip())
