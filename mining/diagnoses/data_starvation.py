"""Does the device wait for input data?"""

from typing import TYPE_CHECKING

from ...store.trace import Trace
from ..diagnosis import Diagnosis, Place
from ..losses import BUSY, LAUNCHES, ORDER, judged
from ..waits import gaps
from ..words import duration, plural

if TYPE_CHECKING:
    import polars as pl

NEEDS = ("segments", "iterations", "hierarchy")

LOSSES = """
{gaps},
loss as (
    select
        process,
        device,
        start_ns,
        coalesce(loader, 'before an iteration') as what,
        concat('next: ', after) as detail,
        duration_ns as time_ns,
        duration_ns as saves_ns
    from wait
    where starved is not null
)
"""


def diagnose(trace: Trace) -> tuple[Diagnosis, ...]:
    """Idle gaps in which the host gets data; where a trace does not tell, those before an iteration for a late host."""
    if not (trace.has("segment") and trace.has("iteration")):
        return ()
    return judged(
        trace,
        "data_starvation",
        LOSSES.format(gaps=gaps(trace)),
        _say,
        among="cause in ('host', 'synchronisation')",
        relies=(BUSY, LAUNCHES, ORDER),
        bound="the sum of these gaps: what the device would not idle if its data were there in time",
        advice="Load ahead: more workers of the data loader, a longer prefetch, cheaper decoding, data nearer to the "
        "machine; copy the next batch while this one is computed.",
    )


def _say(place: Place, rows: "pl.DataFrame") -> str:
    time = duration(place.saves_ns)
    if rows["what"].eq("before an iteration").all():
        return (
            f"{place.where} idles {time} in {plural(place.count, 'gap')} right before iterations, while the host does "
            "neither launch nor wait for it: most likely input data comes late."
        )
    return f"{place.where} waits {time} for input data, in {plural(place.count, 'gap')} in which the host gets it."
