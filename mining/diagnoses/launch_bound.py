"""Is the device faster than the host can launch work for it?"""

from typing import TYPE_CHECKING

from ...store.trace import Trace
from ..diagnosis import Diagnosis, Place
from ..losses import BUSY, LAUNCHES, judged
from ..thresholds import thresholds
from ..words import duration, plural

if TYPE_CHECKING:
    import polars as pl

NEEDS = ("segments", "iterations", "hierarchy")

LOSSES = """
piece as (
    select
        *,
        cause = 'launch' or (cause = 'host' and duration_ns < {long_ns}) as late,
        late or cause = 'device' as linked
    from segment
),
link as (
    select *, sum((state = 'idle' and not linked)::integer) over (
        partition by process, device order by start_ns rows unbounded preceding
    ) as chain
    from piece
),
chain as (
    select process, device, chain
    from link
    where linked
    group by process, device, chain
    having
        count(*) filter (late) >= {least_launches_count}
        and 2 * sum(duration_ns) filter (late) >= sum(duration_ns)
),
launched as (
    select *, count(*) over (partition by process, device, after) > 1 as again
    from link
    semi join chain using (process, device, chain)
    where linked and late
),
recurring as (
    select process, device, chain
    from launched
    group by process, device, chain
    having count(*) filter (again) >= {least_repeated_share} * count(*)
),
loss as (
    select
        process,
        device,
        start_ns,
        after as what,
        concat('after ', before) as detail,
        duration_ns as time_ns,
        duration_ns as saves_ns
    from link
    semi join recurring using (process, device, chain)
    where linked
)
"""
"""A chain: gaps that each end with a launch that came late, or that the device itself took, with work between them.

It counts if most of its late launches are of operations that are launched late again: what is late once, such as the
first launch of a graph, a graph or a fusion would not save.
"""


def diagnose(trace: Trace) -> tuple[Diagnosis, ...]:
    """Gaps in chains of work in which launch after launch comes when the device has already run dry."""
    if not (trace.has("segment") and trace.has("iteration")):
        return ()
    return judged(
        trace,
        "launch_bound",
        LOSSES.format(**thresholds("waits"), **thresholds("launch_bound")),
        _say,
        among="cause in ('launch', 'host')",
        relies=(BUSY, LAUNCHES),
        bound="the sum of the gaps inside these chains: what one launch for all of a chain would save",
        advice="Capture the chain in a CUDA or HIP graph, fuse its kernels (a compiler does), or give each kernel more "
        "work with a larger batch.",
    )


def _say(place: Place, rows: "pl.DataFrame") -> str:
    return (
        f"{place.where} waits {duration(place.saves_ns)} for launches, in {plural(place.count, 'gap')} within chains "
        "of work too short for the host to keep ahead: a candidate for a graph or for fusion."
    )
