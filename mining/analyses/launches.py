"""How long do launches wait for the device, and does the device wait for them?"""

from ...store.errors import NotCollected
from ...store.trace import Trace
from ..finding import Finding, total
from ..thresholds import thresholds
from ..words import count, duration, percent, plural

NEEDS = ("launch_delays",)

SQL = """
select
    process,
    device,
    stream,
    count(*) as operations,
    count(*) filter (place = 0) as launches,
    count(*) filter (delay_ns < 0) as early,
    quantile_cont(delay_ns, 0.5) filter (place = 0 and delay_ns >= 0) as p50_ns,
    quantile_cont(delay_ns, 0.95) filter (place = 0 and delay_ns >= 0) as p95_ns,
    max(delay_ns) filter (place = 0 and delay_ns >= 0) as longest_ns,
    avg(queue) filter (place = 0) as mean_queue,
    quantile_disc(queue, 0.95) filter (place = 0) as p95_queue,
    quantile_disc(stream_queue, 0.95) filter (place = 0) as p95_stream_queue,
    count(*) filter (place = 0 and running = 0) as idle_launches,
    count(*) filter (place = 0 and running = 0 and queue = 0) as empty_launches,
    count(*) filter (place = 0 and running = 0) / nullif(count(*) filter (place = 0), 0) as idle_share,
    quantile_cont(call_ns, 0.5) filter (place = 0) as call_p50_ns,
    count(*) filter (kind = 'kernel') as kernels,
    count(*) filter (kind = 'kernel' and duration_ns < {short_ns}) as short_kernels,
    count(*) filter (kind = 'kernel' and place = 0 and call_ns is not null) as compared_kernels,
    count(*) filter (kind = 'kernel' and place = 0 and duration_ns < call_ns) as below_call
from launch_delay
group by process, device, stream
order by operations desc, process, device, stream
"""


def find(trace: Trace) -> Finding:
    """Delay from host call to start on the device, and queue depth at the launch, by stream.

    Of the operations of one call, as a graph has, the first counts; `early` ones, which start before their launch by
    clocks that disagree, are in no percentile of delays. `idle_share` is the share of launches at which nothing ran on
    the device; at `empty_launches` nothing waited there either: it had run dry. Short kernels last less than the
    threshold of `small_kernels`; `below_call` ones less than the host call that launched them, of the
    `compared_kernels` for which that call was recorded.
    """
    if not trace.has("launch_delay"):
        raise NotCollected(
            "no launch of device work is known", "record the host's calls to the runtime together with the device work"
        )
    short_ns = int(thresholds("small_kernels")["short_ns"])
    query = SQL.format(short_ns=short_ns).strip()
    rows = trace.sql(query)
    launches, early, idle = (total(rows, name) for name in ("launches", "early", "idle_launches"))
    over_all = trace.sql(
        "select quantile_cont(delay_ns, 0.5), quantile_cont(delay_ns, 0.95) from launch_delay "
        "where place = 0 and delay_ns >= 0"
    ).row(0)
    waits = (
        f"From its launch to its start work waits {duration(over_all[0])} in the median "
        f"({duration(over_all[1])} at the 95th percentile)"
        if over_all[0] is not None
        else "All work starts before its host call, by clocks that disagree"
    )
    sentence = (
        f"{waits}; at {percent(idle, launches)} of the launches ({count(launches)}) nothing runs on the device, at "
        f"{percent(total(rows, 'empty_launches'), launches)} nothing waits either."
    )
    kernels, short = total(rows, "kernels"), total(rows, "short_kernels")
    compared, below = total(rows, "compared_kernels"), total(rows, "below_call")
    if kernels:
        sentence += f" {percent(short, kernels)} of the kernels last less than {duration(short_ns)}"
        sentence += f", {percent(below, compared)} less than the call that launches them." if compared else "."
    return Finding("launches", sentence, rows, query, _notes(trace, early, total(rows, "operations")))


def _notes(trace: Trace, early: int, operations: int) -> tuple[str, ...]:
    notes: list[str] = []
    if early:
        worst = -int(trace.sql("select min(delay_ns) from launch_delay").item())
        notes.append(
            f"{count(early)} of {plural(operations, 'operation')} ({percent(early, operations)}) start before the call "
            f"that launched them, by up to {duration(worst)}: the clocks of host and device disagree by at least that "
            "much, and every delay may be off by as much. These are in no percentile of delays."
        )
    later = trace.sql("select count(*) from launch_delay where place > 0").item()
    if later:
        notes.append(
            f"{plural(later, 'operation')} behind others of the same call, as in the replay of a graph: their delays "
            "say nothing about launching and are left out, but they count in the queues."
        )
    return tuple(notes)
