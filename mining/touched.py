"""What each kernel launch touches: measured where accesses were, else the operands of its operator as a bound."""

from typing import TYPE_CHECKING

from ..store.trace import Trace
from .nested import NONE
from .operands import operands
from .words import plural

if TYPE_CHECKING:
    import polars as pl

__all__ = ["devices_joined", "launches_measured", "launches_of_kernels"]

NUMBERED = """
select
    process,
    device,
    row_number() over (
        partition by process order by coalesce(launch_ns, start_ns), start_ns, device, stream
    ) - 1 as launch,
    start_ns,
    coalesce(launch_ns, start_ns) as asked_ns,
    name as kernel,
    op
from kernel
order by process, launch
"""
SUMS = """
select
    process,
    launch,
    min(kernel) as kernel,
    sum(accesses)::bigint as accesses,
    (sum(object_bytes) filter (granularity = 'object'))::bigint as object_bytes,
    (sum(object_bytes) filter (granularity = 'tensor'))::bigint as tensor_bytes
from (
    select
        process,
        launch,
        granularity,
        object,
        object_id,
        min(kernel) as kernel,
        max(object_bytes) as object_bytes,
        sum(accesses) filter (granularity != 'tensor') as accesses
    from access
    where launch is not null and object is not null
    group by process, launch, granularity, object, object_id
    having coalesce(max(accesses), 1) > 0
)
group by process, launch
"""
"""SQL: sizes of what is touched, each object once in whatever windows. A row without a count says touched."""
MEASURED = """
select
    process,
    launch,
    coalesce(told.kernel, found.kernel) as kernel,
    coalesce(told.accesses, found.accesses) as accesses,
    coalesce(memory_working_set_bytes, object_bytes) as object_bytes,
    coalesce(told.tensor_working_set_bytes, found.tensor_bytes) as tensor_bytes,
    memory_footprint_bytes as object_footprint_bytes,
    told.tensor_footprint_bytes
from ({told}) as told
full join ({found}) as found using (process, launch)
order by process, launch
"""
NO_TOLD = """
select
    null::bigint as process, null::bigint as launch, null::varchar as kernel, null::bigint as accesses,
    null::bigint as memory_working_set_bytes, null::bigint as tensor_working_set_bytes,
    null::bigint as memory_footprint_bytes, null::bigint as tensor_footprint_bytes
where false
"""
NO_FOUND = """
select
    null::bigint as process, null::bigint as launch, null::varchar as kernel, null::bigint as accesses,
    null::bigint as object_bytes, null::bigint as tensor_bytes
where false
"""


JOINED = """
select distinct process, device, memory_device from working_set where device != memory_device order by process
"""


def launches_measured(trace: Trace) -> "pl.DataFrame | None":
    """The launches of which accesses were measured, with what they touch; None where a trace has none.

    What the source sums for a launch goes before the sum of its objects. Bytes are null where it tells neither.
    """
    told = "from launch_memory" if trace.has("launch_memory") else NO_TOLD
    found = SUMS if trace.has("access") else NO_FOUND
    rows = trace.sql(MEASURED.format(told=told, found=found))
    return rows if len(rows) else None


def devices_joined(trace: Trace) -> tuple[str, ...]:
    """A note where kernels and memory of a process are told of devices of different numbers and taken as one."""
    rows = trace.sql(JOINED)
    if not len(rows):
        return ()
    process, device, memory = rows.row(0)
    more = f" (and so on in {plural(len(rows) - 1, 'other')})" if len(rows) > 1 else ""
    return (
        f"Kernels of process {process} are told of device {device} and its memory of device {memory}{more}: there is "
        "no other of either, so both are taken as the same device.",
    )


def launches_of_kernels(trace: Trace) -> "pl.DataFrame":
    """The kernels in the order of their launches, each with the bytes of its operator's operands, or null.

    `tensor_bytes` has `output_bytes` within it, as far as `outputs` says that these are known.
    """
    import polars as pl

    rows = trace.sql(NUMBERED)
    if not trace.has("op"):
        return rows.with_columns(tensor_bytes=pl.lit(None, pl.Int64))
    found = operands(trace, rows["op"].fill_null(NONE).to_numpy())
    known = pl.Series(found.inputs != NONE)
    bytes_ = {"tensor_bytes": pl.Series(found.inputs + found.outputs), "output_bytes": pl.Series(found.outputs)}
    told = {name: pl.when(known).then(column) for name, column in bytes_.items()}
    return rows.with_columns(**told, outputs=pl.Series(found.told.tolist(), dtype=pl.String))
