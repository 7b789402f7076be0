"""Does the device wait for a host that does something else?"""

from typing import TYPE_CHECKING

from ...store.trace import Trace
from ..diagnosis import Diagnosis, Place
from ..losses import BUSY, LAUNCHES, judged
from ..naming import short
from ..thresholds import thresholds
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
        after as what,
        concat('after ', before) as detail,
        duration_ns as time_ns,
        duration_ns as saves_ns
    from wait
    where cause = 'host' and duration_ns >= {long_ns} and starved is null
)
"""


def diagnose(trace: Trace) -> tuple[Diagnosis, ...]:
    """Long idle gaps of the cause 'host' (`mining.analyses.segments`) that are no waits for input data."""
    if not (trace.has("segment") and trace.has("iteration")):
        return ()
    return judged(
        trace,
        "host_late",
        LOSSES.format(gaps=gaps(trace), **thresholds("waits")),
        _say,
        among="cause = 'host'",
        relies=(BUSY, LAUNCHES),
        bound="the sum of these gaps: what the device would not idle if the host launched ahead of it",
        advice="See what the host does there: slow Python between operators, memory management, logging, compilation. "
        "Move it out of the loop or to another thread, or capture the operators in a graph.",
    )


def _say(place: Place, rows: "pl.DataFrame") -> str:
    first: str = rows["what"][0]
    return (
        f"{place.where} idles {duration(place.saves_ns)} in {plural(place.count, 'gap')} because the host was late, "
        f"though it waited for nothing known; most of it before {short(first)}."
    )
