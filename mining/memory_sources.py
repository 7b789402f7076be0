"""Where a trace says how much device memory is allocated: allocations, the allocator's totals, totals at launches."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ..store.trace import Trace
from .levels import MAIN
from .memory_curve import EARLIEST, LATEST, Curve, of_lives
from .sorting import Ints

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Key", "allocations", "asked", "curves", "step_starts"]


Key = tuple[int, int | None, str]
"""Process, device (None where not told) and granularity."""

ASKED = (
    "Tensors of a memory snapshot count with the size that was asked for, at the peak too: its history tells no other. "
    "The allocator rounds sizes up: what blocks take up is told for the end alone. Objects are the segments reserved."
)

ALLOCATIONS = """
select
    process,
    device,
    if(kind = 'tensor', 'tensor', 'object') as granularity,
    kind,
    address,
    bytes,
    birth_ns,
    death_ns,
    thread,
    owner,
    stack
from allocation
where kind in ('device', 'managed', 'object', 'pool') or (kind = 'tensor' and {of_device})
order by process, device, granularity, birth_ns nulls first, address, bytes
"""
TOTALS = """
select
    process,
    device,
    if(name in ('memory reserved', 'device_memory_bytes'), 'object', 'tensor') as granularity,
    if(name = 'memory change', 'changes', 'total') as source,
    time_ns,
    value::bigint as bytes
from counter
where (name in ('memory allocated', 'memory reserved', 'memory change') and device is not null)
    or name in ('device_memory_bytes', 'tensor_bytes')
order by process, device, granularity, source, time_ns
"""
"""SQL: totals and changes as Kineto and AccelProf write them. Kineto's rows without a device are of the host."""
AT_LAUNCHES = """
select process, granularity, bytes
from (
    select process, launch, 'object' as granularity, memory_footprint_bytes as bytes from launch_memory
    union all
    select process, launch, 'tensor', tensor_footprint_bytes from launch_memory
)
where bytes is not null
order by process, granularity, launch
"""
STEP_STARTS = f"""
with main as ({MAIN}),
step as (
    select process, iteration, start_ns as step_ns, end_ns as stop_ns from iteration join main using (process, level)
)
select work.process, iteration, min(coalesce(launch_ns, start_ns)) as start_ns
from ({{work}}) as work
asof join step on work.process = step.process and work.start_ns >= step.step_ns
where work.start_ns <= step.stop_ns
group by work.process, iteration
order by work.process, iteration
"""
"""SQL: when the host began with each main iteration."""


def asked(*traces: Trace) -> tuple[str, ...]:
    """What the sizes of tensors are, where one of the traces is a memory snapshot."""
    return (ASKED,) if any(trace.facts.format == "memory_snapshot" for trace in traces) else ()


def allocations(trace: Trace) -> "pl.DataFrame | None":
    """The allocations of device memory, by process, device, granularity and birth.

    A tensor without a device is of the host, but in logs that tell what kernels touch: these know no devices.
    """
    if not trace.has("allocation"):
        return None
    measured = trace.has("launch_memory") or trace.has("access")
    return trace.sql(ALLOCATIONS.format(of_device="true" if measured else "device is not null"))


def curves(trace: Trace, lives: "pl.DataFrame | None") -> Iterator[tuple[Key, str, Curve]]:
    """For each device and granularity the best there is: its name (`memory_curve.source`) and the curve.

    Totals know what was allocated before the recording, so they go before allocations, and these before changes.
    """
    found: dict[Key, tuple[str, Curve]] = {}
    totals = list(_totals(trace))
    for key, source, curve in (
        *_told(totals, "changes"),
        *_of_lives(lives),
        *_of_launches(trace),
        *_told(totals, "total"),
    ):
        found[key] = source, curve
    for key in sorted(found, key=lambda key: (key[0], -1 if key[1] is None else key[1], key[2])):
        yield key, *found[key]


def step_starts(trace: Trace) -> "pl.DataFrame | None":
    """When the host began with each main iteration: process, iteration, start_ns; None where there are none."""
    there = [name for name in ("kernel", "copy", "fill") if trace.has(name)]
    if not (there and trace.has("iteration") and trace.has("level")):
        return None
    work = " union all ".join(f"select process, start_ns, launch_ns from {name}" for name in there)
    rows = trace.sql(STEP_STARTS.format(work=work))
    return rows if len(rows) else None


def _of_lives(lives: "pl.DataFrame | None") -> Iterator[tuple[Key, str, Curve]]:
    if lives is None:
        return
    for part in lives.partition_by("process", "device", "granularity", maintain_order=True):
        process, device, granularity = part.row(0)[:3]
        birth, death = part["birth_ns"].fill_null(EARLIEST), part["death_ns"].fill_null(LATEST)
        curve = of_lives(part["bytes"].to_numpy(), birth.to_numpy(), death.to_numpy())
        if len(curve.time_ns):
            yield (process, device, granularity), "lives", curve


def _totals(trace: Trace) -> "Iterator[pl.DataFrame]":
    if trace.has("counter"):
        keys = ("process", "device", "granularity", "source")
        yield from trace.sql(TOTALS).partition_by(keys, maintain_order=True)


def _told(parts: "list[pl.DataFrame]", source: str) -> Iterator[tuple[Key, str, Curve]]:
    for part in parts:
        process, device, granularity, kind = part.row(0)[:4]
        if kind == source:
            bytes_: Ints = part["bytes"].to_numpy()
            if kind == "changes":
                bytes_ = np.cumsum(bytes_)
                bytes_ = bytes_ - min(0, int(bytes_.min()))  # what is released was there before
            yield (process, device, granularity), kind, Curve(part["time_ns"].to_numpy(), bytes_)


def _of_launches(trace: Trace) -> Iterator[tuple[Key, str, Curve]]:
    if trace.has("launch_memory"):
        for part in trace.sql(AT_LAUNCHES).partition_by("process", "granularity", maintain_order=True):
            process, granularity = part.row(0)[:2]
            yield (process, None, granularity), "launches", Curve(np.arange(len(part)), part["bytes"].to_numpy())
