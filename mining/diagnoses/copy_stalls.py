"""Does the device copy memory without computing meanwhile?"""

from typing import TYPE_CHECKING

from ...store.trace import Trace
from ..diagnosis import Diagnosis, Place
from ..finding import total
from ..losses import judged, kinds
from ..naming import short
from ..words import duration, percent

if TYPE_CHECKING:
    import polars as pl

NEEDS = ("segments", "iterations")

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
loss as (
    select
        segment.process,
        segment.device,
        segment.start_ns,
        transfer.what,
        transfer.detail,
        segment.duration_ns as time_ns,
        segment.duration_ns as saves_ns
    from segment
    asof join transfer
        on transfer.process = segment.process
        and transfer.device = segment.device
        and transfer.start_ns <= segment.start_ns
    where segment.state = 'copy' and transfer.what is not null
)
"""


def diagnose(trace: Trace) -> tuple[Diagnosis, ...]:
    """Time in which a device does nothing but copy, by the copy that started last; fills are left out."""
    if not (trace.has("segment") and trace.has("iteration")):
        return ()
    parts = {"copy": COPIES, "fill": FILLS, "kernel": KERNELS}
    losses = LOSSES.format(
        kinds=f"{kinds()}," if trace.has("kernel") else "",
        transfers=" union all ".join(text.strip() for name, text in parts.items() if trace.has(name)),
    )
    return judged(
        trace,
        "copy_stalls",
        losses,
        _say,
        among="state = 'copy'",
        bound="the time in which nothing but copies runs: what overlapping all of them with compute would save",
        advice="Copy from pinned memory, without waiting, on a stream of its own, while the batch before is computed; "
        "keep on the device what is copied again and again.",
    )


def _say(place: Place, rows: "pl.DataFrame") -> str:
    paged = total(rows.filter(rows["detail"].str.contains("pageable").fill_null(False)), "saves_ns")
    detail = rows["detail"][0]
    pageable = f"; {percent(paged, place.saves_ns)} of it from or to pageable memory" if paged else ""
    return (
        f"{place.where} spends {duration(place.saves_ns)} in copies alone, with no compute beside them, mostly in "
        f"{short(rows['what'][0])}{f' ({detail})' if detail else ''}{pageable}."
    )
