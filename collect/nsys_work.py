"""What the device did, from an Nsight Systems export: kernels, copies, fills, waits and whole graphs.

Left out of `args`, since it tells a performance engineer nothing: the number of a launch on its device (`gridId`), the
mangled and the short form of the name, and the two legacy cache preferences (`cacheConfig`,
`sharedMemoryLimitConfig`). Every other column that is neither null nor zero is kept there under its own name.
"""

from typing import Any

import pyarrow as pa
import pyarrow.compute

from .database_columns import INT, TEXT, Rows
from .nsys_columns import arguments, combinations, filled, plus, translated
from .nsys_export import Export
from .nsys_vocabulary import CAUSES, COPIES, LAUNCHES, MEMORY, WAITS, words

__all__ = ["read_work"]

pc: Any = pyarrow.compute  # its functions are made at import, so its types say nothing

SHARED = ("start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid")
AXES = [f"{what}{axis}" for what in ("grid", "block") for axis in "XYZ"]
KERNEL = (
    *("demangledName", "shortName", "launchType", "graphId", "graphNodeId"),
    *("registersPerThread", "staticSharedMemory", "dynamicSharedMemory"),
    *AXES,
)
KERNEL_LEFT_OUT = frozenset({"gridId", "mangledName", "cacheConfig", "sharedMemoryLimitConfig"})
COPY = (
    *("bytes", "copyKind", "srcKind", "dstKind", "srcDeviceId", "dstDeviceId"),
    *("migrationCause", "virtualAddress", "graphNodeId"),
)
COPY_LEFT_OUT = frozenset({"deprecatedSrcId", "name"})
BETWEEN_DEVICES = ("PtoP", "DtoD", "UVM_DtoD")
NOBODY = 2**32 - 1
"""How the driver writes that there is no stream, event or device."""


def read_work(export: Export) -> None:
    """Writes the work of the devices into the export's sink."""
    _kernels(export)
    _copies(export)
    _fills(export)
    _waits(export)
    _graphs(export)


def _ints(*names: str) -> dict[str, pa.DataType]:
    return dict.fromkeys(names, INT)


def _placed(export: Export, rows: Rows) -> dict[str, pa.Array]:
    """The columns that all device operations share."""
    process, device = export.process(rows["globalPid"]), export.place(rows["deviceId"], "device")
    export.device_work.update((p, d) for p, d in combinations([process, device])[1])
    return {
        "process": process,
        "device": device,
        "context": rows["contextId"],
        "stream": export.place(rows["streamId"], "stream"),
        "start_ns": rows["start"],
        "end_ns": rows["end"],
        "correlation": rows["correlationId"],
    }


def _kernels(export: Export) -> None:
    base = "CUPTI_ACTIVITY_KIND_KERNEL"
    launches = words(export, LAUNCHES)
    for rows in export.events(base, _ints(*SHARED, *KERNEL) | {"name": TEXT}, KERNEL_LEFT_OUT):
        names, short = _names(export, base, rows)
        export.sink.write(
            "kernel",
            {
                **_placed(export, rows),
                "name": names,
                **{f"{axis[:-1]}_{axis[-1].lower()}": export.fitting(rows[axis], axis) for axis in AXES},
                "registers": export.fitting(rows["registersPerThread"], "registersPerThread"),
                "shared_bytes": plus(rows["staticSharedMemory"], rows["dynamicSharedMemory"]),
                "graph": rows["graphId"],
                "graph_node": rows["graphNodeId"],
                "args": arguments({**rows.rest, **short, "launchType": translated(rows["launchType"], launches.get)}),
            },
        )


def _names(export: Export, base: str, rows: Rows) -> tuple[pa.Array, dict[str, pa.Array]]:
    """The kernels' names, demangled where the export has that column, and the short form of those it does not hold.

    The short form alone is no name: it is the same for all instances of a template.
    """
    if "demangledName" not in export.columns(base):
        return filled(export.text(rows["shortName"]), rows["name"]), {}
    names = export.text(rows["demangledName"])
    if not names.null_count:
        return names, {}
    missing = names.is_null()
    short = export.text(rows["shortName"]).cast(TEXT)
    told = short.filter(missing).drop_null()
    example = told[0].as_py() if len(told) else None
    meaning = "kernels whose full name the export does not hold: the short one is in args, where it holds that"
    export.sink.note("unnamed-kernel", meaning, count=names.null_count, example=example)
    return names, {"shortName": pc.if_else(missing, short, None)}


def _copies(export: Export) -> None:
    kinds, memory, causes = words(export, COPIES), words(export, MEMORY), words(export, CAUSES)
    for rows in export.events("CUPTI_ACTIVITY_KIND_MEMCPY", _ints(*SHARED, *COPY), COPY_LEFT_OUT):
        placed = _placed(export, rows)
        kind = translated(rows["copyKind"], kinds.get)
        told = kind.cast(TEXT)
        if told.null_count:
            meaning = "copies whose direction is none that is known: of none"
            example = f"copyKind {rows['copyKind'].filter(told.is_null())[0].as_py()}"
            export.sink.note("unknown-direction", meaning, count=told.null_count, example=example)
        migrated = pc.fill_null(pc.starts_with(told, "UVM"), False)
        placed["correlation"] = pc.if_else(migrated, None, placed["correlation"])  # the driver's own: no call made it
        export.sink.write(
            "copy",
            {
                **placed,
                "kind": kind,
                "bytes": rows["bytes"],
                "source_memory": translated(rows["srcKind"], memory.get),
                "target_memory": translated(rows["dstKind"], memory.get),
                "peer_device": _peer(export, rows, kind),
                "cause": translated(rows["migrationCause"], causes.get),
                "address": rows["virtualAddress"],
                "graph_node": rows["graphNodeId"],
                "args": arguments(rows.rest),
            },
        )


def _peer(export: Export, rows: Rows, kind: pa.Array) -> pa.Array:
    """The other device of a copy between two; old exports name device 0 as both ends of every other copy."""
    source, target = rows["srcDeviceId"], rows["dstDeviceId"]
    peer = pc.if_else(pc.equal(source, rows["deviceId"]), target, source)
    elsewhere = pc.and_(pc.not_equal(peer, rows["deviceId"]), pc.not_equal(peer, NOBODY))
    between = pc.is_in(kind.cast(TEXT), pa.array(BETWEEN_DEVICES))
    return export.fitting(pc.if_else(pc.and_(elsewhere, between), peer, None), "peer device")


def _fills(export: Export) -> None:
    memory = words(export, MEMORY)
    wanted = _ints(*SHARED, "bytes", "value", "memKind", "graphNodeId")
    for rows in export.events("CUPTI_ACTIVITY_KIND_MEMSET", wanted, frozenset({"name"})):
        export.sink.write(
            "fill",
            {
                **_placed(export, rows),
                "bytes": rows["bytes"],
                "value": rows["value"],
                "memory": translated(rows["memKind"], memory.get),
                "graph_node": rows["graphNodeId"],
                "args": arguments(rows.rest),
            },
        )


def _waits(export: Export) -> None:
    kinds = words(export, WAITS)
    wanted = _ints(*SHARED, "syncType", "eventId")
    for rows in export.events("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", wanted, frozenset({"deprecatedSyncType"})):
        export.sink.write(
            "sync",
            {
                "process": export.process(rows["globalPid"]),
                "device": export.fitting(_somebody(rows["deviceId"]), "deviceId"),
                "context": rows["contextId"],
                "stream": _somebody(rows["streamId"]),
                "start_ns": rows["start"],
                "end_ns": rows["end"],
                "kind": filled(translated(rows["syncType"], kinds.get), "unknown"),
                "event": _somebody(rows["eventId"]),
                "correlation": rows["correlationId"],
                "args": arguments(rows.rest),
            },
        )


def _graphs(export: Export) -> None:
    """Whole graphs, where the recording did not look into them: spans on a stream, since nothing says what ran when."""
    for rows in export.events("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", _ints(*SHARED, "graphId", "graphExecId")):
        placed = _placed(export, rows)
        meaning = (
            "graphs were recorded as a whole: their kernels are missing, and busy time is too low; "
            "record with --cuda-graph-trace=node"
        )
        export.sink.note("whole-graphs", meaning, count=rows.count)
        export.sink.write(
            "range",
            {
                **{name: placed[name] for name in ("process", "device", "stream", "start_ns", "end_ns")},
                "name": filled(translated(rows["graphId"], lambda number: f"graph {number}"), "graph"),
                "kind": "graph",
                "id": rows["graphExecId"],
                "args": arguments({**rows.rest, "correlationId": rows["correlationId"], "graphId": rows["graphId"]}),
            },
        )


def _somebody(ids: pa.Array) -> pa.Array:
    return pc.if_else(pc.equal(ids, NOBODY), None, ids)
