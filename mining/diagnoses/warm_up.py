"""Do the first iterations take longer than the later ones?"""

from typing import TYPE_CHECKING

from ...store.trace import Trace
from ..diagnosis import Diagnosis, Place
from ..levels import MAIN
from ..losses import BUSY, ORDER, judged
from ..slow import JUDGED
from ..thresholds import thresholds
from ..words import duration

if TYPE_CHECKING:
    import polars as pl

NEEDS = ("segments", "hierarchy")

LISTED = 4

LOSSES = """
chief as ({main}),
early as (
    select process, from_ns as start_ns, concat('iteration ', iteration) as what,
        time_ns, greatest(0, time_ns - median_ns)::bigint as saves_ns
    from (with {judged} from judged) as each
    where (phase = 'warm-up' or iteration < first_usual) and median_ns is not null
    union all
    select process, begin_ns, 'before the first iteration', first_ns - begin_ns, first_ns - begin_ns
    from (select process, min(from_ns) as first_ns from step group by process)
    join (select process, min(start_ns) as begin_ns from segment group by process) as begin using (process)
    where first_ns > begin_ns and process in (select process from chief where coverage >= {least_coverage_share})
),
loss as (
    select
        early.process,
        chief.device,
        early.start_ns,
        what,
        null::varchar as detail,
        time_ns,
        greatest(0, least(saves_ns, early.start_ns + time_ns - begin.start_ns))::bigint as saves_ns
    from early
    join chief using (process)
    join (select process, device, min(start_ns) as start_ns from segment group by process, device) as begin
        on begin.process = chief.process and begin.device = chief.device
)
"""


def diagnose(trace: Trace) -> tuple[Diagnosis, ...]:
    """What iterations marked as warm-up take longer than steady ones, and what comes before the first iteration.

    The latter only where the iterations hold nearly all operations, so that it is no phase of its own.
    """
    if not (trace.has("segment") and trace.has("unit")):
        return ()
    return judged(
        trace,
        "warm_up",
        LOSSES.format(main=MAIN, judged=JUDGED.strip(), **thresholds("warm_up")),
        _say,
        relies=(BUSY, ORDER),
        warm=True,
        bound="what these iterations take longer than the median of the steady ones, and all before the first",
        advice="Leave it out of what you measure. Where runs are as short as this recording, keep compiled and tuned "
        "kernels between them.",
    )


def _say(place: Place, rows: "pl.DataFrame") -> str:
    told = ", ".join(sorted(rows["what"])[:LISTED])
    more = ", …" if len(rows) > LISTED else ""
    return (
        f"Process {place.process} takes {duration(place.saves_ns)} more than usual until its iterations are steady "
        f"({told}{more}): warm-up."
    )
