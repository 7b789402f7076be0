"""Does the host wait for the device before it launches the next work?"""

from typing import TYPE_CHECKING

from ...store.trace import Trace
from ..analyses.segments import WAITING
from ..diagnosis import Diagnosis, Place
from ..losses import BUSY, LAUNCHES, judged
from ..waits import gaps
from ..words import duration, plural

if TYPE_CHECKING:
    import polars as pl

NEEDS = ("segments", "iterations", "hierarchy")

LOSSES = """
{gaps},
waiting as (
    select api.process, api.end_ns, api.name, {operator} as operator
    from api
    {operators}
    where regexp_matches(api.name, '{waiting}', 'i')
),
loss as (
    select
        wait.process,
        wait.device,
        wait.start_ns,
        coalesce(waiting.name, 'a wait for the device') as what,
        concat_ws(', ', 'in ' || waiting.operator, 'after ' || wait.before) as detail,
        wait.duration_ns as time_ns,
        wait.duration_ns as saves_ns
    from wait
    asof left join waiting on waiting.process = wait.process and waiting.end_ns <= wait.end_ns
    where cause = 'synchronisation' and starved is null
)
"""


def diagnose(trace: Trace) -> tuple[Diagnosis, ...]:
    """Idle gaps behind a wait of the launching thread for the device, such as that for a value on the host."""
    if not (trace.has("segment") and trace.has("iteration") and trace.has("api")):
        return ()
    known = trace.has("op")
    losses = LOSSES.format(
        gaps=gaps(trace),
        waiting=WAITING,
        operator="op.name" if known else "null::varchar",
        operators="left join op on op.id = api.op" if known else "",
    )
    return judged(
        trace,
        "synchronisation",
        losses,
        _say,
        among="cause = 'synchronisation'",
        relies=(BUSY, LAUNCHES),
        bound="the sum of the gaps that follow these waits: what the device would not idle if nothing waited for it",
        advice="Take values off the device less often (.item(), printing, checks of the loss), copy them without "
        "waiting, and leave out explicit synchronisation.",
    )


def _say(place: Place, rows: "pl.DataFrame") -> str:
    first: str = rows["what"][0]
    return (
        f"{place.where} runs dry {plural(place.count, 'time')} because the host waits for it, mostly in {first}, and "
        f"idles {duration(place.saves_ns)} until the next launch."
    )
