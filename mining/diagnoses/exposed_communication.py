"""Does the device communicate without computing meanwhile?"""

from typing import TYPE_CHECKING

from ...store.trace import Trace
from ..analyses.stragglers import SQL as STRAGGLERS
from ..diagnosis import Diagnosis, Place
from ..losses import BUSY, KINDS, judged
from ..naming import short
from ..words import duration, percent

if TYPE_CHECKING:
    import polars as pl

NEEDS = ("segments", "iterations", "iteration_states", "hierarchy")

LOSSES = """
{kinds},
message as (
    select process, device, start_ns, name
    from kernel
    semi join (select name from kind where category = 'communication') using (name)
    where flaw is null
),
{waiting}
loss as (
    select
        segment.process,
        segment.device,
        segment.start_ns,
        message.name as what,
        'the one that started last' as detail,
        segment.duration_ns as time_ns,
        floor(segment.duration_ns * (1 - coalesce(waiting.share, 0)))::bigint as saves_ns
    from segment
    left join waiting on waiting.process = segment.process
    asof left join message
        on message.process = segment.process
        and message.device = segment.device
        and message.start_ns <= segment.start_ns
    where segment.state = 'communication'
)
"""

WAITING = f"""
rank as ({STRAGGLERS.strip()}),
waiting as (
    select process, least(1, (select max(late_ns) from rank where straggler) / nullif(communication_ns, 0)) as share
    from rank
    where not straggler and exists (from rank where straggler)
),
"""
"""SQL: of the processes that wait for a straggler, the share of their communication that they do so in."""

ALONE = "waiting as (select null::bigint as process, null::double as share where false),"


def diagnose(trace: Trace) -> tuple[Diagnosis, ...]:
    """Time in which a device does nothing but communicate, by the communication that started last.

    What is a wait for a slow process of the same recording is left to the diagnosis of stragglers.
    """
    if not (trace.has("segment") and trace.has("iteration") and trace.has("kernel")):
        return ()
    several = trace.sql("select count(distinct process) from iteration").item() > 1
    return judged(
        trace,
        "exposed_communication",
        LOSSES.format(kinds=KINDS, waiting=(WAITING if several else ALONE).strip()),
        _say,
        among="state = 'communication'",
        relies=(BUSY,),
        bound="the time in which nothing but communication runs: what overlapping all of it with compute would save",
        advice="Start collectives earlier and on a stream of their own, in buckets that become ready during backward; "
        "send less (lower precision, less often); see whether one rank is late.",
    )


def _say(place: Place, rows: "pl.DataFrame") -> str:
    most = percent(rows["saves_ns"][0], place.saves_ns)
    return (
        f"{place.where} spends {duration(place.saves_ns)} in communication alone, with no compute beside it, {most} "
        f"of it in {short(rows['what'][0])}."
    )
