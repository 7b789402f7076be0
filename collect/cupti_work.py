"""Activities of CUPTI as rows of our tables: the host's calls and the devices' work.

The numbers of kinds are those of CUPTI's activity records (https://docs.nvidia.com/cupti). Left out of `args`, since
they tell a performance engineer nothing: the number of a launch on its device (`gridId`), the time a kernel and its
children completed where it equals the end, flags of the record, and the legacy cache preferences.
"""

from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute

from .cupti_activities import Activities
from .database_columns import INT, TEXT, Rows
from .nsys_columns import arguments, combinations, filled, nonzero, plus, translated

__all__ = ["MEMORY", "read_calls", "read_work"]

pc: Any = pyarrow.compute  # its functions are made at import, so its types say nothing

COPIES = dict(enumerate(("HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"), start=1))
MEMORY = dict(enumerate(("pageable", "pinned", "device", "array", "managed", "device", "managed"), start=1))
WAITS = {1: "event", 2: "stream-event", 3: "stream", 4: "context"}
LAUNCHES = {1: "cooperative_single_device", 2: "cooperative_multi_device"}

SHARED = ("start", "end", "deviceId", "contextId", "streamId", "correlationId")
AXES = [f"{what}{axis}" for what in ("grid", "block") for axis in "XYZ"]
KERNEL = ("name", "launchType", "graphId", "graphNodeId", "registersPerThread", "completed")
SHARED_MEMORY = ("staticSharedMemory", "dynamicSharedMemory")
KERNEL_LEFT_OUT = frozenset(
    {
        *("gridId", "cacheConfig", "sharedMemoryConfig", "shmemLimitConfig", "pAccessPolicyWindow"),
        *("partitionedGlobalCacheRequested", "partitionedGlobalCacheExecuted"),
    }
)
NOBODY = 2**32 - 1
"""How CUPTI writes that there is no stream or event; databases may show it as -1."""


def read_calls(activities: Activities) -> None:
    """Writes the calls of the runtime and the driver, and notes which processes made them."""
    wanted = _ints("start", "end", "cbid", "processId", "threadId", "correlationId", "returnValue")
    for interface in ("runtime", "driver"):
        for rows in activities.events(interface.upper(), wanted):
            process = pc.fill_null(rows["processId"], 0)
            for pid in process.unique().to_pylist():
                ids = rows["correlationId"].filter(pc.equal(process, pid))
                activities.calls.setdefault(pid, []).append(ids)
            activities.sink.write(
                "api",
                {
                    "process": process,
                    "thread": rows["threadId"],
                    "start_ns": rows["start"],
                    "end_ns": rows["end"],
                    "name": translated(rows["cbid"], partial(activities.function, interface)),
                    "kind": interface,
                    "correlation": rows["correlationId"],
                    "status": rows["returnValue"],
                    "args": arguments(rows.rest),
                },
            )
    if activities.calls:
        activities.main = max(activities.calls, key=lambda pid: (sum(map(len, activities.calls[pid])), -pid))
    if len(activities.calls) > 1:
        meaning = "calls of several processes: device work belongs to the one whose call has its correlation id"
        activities.sink.note("several-processes", meaning, count=len(activities.calls))


def read_work(activities: Activities) -> None:
    """Writes kernels, copies, fills, waits, and graphs recorded as a whole."""
    for kind in ("KERNEL", "CONCURRENT_KERNEL", "CDP_KERNEL"):
        _kernels(activities, kind)
    for kind in ("MEMCPY", "MEMCPY2"):
        _copies(activities, kind)
    _fills(activities)
    _waits(activities)
    _graphs(activities)


def _placed(activities: Activities, rows: Rows) -> dict[str, pa.Array | None]:
    """The columns that all device operations share."""
    process = activities.process(rows["correlationId"])
    device = activities.place(rows["deviceId"], "device")
    activities.device_work.update((p, d) for p, d in combinations([process, device])[1])
    return {
        "process": process,
        "device": device,
        "context": rows["contextId"],
        "stream": activities.place(rows["streamId"], "stream"),
        "start_ns": rows["start"],
        "end_ns": rows["end"],
        "correlation": rows["correlationId"],
        "launch": activities.launch(rows["correlationId"]),
        "external": activities.external(rows["correlationId"]),
    }


def _kernels(activities: Activities, kind: str) -> None:
    wanted = _ints(*SHARED, *KERNEL, *SHARED_MEMORY, *AXES)
    for rows in activities.events(kind, wanted, KERNEL_LEFT_OUT):
        said = {"launchType": translated(rows["launchType"], LAUNCHES.get)}
        names = activities.text(rows["name"])
        if unnamed := names.cast(TEXT).null_count:
            activities.sink.note("unnamed-kernel", "kernels of which the file has no name", count=unnamed)
        later = pc.and_(pc.not_equal(rows["completed"], rows["end"]), pc.not_equal(rows["completed"], 0))
        said["completed"] = pc.if_else(later, rows["completed"], None)
        activities.sink.write(
            "kernel",
            {
                **_placed(activities, rows),
                "name": names,
                **{f"{axis[:-1]}_{axis[-1].lower()}": activities.fitting(rows[axis], axis) for axis in AXES},
                "registers": activities.fitting(rows["registersPerThread"], "registersPerThread"),
                "shared_bytes": plus(*(rows[name] for name in SHARED_MEMORY)),
                "graph": nonzero(rows["graphId"]),
                "graph_node": nonzero(rows["graphNodeId"]),
                "args": arguments({**rows.rest, **said}),
            },
        )


def _copies(activities: Activities, kind: str) -> None:
    ends = ("srcDeviceId", "dstDeviceId")
    wanted = _ints(*SHARED, "copyKind", "srcKind", "dstKind", "bytes", "graphId", "graphNodeId", *ends)
    for rows in activities.events(kind, wanted, frozenset({"flags"})):
        source, target = (rows[name] for name in ends)
        peer = pc.if_else(pc.equal(source, rows["deviceId"]), target, source)
        direction = translated(rows["copyKind"], COPIES.get)
        unknown = direction.is_null()
        activities.sink.write(
            "copy",
            {
                **_placed(activities, rows),
                "kind": filled(direction, "PtoP") if kind == "MEMCPY2" else direction,
                "bytes": rows["bytes"],
                "source_memory": translated(rows["srcKind"], MEMORY.get),
                "target_memory": translated(rows["dstKind"], MEMORY.get),
                "peer_device": activities.fitting(
                    pc.if_else(pc.equal(peer, rows["deviceId"]), None, peer), "peer device"
                ),
                "graph": nonzero(rows["graphId"]),
                "graph_node": nonzero(rows["graphNodeId"]),
                "args": arguments({**rows.rest, "copyKind": pc.if_else(unknown, nonzero(rows["copyKind"]), None)}),
            },
        )


def _fills(activities: Activities) -> None:
    wanted = _ints(*SHARED, "bytes", "value", "memoryKind", "graphId", "graphNodeId")
    for rows in activities.events("MEMSET", wanted, frozenset({"flags"})):
        activities.sink.write(
            "fill",
            {
                **_placed(activities, rows),
                "bytes": rows["bytes"],
                "value": rows["value"],
                "memory": translated(rows["memoryKind"], MEMORY.get),
                "graph": nonzero(rows["graphId"]),
                "graph_node": nonzero(rows["graphNodeId"]),
                "args": arguments(rows.rest),
            },
        )


def _waits(activities: Activities) -> None:
    wanted = _ints("start", "end", "type", "contextId", "streamId", "cudaEventId", "correlationId")
    for rows in activities.events("SYNCHRONIZATION", wanted):
        activities.sink.write(
            "sync",
            {
                "process": activities.process(rows["correlationId"]),
                "context": rows["contextId"],
                "stream": _somebody(rows["streamId"]),
                "start_ns": rows["start"],
                "end_ns": rows["end"],
                "kind": filled(translated(rows["type"], WAITS.get), "unknown"),
                "event": _somebody(rows["cudaEventId"]),
                "correlation": rows["correlationId"],
                "args": arguments(rows.rest),
            },
        )


def _graphs(activities: Activities) -> None:
    """Whole graphs, where the recording did not look into them: spans on a stream, since nothing says what ran when."""
    for rows in activities.events("GRAPH_TRACE", _ints(*SHARED, "graphId")):
        placed = _placed(activities, rows)
        meaning = "graphs were recorded as a whole: their kernels are missing, and busy time is too low"
        activities.sink.note("whole-graphs", meaning, count=rows.count)
        activities.sink.write(
            "range",
            {
                **{name: placed[name] for name in ("process", "device", "stream", "start_ns", "end_ns")},
                "name": filled(translated(rows["graphId"], lambda number: f"graph {number}"), "graph"),
                "kind": "graph",
                "id": rows["graphId"],
                "args": arguments({**rows.rest, "correlationId": rows["correlationId"]}),
            },
        )


def _ints(*names: str) -> dict[str, pa.DataType]:
    return dict.fromkeys(names, INT)


def _somebody(ids: pa.Array) -> pa.Array:
    return pc.if_else(pc.or_(pc.equal(ids, NOBODY), pc.less(ids, 0)), None, ids)
