"""Is the work cut into kernels that are too small?"""

from typing import TYPE_CHECKING

from ...store.trace import Trace
from ..diagnosis import Diagnosis, Place
from ..finding import total
from ..losses import KERNEL_TIME, KINDS, judged, new_ns
from ..naming import short
from ..thresholds import thresholds
from ..words import duration, plural

if TYPE_CHECKING:
    import polars as pl

NEEDS = ("segments", "iterations", "hierarchy")

LOSSES = """
{kinds},
timed as (
    select process, device, stream, start_ns, end_ns, name, end_ns - start_ns < {short_ns} as small
    from kernel
    anti join (select name from kind where category = 'communication') as told using (name)
    where flaw is null
),
cut as (
    select *, sum((not small)::integer) over (
        partition by process, device, stream order by start_ns, end_ns rows unbounded preceding
    ) as run
    from timed
),
little as (
    select
        *,
        {new_ns} as new_ns,
        count(*) over (partition by process, device, stream, run) as in_run,
        row_number() over (
            partition by process, device, stream, run order by end_ns - start_ns desc, start_ns
        ) as place
    from cut
    where small
),
loss as (
    select
        process,
        device,
        start_ns,
        name as what,
        null::varchar as detail,
        end_ns - start_ns as time_ns,
        case when place > 1 then new_ns else 0 end as saves_ns
    from little
    where in_run >= {least_run_count}
)
"""

MOST = """
select process, device
from (
    select process, device, sum(duration_ns) filter (duration_ns < {short_ns}) as small_ns
    from kernel
    group by process, device
)
join (select process, device, sum(duration_ns) as span_ns from segment group by process, device) as span
    using (process, device)
where small_ns >= {least_share} * span_ns
limit 1
"""
"""SQL: whether small kernels take enough of a device's time at all, at a fraction of the cost."""


def diagnose(trace: Trace) -> tuple[Diagnosis, ...]:
    """Runs of kernels on a stream that are each shorter than `short_ns`."""
    if not (trace.has("segment") and trace.has("iteration") and trace.has("kernel")):
        return ()
    limits = thresholds("small_kernels")
    if not len(trace.sql(MOST.format(**limits))):
        return ()
    return judged(
        trace,
        "small_kernels",
        LOSSES.format(kinds=KINDS, new_ns=new_ns("start_ns, end_ns"), **limits),
        _say,
        relies=(KERNEL_TIME,),
        warm=True,
        bound="the time of these kernels without the longest of each run, since a kernel fused of a run lasts at least "
        "as long as that",
        advice="Fuse them (a compiler does), use operators that work on many tensors at once, or enlarge the batch.",
    )


def _say(place: Place, rows: "pl.DataFrame") -> str:
    limit = duration(thresholds("small_kernels")["short_ns"])
    whole = duration(total(rows, "time_ns"))
    return (
        f"{plural(place.count, 'kernel')} shorter than {limit} each follow one another on "
        f"{place.where[0].lower()}{place.where[1:]}, {whole} in all; most of them {short(rows['what'][0])}."
    )
