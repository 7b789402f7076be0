"""Do the processes of a recording wait for a slow one?"""

from typing import TYPE_CHECKING

from ...store.trace import Trace
from ..analyses.stragglers import SQL
from ..diagnosis import Diagnosis, Place
from ..levels import MAIN
from ..losses import BUSY, ORDER, judged
from ..words import duration

if TYPE_CHECKING:
    import polars as pl

NEEDS = ("segments", "iterations", "iteration_states", "hierarchy")

LOSSES = f"""
rank as ({SQL.strip()}),
begin as (select process, min(from_ns) as start_ns from step group by process),
slow as (
    select
        rank.*,
        (select median(other.communication_ns) from rank as other where other.process <> rank.process) as wait_ns
    from rank
    where straggler
),
loss as (
    select
        slow.process,
        device,
        begin.start_ns,
        concat('process ', slow.process) as what,
        concat(iterations, ' iterations') as detail,
        (late_ns * iterations)::bigint as time_ns,
        (least(late_ns, wait_ns) * iterations)::bigint as saves_ns
    from slow
    join begin using (process)
    join ({MAIN}) as main using (process)
)
"""


def diagnose(trace: Trace) -> tuple[Diagnosis, ...]:
    """Processes that take longer than the others outside communication, in which these then wait.

    Recordings of one process each are compared by `ranks`.
    """
    if not (trace.has("segment") and trace.has("iteration")):
        return ()
    if trace.sql("select count(distinct process) from iteration").item() < 2:
        return ()
    return judged(
        trace,
        "stragglers",
        LOSSES,
        _say,
        relies=(BUSY, ORDER),
        warm=True,
        bound="for each iteration what the process takes longer than the median one, but no more than the median of "
        "what the others spend in communication alone",
        advice="See what is different there: clocks and temperature of the device, other load on the host, more or "
        "larger data, another placement.",
    )


def _say(place: Place, rows: "pl.DataFrame") -> str:
    return (
        f"The others wait for process {place.process}: outside communication it takes "
        f"{duration(rows['time_ns'][0])} more than the median process in {rows['detail'][0]}."
    )
