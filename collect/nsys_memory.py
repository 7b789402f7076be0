"""Memory in an Nsight Systems export: page faults of managed memory, and the lives of allocations."""

from typing import Any

import pyarrow as pa
import pyarrow.compute

from .database_columns import INT, TEXT
from .lives import lives
from .nsys_columns import arguments, filled, translated
from .nsys_export import Export
from .nsys_vocabulary import ACCESSES, ACTS, ALLOCATED, words

__all__ = ["read_memory"]

pc: Any = pyarrow.compute  # its functions are made at import, so its types say nothing

DEVICE_FAULT = ("start", "end", "globalPid", "deviceId", "address", "numberOfPageFaults", "faultAccessType")
ALLOCATION = ("start", "globalPid", "deviceId", "address", "bytes", "memKind", "memoryOperationType")
ON_HOST = ("host", "pinned")


def read_memory(export: Export) -> None:
    """Writes faults and allocations into the export's sink."""
    _device_faults(export)
    _host_faults(export)
    _allocations(export)


def _device_faults(export: Export) -> None:
    accesses = words(export, ACCESSES)
    for rows in export.events("CUDA_UM_GPU_PAGE_FAULT_EVENTS", dict.fromkeys(DEVICE_FAULT, INT)):
        export.sink.write(
            "fault",
            {
                "process": export.process(rows["globalPid"]),
                "device": export.fitting(rows["deviceId"], "deviceId"),
                "processor": "gpu",
                "start_ns": rows["start"],
                "end_ns": rows["end"],
                "address": rows["address"],
                "pages": rows["numberOfPageFaults"],
                "kind": translated(rows["faultAccessType"], accesses.get),
                "args": arguments(rows.rest),
            },
        )


def _host_faults(export: Export) -> None:
    for rows in export.events("CUDA_UM_CPU_PAGE_FAULT_EVENTS", dict.fromkeys(("start", "globalPid", "address"), INT)):
        export.sink.write(
            "fault",
            {
                "process": export.process(rows["globalPid"]),
                "processor": "cpu",
                "start_ns": rows["start"],
                "address": rows["address"],
                "pages": 1,
                "args": arguments(rows.rest),
            },
        )


def _allocations(export: Export) -> None:
    """Lives of memory blocks: each allocation with the release of its address that comes next in time."""
    kinds, acts = words(export, ALLOCATED), words(export, ACTS)
    found: list[pa.Table] = []
    wanted = dict.fromkeys(ALLOCATION, INT) | {"name": TEXT}
    for rows in export.events("CUDA_GPU_MEMORY_USAGE_EVENTS", wanted, frozenset({"pc"})):
        kind = pa.array(filled(translated(rows["memKind"], kinds.get), "device")).cast(TEXT)
        args = arguments(rows.rest)
        columns = {
            "process": export.process(rows["globalPid"]),
            "device": pc.if_else(pc.is_in(kind, pa.array(ON_HOST)), None, export.fitting(rows["deviceId"], "deviceId")),
            "kind": kind,
            "address": rows["address"],
            "bytes": pc.fill_null(rows["bytes"], 0),
            "time": rows["start"],
            "owner": rows["name"],
            "args": pa.nulls(rows.count, TEXT) if args is None else args.cast(TEXT),
            "ends": pc.equal(translated(rows["memoryOperationType"], acts.get).cast(TEXT), "released"),
        }
        found.append(pa.table(columns))
    if found:
        export.sink.write("allocation", lives(pa.concat_tables(found)))
