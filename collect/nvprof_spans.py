"""The rest of an nvprof database that has a time: managed memory, allocations, NVTX, overhead of profiling, sensors.

Moves of managed pages are rows of `migration` (kind UVM_HtoD, ...), not of `copy`: the profiler gives them no stream.
"""

import struct
from typing import Any

import pyarrow as pa
import pyarrow.compute

from .database_columns import BINARY, INT, Rows
from .nsys_columns import arguments, as_json, filled, translated
from .nvprof_database import PREFIX, Activities
from .nvprof_work import MEMORY

__all__ = ["read_spans"]

pc: Any = pyarrow.compute  # its functions are made at import, so its types say nothing

MOVES = {1: "UVM_HtoD", 2: "UVM_DtoH", 8: "UVM_DtoD"}
FAULTS = {3: "cpu", 4: "gpu"}
ACTS = {5: "thrash", 6: "throttle", 7: "remote_map"}
FROM_DEVICE = (2, 4, 6)
"""Kinds of counters whose source is the device concerned: a move to the host, a fault of a GPU, throttling."""

THRASHING, THROTTLING = 5, 6
ACCESSES = {1: "read", 2: "write", 3: "atomic", 4: "prefetch"}
CAUSES = {1: "user", 2: "coherence", 3: "prefetch", 4: "eviction", 5: "access_counters"}
OVERHEADS = {
    1: "driver compiler",
    1 << 16: "CUPTI buffer flush",
    2 << 16: "CUPTI instrumentation",
    3 << 16: "CUPTI resource",
    4 << 16: "module loading",
    5 << 16: "lazy function loading",
    6 << 16: "command buffer full",
    7 << 16: "activity buffer request",
    8 << 16: "UVM activity init",
}
THREAD_OBJECT = 2
INSTANT, BEGINS, ENDS = 1, 2, 4
ENVIRONMENT = {
    1: (("sm clock", "MHz"), ("memory clock", "MHz"), ("pcie generation", ""), ("pcie width", "lanes")),
    2: (("temperature", "C"),),
    3: (("power", "mW"), ("power limit", "mW")),
    4: (("fan speed", "%"),),
}
"""What the record of each kind of sensor begins with: 32-bit numbers, with their units."""


def read_spans(activities: Activities) -> None:
    """Writes them into the sink."""
    _managed(activities)
    _allocations(activities)
    _overhead(activities)
    _markers(activities)
    _environment(activities)


def _managed(activities: Activities) -> None:
    there = activities.database.tables.get(PREFIX + "UNIFIED_MEMORY_COUNTER", {})
    if "start" not in there or "counterKind" not in there:  # a sum per scope, as the first releases kept it
        return
    wanted = ("start", "end", "counterKind", "value", "address", "srcId", "dstId", "processId", "flags")
    left_out = frozenset({"streamId"})  # never valid
    for rows in activities.events("UNIFIED_MEMORY_COUNTER", dict.fromkeys(wanted, INT), left_out):
        _moves(activities, _of_kind(rows, MOVES), MOVES)
        _moves(activities, _of_kind(rows, ACTS), ACTS)
        _faults(activities, _of_kind(rows, FAULTS))
        unknown = rows.filter(pc.invert(pc.is_in(rows["counterKind"], pa.array([*MOVES, *ACTS, *FAULTS]))))
        if unknown.count:
            args = arguments({**unknown.columns, **unknown.rest})
            columns = {"process": unknown["processId"], "time_ns": unknown["start"], "json": filled(args, "{}")}
            activities.sink.write("other", {**columns, "kind": "UNIFIED_MEMORY_COUNTER"})


def _moves(activities: Activities, rows: Rows, kinds: dict[int, str]) -> None:
    if not rows.count:
        return
    throttled = pc.equal(rows["counterKind"], THROTTLING)
    activities.sink.write(
        "migration",
        {
            "process": pc.fill_null(rows["processId"], activities.main),
            "device": _device(activities, rows),
            "kind": translated(rows["counterKind"], kinds.get),
            "start_ns": rows["start"],
            "end_ns": _later(rows),
            "address": rows["address"],
            "bytes": pc.if_else(throttled, None, rows["value"]),  # throttling gives its value no meaning
            "cause": translated(rows["flags"], CAUSES.get) if kinds is MOVES else None,
        },
    )


def _faults(activities: Activities, rows: Rows) -> None:
    """Faults: the value of one of a GPU counts pages, that of one of a processor is the program counter."""
    if not rows.count:
        return
    processor = translated(rows["counterKind"], FAULTS.get)
    on_device = pc.equal(rows["counterKind"], 4)
    activities.sink.write(
        "fault",
        {
            "process": pc.fill_null(rows["processId"], activities.main),
            "device": pc.if_else(on_device, _device(activities, rows), None),
            "processor": processor,
            "start_ns": rows["start"],
            "end_ns": _later(rows),
            "address": rows["address"],
            "pages": pc.if_else(on_device, rows["value"], 1),
            "kind": translated(rows["flags"], ACCESSES.get),
            "args": arguments({**rows.rest, "program_counter": pc.if_else(on_device, None, rows["value"])}),
        },
    )


def _allocations(activities: Activities) -> None:
    there = activities.database.tables.get(PREFIX + "MEMORY", {})
    if "start" not in there:
        return
    wanted = ("start", "end", "memoryKind", "address", "bytes", "processId", "deviceId", "name")
    for rows in activities.events("MEMORY", dict.fromkeys(wanted, INT), frozenset({"allocPC", "freePC"})):
        kind = filled(translated(rows["memoryKind"], MEMORY.get), "device").cast(pa.string())
        kind = pc.if_else(pc.equal(kind, "pageable"), "host", kind)
        activities.sink.write(
            "allocation",
            {
                "process": pc.fill_null(rows["processId"], activities.main),
                "device": activities.fitting(rows["deviceId"], "deviceId"),
                "kind": pc.if_else(pc.equal(kind, "array"), "device", kind),
                "address": rows["address"],
                "bytes": pc.fill_null(rows["bytes"], 0),
                "birth_ns": rows["start"],
                "death_ns": _later(rows),
                "owner": activities.text(rows["name"]),
                "args": arguments(rows.rest),
            },
        )


def _overhead(activities: Activities) -> None:
    wanted = dict.fromkeys(("start", "end", "overheadKind", "objectKind"), INT) | {"objectId": BINARY}
    for rows in activities.events("OVERHEAD", wanted):
        process, thread = _threads(activities, rows)
        activities.sink.write(
            "range",
            {
                "process": process,
                "thread": thread,
                "start_ns": rows["start"],
                "end_ns": activities.ended(rows),
                "name": translated(rows["overheadKind"], lambda kind: OVERHEADS.get(kind, f"overhead {kind}")),
                "kind": "overhead",
                "args": arguments(rows.rest),
            },
        )


def _markers(activities: Activities) -> None:
    """NVTX: instants as they are; a begin and an end of one id make a range. Lone ends are counted, not kept."""
    wanted = dict.fromkeys(("timestamp", "flags", "id", "objectKind", "name", "domain"), INT) | {"objectId": BINARY}
    found: list[pa.Table] = []
    for rows in activities.events("MARKER", wanted):
        process, thread = _threads(activities, rows)
        texts = {name: activities.text(rows[name]).cast(pa.string()) for name in ("name", "domain")}
        plain = {name: rows[name] for name in ("timestamp", "flags", "id")}
        found.append(pa.table({**plain, **texts, "process": process, "thread": thread}))
    if not found:
        return
    data = {row.get("id"): row for row in activities.rows("MARKER_DATA")}
    begun: dict[int, dict[str, Any]] = {}
    ranges: list[dict[str, Any]] = []
    lone = 0
    for row in pa.concat_tables(found).sort_by("timestamp").to_pylist():  # ids pair in time: they may be given again
        time, flags, id = row.pop("timestamp"), row.pop("flags") or 0, row["id"]
        said = data.get(id, {})
        payload = said.get("payload") if said.get("payloadKind") else None
        about = as_json({"category": said.get("category") or None, "payload": payload})
        if flags & ENDS:
            start = begun.pop(id, None)
            lone += start is None
            if start is not None:
                start["end_ns"] = time
            continue
        row |= {"start_ns": time, "end_ns": time, "kind": "nvtx" if flags & BEGINS else "mark", "args": about}
        ranges.append(row)
        if flags & BEGINS:
            begun[id] = row
    if lone:
        activities.sink.note("lone-end", "ends of ranges that have no begin: left out", count=lone)
    if begun:
        meaning = "ranges that never ended: kept with a duration of 0"
        activities.sink.note("open-range", meaning, count=len(begun), example=next(iter(begun.values()))["name"])
    if ranges:
        columns = {name: [row[name] for row in ranges] for name in ranges[0]}
        activities.sink.write("range", columns)


def _environment(activities: Activities) -> None:
    """Sensors of the devices, as samples of counters."""
    wanted = dict.fromkeys(("timestamp", "deviceId", "environmentKind"), INT) | {"data": BINARY}
    for rows in activities.events("ENVIRONMENT", wanted):
        columns: dict[str, list[Any]] = {name: [] for name in ("device", "name", "time_ns", "value", "unit")}
        devices = activities.fitting(rows["deviceId"], "deviceId")
        for time, device, kind, data in zip(
            *(a.to_pylist() for a in (rows["timestamp"], devices, rows["environmentKind"], rows["data"])), strict=True
        ):
            sensors = ENVIRONMENT.get(kind, ())
            words = struct.unpack_from(f"<{len(sensors)}I", (data or b"").ljust(4 * len(sensors), b"\0"))
            for (name, unit), value in zip(sensors, words, strict=True):
                for column, cell in zip(
                    columns.values(), (device, name, time, float(value), unit or None), strict=True
                ):
                    column.append(cell)
        activities.sink.write("counter", {"process": activities.main, **columns})


def _threads(activities: Activities, rows: Rows) -> tuple[pa.Array, pa.Array]:
    """The process and the thread from the records of objects: two 32-bit numbers; the thread is signed as in calls."""
    processes: list[int] = []
    threads: list[int | None] = []
    kinds = rows["objectKind"].to_pylist()
    for kind, data in zip(kinds, rows["objectId"].to_pylist(), strict=True):
        known = kind in (1, THREAD_OBJECT) and len(data or b"") >= 8
        process, thread = struct.unpack_from("<Ii", data or b"") if known else (activities.main, None)
        processes.append(process)
        threads.append(thread if kind == THREAD_OBJECT else None)
    return pa.array(processes, INT), pa.array(threads, INT)


def _of_kind(rows: Rows, kinds: dict[int, str]) -> Rows:
    return rows.filter(pc.fill_null(pc.is_in(rows["counterKind"], pa.array([*kinds])), False))


def _device(activities: Activities, rows: Rows) -> pa.Array:
    """The device concerned: where pages go, or the source of the kinds in `FROM_DEVICE`; none of thrashing.

    The devices that contend when pages thrash are a set of bits in the source, as CUPTI writes it.
    """
    source = pc.is_in(rows["counterKind"], pa.array(FROM_DEVICE))
    device = pc.if_else(source, rows["srcId"], rows["dstId"])
    fits = pc.and_(pc.greater_equal(device, 0), pc.less(device, 2**31))
    return pc.if_else(pc.and_(fits, pc.not_equal(rows["counterKind"], THRASHING)), device, None)


def _later(rows: Rows) -> pa.Array:
    """The ends, null where they are none."""
    return pc.if_else(pc.less(rows["end"], rows["start"]), None, rows["end"])
