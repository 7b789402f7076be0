"""What a multiprocessor holds of a kernel at once, as SQL: its blocks, what limits them, the waves of a launch."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..store.errors import NotCollected
from ..store.trace import Trace

if TYPE_CHECKING:
    import polars as pl

__all__ = ["BOUND", "TIMES", "answered", "held", "needed", "shapes"]

BOUND = (
    "What a multiprocessor holds is at most this: how shared memory is divided between blocks and the cache, other "
    "kernels on the device, and limits that the trace does not tell may leave room for fewer blocks."
)
"""What is to say of blocks that fit at once."""

THREADS = ("maxThreadsPerMultiprocessor", "maxThreadsPerMultiProcessor")
WARPS = ("maxWarpsPerSm", "maxWarpsPerMultiprocessor")
WARP = ("warpSize", "threadsPerWarp", "numThreadsPerWarp")
REGISTERS = ("regsPerMultiprocessor", "maxRegistersPerSm", "maxRegistersPerMultiprocessor")
SHARED = ("sharedMemPerMultiprocessor", "maxShmemPerSm", "maxSharedMemoryPerMultiprocessor")
OF_A_BLOCK = ("sharedMemPerBlockOptin", "maxShmemPerBlockOptin")
BLOCKS = ("maxBlocksPerSm", "maxBlocksPerMultiprocessor")
"""What Kineto and the generations of Nsight Systems call the limits of a multiprocessor (`device.args`)."""

PARTS: Mapping[str | None, int] = {"6.0": 2}
"""Parts of a multiprocessor of NVIDIA, each with its share of the registers, where they are not four."""

NONE = "select " + ", ".join(f"null::{kind}" for kind in ("bigint", "integer", *["bigint"] * 8)) + " where false"
DEVICES = "select process, device, compute_units, vendor, architecture, args from device order by process, device"
TOLD = " and ".join(f"{of}_{axis} > 0" for of in ("grid", "block") for axis in "xyz")
"""SQL: grid and block of a kernel were recorded."""

TIMES = """
    sum(launches)::bigint as launches,
    sum(launches) / sum(sum(launches)) over () as launch_share,
    sum(time_ns)::bigint as time_ns,
    sum(time_ns) / nullif(sum(sum(time_ns)) over (), 0) as share
""".strip()
"""SQL: launches and time of a group of shapes, and its shares of those of all groups."""

SHAPE = f"""
shape as (
    select
        process,
        device,
        name,
        grid_x::hugeint * grid_y * grid_z as blocks,
        block_x::hugeint * block_y * block_z as threads,
        registers,
        shared_bytes,
        count(*) as launches,
        coalesce(sum(duration_ns), 0)::bigint as time_ns
    from kernel
    where {TOLD}
    group by all
)
""".strip()

HELD = """
unit(
    process, device, units, unit_parts, unit_warp, unit_threads, unit_registers, unit_shared, unit_reserved, unit_blocks
) as (
    {units}
),
fitting as (
    select
        shape.*,
        units,
        unit_threads,
        (threads + unit_warp - 1) // unit_warp * unit_warp as taken,
        unit_threads // taken as by_threads,
        unit_registers // unit_parts // ((registers::bigint + 7) // 8 * 8 * unit_warp) * unit_parts as warps,
        warps // (taken // unit_warp) as by_registers,
        unit_shared // nullif(shared_bytes::hugeint + unit_reserved, 0) as by_shared,
        unit_blocks as by_blocks,
        registers > 0 and shared_bytes >= 0 and unit_registers > 0 and unit_shared > 0 and unit_threads > 0 as told,
        if(told, nullif(least(by_threads, by_registers, by_shared, by_blocks), 0), null) as resident,
        if(units > 0, resident * units, null) as wave
    from shape
    left join unit using (process, device)
),
held as (
    select
        *,
        (resident * taken / unit_threads)::double as occupancy,
        case
            when resident is null then 'not known'
            when resident * taken >= unit_threads then 'nothing'
            when resident = by_registers then 'registers'
            when resident = by_shared then 'shared memory'
            when resident = by_blocks then 'number of blocks'
            else 'block size'
        end as limited_by,
        (blocks / wave)::double as waves,
        (blocks - 1) // wave + 1 as started,
        blocks - (started - 1) * wave as last_blocks,
        ((wave - last_blocks) * time_ns // (started * wave))::bigint as tail_ns
    from fitting
)
""".strip()


def needed(trace: Trace) -> None:
    """Raises `NotCollected` where no kernel is known with its grid and block."""
    if not trace.has("kernel"):
        raise NotCollected(f"{trace.source}: table kernel was not collected", "record kernels")
    if not trace.sql(f"select count(*) from kernel where {TOLD}").item():
        raise NotCollected("grids and blocks of kernels", "record with a profiler that tells them, for each launch")


def shapes() -> str:
    """A CTE `shape`: launches and time by device, kernel name, blocks, threads a block, registers, shared memory."""
    return f"with {SHAPE}"


def held(trace: Trace) -> str:
    """`shape`, and a CTE `held` of the same rows, with how many blocks fit on a multiprocessor and on the device.

    `resident` is the most blocks on a multiprocessor, null where a limit of the device, registers or shared memory of
    the kernel were not recorded; the number of blocks that a multiprocessor takes at most only counts where it was.
    `occupancy` is the share of its threads that these are, in whole warps; `limited_by` is what is scarcest, `block
    size` where only the blocks' threads do not fit evenly, `nothing` where all threads have a place. Of a launch the
    device runs `wave` blocks at once; `last_blocks` are those of the last of its `started` waves, and `tail_ns` is the
    share of the time in which places of that wave are empty, if all blocks take equally long. Source of the formula:
    cuda_occupancy.h of NVIDIA's toolkit, for compute capabilities from 5.0 on, without its rounding of shared memory.
    """
    return f"with {SHAPE},\n{HELD.format(units=_units(trace))}"


def answered(trace: Trace, query: str, column: str) -> "pl.DataFrame":
    """The rows of a query that begins with `held`; `NotCollected` where that column of theirs has no value."""
    rows = trace.sql(query) if trace.has("kernel") else None
    if rows is None or rows[column].null_count() == len(rows):
        needed(trace)
        raise NotCollected(
            "how many blocks of a kernel a device runs at once",
            "record registers and shared memory of kernels, and what a multiprocessor of the device holds: PyTorch's "
            "profiler on CUDA and Nsight Systems do",
        )
    return rows


def _units(trace: Trace) -> str:
    """The limits of each device as rows of SQL."""
    rows: dict[tuple[int, int], str] = {}
    for process, device, units, vendor, architecture, args in trace.sql(DEVICES).rows() if trace.has("device") else ():
        parts = PARTS.get(architecture, 4) if vendor == "nvidia" else 1
        values = ", ".join(_bigint(value) for value in (units, parts, *_limits(_object(args))))
        rows.setdefault((process, device), f"({process}, {device}, {values})")
    return "values " + ", ".join(rows.values()) if rows else NONE


def _limits(said: Mapping[str, Any]) -> tuple[int | None, ...]:
    """What a multiprocessor has: threads of a warp, threads, registers, shared memory, what of it each block takes
    besides its own, and the most blocks.
    """
    warp, threads, warps = (_first(said, names) for names in (WARP, THREADS, WARPS))
    if threads is None and warps and warp:
        threads = warps * warp
    shared, block = _first(said, SHARED), _first(said, OF_A_BLOCK)
    reserved = max(shared - block, 0) if shared and block else 0
    return warp, threads, _first(said, REGISTERS), shared, reserved, _first(said, BLOCKS)


def _first(said: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    """The first of the members that is a number a device may have."""
    return next((said[name] for name in names if type(said.get(name)) is int and 0 < said[name] < 1 << 31), None)


def _object(text: str | None) -> Mapping[str, Any]:
    """The JSON object; empty where there is none."""
    try:
        value = json.loads(text or "{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _bigint(value: int | None) -> str:
    return f"{'null' if value is None else value}::bigint"
