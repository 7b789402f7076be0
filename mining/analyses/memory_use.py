"""Derives how device memory is used: the curve of what is allocated, each allocation's life, what launches touch."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...store.tables import TABLES
from ...store.trace import Trace
from ..memory_curve import EARLIEST, LATEST, STAGES, Curve, alive_at, is_flat, returns, stages, values_at
from ..memory_sources import Key, allocations, curves, step_starts
from ..nested import NONE
from ..sites import sites
from ..sorting import Ints
from ..touched import launches_measured, launches_of_kernels

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

VERSION = 5
NEEDS = ("iterations",)

LEAST = 3
"""Iterations from which on the stages are those of one of them."""

Curves = Mapping[Key, tuple[str, Curve]]
FATES = {(True, True): "released", (True, False): "alive at the end", (False, True): "older", (False, False): "kept"}
"""What becomes of an allocation, by whether its birth and its death are known."""


def mine(trace: Trace) -> Mapping[str, "pa.Table"]:
    """The tables `memory_curve`, `memory_life` and `working_set`, each only where the source tells of it."""
    lives = allocations(trace)
    found = {key: (source, curve) for key, source, curve in curves(trace, lives)}
    tables: dict[str, pa.Table] = {}
    if found:
        timed = trace.facts.clock != "ordinal"
        starts = step_starts(trace)
        parts = [_curve(key, *one, timed, _begins(starts, key[0])) for key, one in found.items()]
        tables["memory_curve"] = _joined("memory_curve", parts)
    if lives is not None and len(lives):
        tables["memory_life"] = _lives(trace, lives, found)
    launches = _launches(trace, found)
    if launches is not None:
        tables["working_set"] = launches
    return tables


def _begins(starts: "pl.DataFrame | None", process: int) -> Ints:
    """When the host began with each main iteration of a process."""
    if starts is None:
        return np.zeros(0, np.int64)
    return np.sort(starts.filter(starts["process"] == process)["start_ns"].to_numpy())


def _curve(key: Key, source: str, curve: Curve, timed: bool, begins: Ints) -> "pa.Table":
    process, device, granularity = key
    size = len(curve.bytes)
    low, high = _window(curve, begins) if timed and source != "launches" else (0, size)
    first, last = stages(curve.bytes[low:high])
    words = np.array([None, *STAGES, None], object)
    stage = np.repeat(words, [low, first, last - first, high - low - last, size - high])
    times = curve.time_ns if timed and source != "launches" else None
    columns = {"process": [process] * size, "device": [device] * size, "granularity": [granularity] * size}
    columns |= {"source": [source] * size, "event": np.arange(size), "time_ns": times}
    return _table("memory_curve", columns | {"bytes": curve.bytes, "stage": stage}, size)


def _window(curve: Curve, begins: Ints) -> tuple[int, int]:
    """The changes of the iteration that holds the peak.

    All changes where iterations are few, none holds the peak, or what is held is no iteration's: the level goes on from
    one to the next (layers of a forward pass repeat too), or the whole curve hardly varies.
    """
    peak = curve.time_ns[np.argmax(curve.bytes)]
    step = int(np.searchsorted(begins, peak, "right")) - 1
    size = len(curve.bytes)
    if len(begins) < LEAST or step < 0 or is_flat(curve.bytes):
        return 0, size
    low = int(np.searchsorted(curve.time_ns, begins[step]))
    high = int(np.searchsorted(curve.time_ns, begins[step + 1])) if step + 1 < len(begins) else size
    return (low, high) if returns(curve.bytes[max(low - 1, 0) : high]) else (0, size)


def _lives(trace: Trace, lives: "pl.DataFrame", found: Curves) -> "pa.Table":
    birth, death = lives["birth_ns"].fill_null(EARLIEST).to_numpy(), lives["death_ns"].fill_null(LATEST).to_numpy()
    columns: dict[str, Any] = {name: lives[name].to_arrow() for name in lives.columns if name != "thread"}
    fates = zip((birth != EARLIEST).tolist(), (death != LATEST).tolist(), strict=True)
    columns["fate"] = [FATES[pair] for pair in fates]
    columns["at_peak"] = _at_peak(lives, birth, death, found)
    columns["birth_iteration"] = _steps(trace, lives, birth)
    site = sites(trace)
    if site is not None:
        process, thread = lives["process"].to_numpy(), lives["thread"].fill_null(NONE).to_numpy()
        columns |= vars(site.asked(process, thread, birth))
    return _table("memory_life", columns, len(lives))


def _at_peak(lives: "pl.DataFrame", birth: "np.ndarray[Any, Any]", death: "np.ndarray[Any, Any]", found: Curves) -> Any:
    """Whether each is alive when its curve is highest first."""
    result = np.zeros(len(lives), np.int32)
    for part in lives.with_row_index("row").partition_by("process", "device", "granularity"):
        process, device, granularity = part.select("process", "device", "granularity").row(0)
        source, curve = found.get((process, device, granularity), ("launches", None))
        if curve is not None and source != "launches":
            own = part["row"].to_numpy()
            result[own] = alive_at(int(curve.time_ns[np.argmax(curve.bytes)]), birth[own], death[own])
    return result


def _steps(trace: Trace, lives: "pl.DataFrame", birth: "np.ndarray[Any, Any]") -> "pa.Array | None":
    """The main iteration whose launches each was born among."""
    import pyarrow as pa

    starts = step_starts(trace)
    if starts is None:
        return None
    result = np.full(len(lives), NONE, np.int32)
    process = lives["process"].to_numpy()
    for part in starts.sort("start_ns").partition_by("process"):
        own = np.flatnonzero((process == part["process"][0]) & (birth != EARLIEST))
        at = np.searchsorted(part["start_ns"].to_numpy(), birth[own], "right") - 1
        result[own[at >= 0]] = part["iteration"].to_numpy()[at[at >= 0]]
    return pa.array(result, mask=result == NONE)


def _launches(trace: Trace, found: Curves) -> "pa.Table | None":
    rows = launches_measured(trace)
    if rows is not None:
        columns = {name: rows[name].to_arrow() for name in rows.columns}
        known = rows.select("accesses", "object_bytes", "tensor_bytes")
        return _table("working_set", columns | {"evidence": _evidence(known, "A")}, len(rows))
    if not trace.has("kernel"):
        return None
    rows = launches_of_kernels(trace)
    columns = {name: rows[name].to_arrow() for name in rows.columns if name != "asked_ns"}
    columns["evidence"] = _evidence(rows.select("tensor_bytes"), "B")
    rows = _with_memory_device(rows, found)
    columns["memory_device"] = rows["memory_device"].to_arrow()
    for granularity in ("object", "tensor"):
        columns[f"{granularity}_footprint_bytes"] = _footprints(rows, granularity, found)
    return _table("working_set", columns, len(rows))


def _with_memory_device(rows: "pl.DataFrame", found: Curves) -> "pl.DataFrame":
    """Adds `memory_device`: the kernels' own device, or that of memory where a process has only one of each.

    The profiler and the allocator may number devices apart: on AMD's one counts those of the machine, the other those
    that the process sees. With several on a side nothing tells which is which.
    """
    import polars as pl

    parts = [rows.head(0).with_columns(memory_device="device")]
    for part in rows.partition_by("process", maintain_order=True):
        process = part["process"][0]
        devices = {key[1] for key in found if key[0] == process}
        one = part["device"].n_unique() == 1 and len(devices) == 1 and None not in devices
        own = pl.lit(devices.pop(), part["device"].dtype) if one else pl.col("device")
        parts.append(part.with_columns(memory_device=own))
    return pl.concat(parts)


def _evidence(known: "pl.DataFrame", level: str) -> "pa.Array":
    """That level where one of the columns says something, else C."""
    import polars as pl

    told = pl.any_horizontal(pl.all().is_not_null())
    return known.select(pl.when(told).then(pl.lit(level)).otherwise(pl.lit("C"))).to_series().to_arrow()


def _footprints(rows: "pl.DataFrame", granularity: str, found: Curves) -> "pa.Array":
    """What is allocated at each launch, by the curve of its device; null where there is none, or none yet."""
    import pyarrow as pa

    bytes_ = np.zeros(len(rows), np.int64)
    missing = np.ones(len(rows), bool)
    process, device, asked = (rows[name].to_numpy() for name in ("process", "memory_device", "asked_ns"))
    for key, (source, curve) in found.items():
        if key[2] == granularity and source != "launches":
            own = (process == key[0]) & (device == key[1])
            bytes_[own], known = values_at(curve, asked[own])
            missing[own] = ~known
    return pa.array(bytes_, mask=missing)


def _table(name: str, columns: Mapping[str, Any], size: int) -> "pa.Table":
    """A table of its schema; what is not given is null."""
    import pyarrow as pa

    arrays = {
        field.name: pa.nulls(size, field.type)
        if columns.get(field.name) is None
        else _array(columns[field.name], field.type)
        for field in TABLES[name].schema
    }
    return pa.Table.from_pydict(arrays, schema=TABLES[name].schema)


def _array(values: Any, type: "pa.DataType") -> "pa.Array":
    import pyarrow as pa

    return values.cast(type) if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values, type)


def _joined(name: str, parts: "Sequence[pa.Table]") -> "pa.Table":
    import pyarrow as pa

    return pa.concat_tables([TABLES[name].schema.empty_table(), *parts])
