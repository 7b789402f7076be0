"""Does the device copy memory without computing meanwhile?"""

from typing import TYPE_CHECKING

from ...store.trace import Trace
from ..diagnosis import Diagnosis, Place
from ..finding import total
from ..losses import BUSY, KINDS, judged
from ..naming import short
from ..words import duration, percent

if TYPE_CHECKING:
    import polars as pl

NEEDS = ("segments", "iterations", "hierarchy")

COPIES = """
select
    process,
    device,
    start_ns,
    concat('copy ', kind) as what,
    concat_ws(', ', source_memory || ' to ' || target_memory, format_bytes(bytes)) as detail
from copy
where flaw is null
"""
FILLS = "select process, device, start_ns, null as what, null as detail from fill where flaw is null"
KERNELS = """
select process, device, start_ns, case kind.category when 'copy' then name end as what, 'a kernel' as detail
from kernel
join kind using (name)
where kind.category in ('copy', 'fill') and flaw is null
"""
LOSSES = """
{kinds}
transfer as ({transfers}),
stretch as (
    select
        segment.*,
        transfer.what,
        transfer.detail,
        segment.state = 'copy' and transfer.what is not null as stalled
    from segment
    asof left join transfer
        on transfer.process = segment.process
        and transfer.device = segment.device
        and transfer.start_ns <= segment.start_ns
    where segment.state in ('copy', 'compute')
),
within as (
    select stretch.*, case when step.end_ns > stretch.start_ns then step.iteration end as iteration
    from stretch
    asof left join step on step.process = stretch.process and step.from_ns <= stretch.start_ns
),
room as (
    select process, device, iteration, least(1, coalesce(sum(duration_ns) filter (state = 'compute'), 0)
        / sum(duration_ns) filter (stalled)) as share
    from within
    group by process, device, iteration
    having sum(duration_ns) filter (stalled) > 0
),
loss as (
    select
        within.process,
        within.device,
        start_ns,
        what,
        detail,
        duration_ns as time_ns,
        floor(duration_ns * share)::bigint as saves_ns
    from within
    join room
        on room.process = within.process
        and room.device = within.device
        and room.iteration is not distinct from within.iteration
    where stalled
)
"""
"""SQL: copies alone; of the savings no more than the compute of the same iteration, beside which copies could run."""


def diagnose(trace: Trace) -> tuple[Diagnosis, ...]:
    """Time in which a device does nothing but copy, by the copy that started last; fills are left out."""
    if not (trace.has("segment") and trace.has("iteration")):
        return ()
    parts = {"copy": COPIES, "fill": FILLS, "kernel": KERNELS}
    losses = LOSSES.format(
        kinds=f"{KINDS}," if trace.has("kernel") else "",
        transfers=" union all ".join(text.strip() for name, text in parts.items() if trace.has(name)),
    )
    return judged(
        trace,
        "copy_stalls",
        losses,
        _say,
        among="state = 'copy'",
        relies=(BUSY,),
        bound="the time in which nothing but copies runs, but no more than the same iteration computes: what "
        "overlapping them with compute would save",
        advice="Copy from pinned memory, without waiting, on a stream of its own, while the batch before is computed; "
        "keep on the device what is copied again and again.",
    )


def _say(place: Place, rows: "pl.DataFrame") -> str:
    whole = total(rows, "time_ns")
    paged = total(rows.filter(rows["detail"].str.contains("pageable").fill_null(False)), "time_ns")
    detail = rows["detail"][0]
    pageable = f"; {percent(paged, whole)} of it from or to pageable memory" if paged else ""
    return (
        f"{place.where} spends {duration(whole)} in copies alone, with no compute beside them, mostly in "
        f"{short(rows['what'][0])}{f' ({detail})' if detail else ''}{pageable}."
    )
