"""Do single iterations take longer than the others?"""

from typing import TYPE_CHECKING

from ...store.trace import Trace
from ..diagnosis import Diagnosis, Place
from ..levels import MAIN
from ..losses import BUSY, ORDER, judged
from ..slow import JUDGED
from ..words import duration, plural

if TYPE_CHECKING:
    import polars as pl

NEEDS = ("segments", "hierarchy")

LISTED = 4

LOSSES = f"""
loss as (
    select
        each.process,
        device,
        from_ns as start_ns,
        concat('iteration ', iteration) as what,
        null::varchar as detail,
        time_ns,
        (time_ns - median_ns)::bigint as saves_ns
    from (with {JUDGED.strip()} from judged) as each
    join ({MAIN}) as chief on chief.process = each.process
    where slow and phase <> 'warm-up' and iteration >= first_usual
)
"""


def diagnose(trace: Trace) -> tuple[Diagnosis, ...]:
    """Iterations that are slow by the rule of `mining.slow`, warm-up aside."""
    if not (trace.has("segment") and trace.has("unit")):
        return ()
    return judged(
        trace,
        "slow_iterations",
        LOSSES,
        _say,
        relies=(BUSY, ORDER),
        warm=True,
        bound="what these iterations take longer than the median of their kind",
        advice="Look at them on the timeline beside a usual one: the analysis outliers names the operations that take "
        "longer or were added.",
    )


def _say(place: Place, rows: "pl.DataFrame") -> str:
    named = [f"{what} (+{duration(more)})" for what, more in rows.select("what", "saves_ns").head(LISTED).rows()]
    more = ", …" if len(rows) > LISTED else ""
    return (
        f"{plural(place.count, 'iteration')} of process {place.process} "
        f"{'takes' if place.count == 1 else 'take'} {duration(place.saves_ns)} longer than usual in sum: "
        f"{', '.join(named)}{more}."
    )
