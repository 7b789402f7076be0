"""Are kernels too small to fill the device?"""

from typing import TYPE_CHECKING

from ...store.trace import Trace
from ..diagnosis import Diagnosis, Place
from ..finding import total
from ..losses import KERNEL_TIME, KINDS, judged, new_ns
from ..naming import short
from ..words import duration, plural

if TYPE_CHECKING:
    import polars as pl

NEEDS = ("segments", "iterations", "hierarchy")

LOSSES = """
{kinds},
unit as (
    select process, device, compute_units from device where compute_units > 0
),
narrow as (
    select
        kernel.process,
        kernel.device,
        start_ns,
        end_ns,
        name,
        grid_x::bigint * grid_y * grid_z as blocks,
        compute_units
    from kernel
    join unit using (process, device)
    anti join (select name from kind where category = 'communication') as told using (name)
    where flaw is null and grid_x::bigint * grid_y * grid_z < compute_units
),
loss as (
    select
        process,
        device,
        start_ns,
        name as what,
        concat(blocks, ' blocks on ', compute_units, ' compute units') as detail,
        end_ns - start_ns as time_ns,
        ({new_ns}) * (compute_units - blocks) // compute_units as saves_ns
    from narrow
)
"""


def diagnose(trace: Trace) -> tuple[Diagnosis, ...]:
    """Kernels with fewer blocks than the device has compute units, so that some of these have nothing to do."""
    if not all(trace.has(name) for name in ("segment", "iteration", "kernel", "device")):
        return ()
    return judged(
        trace,
        "underfilled",
        LOSSES.format(kinds=KINDS, new_ns=new_ns("start_ns, end_ns")),
        _say,
        relies=(KERNEL_TIME,),
        warm=True,
        bound="the time of each of these kernels times the share of compute units that get no block: what it would "
        "save if as many more blocks did the same work; time that several of them share counts once",
        advice="Enlarge the batch or what each kernel works on, let independent work run beside it on another stream, "
        "or share the device.",
    )


def _say(place: Place, rows: "pl.DataFrame") -> str:
    whole = duration(total(rows, "time_ns"))
    return (
        f"{plural(place.count, 'kernel')} ({whole} in all) {'has' if place.count == 1 else 'have'} fewer blocks than "
        f"{place.where[0].lower()}{place.where[1:]} has compute units, mostly {short(rows['what'][0])} "
        f"({rows['detail'][0]}): the batch may be too small."
    )
