"""What the event collector recorded of a process, as batches of CUPTI's activities.

Times are those of the machine's raw monotonic clock, which the collector gives CUPTI to convert the device's times to.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute

from .cupti_calls import call_name
from .database_columns import INT, TEXT, Rows, fitting, placed
from .nsys_columns import dictionary
from .recording_chunks import Chunks, Columns
from .sink import Sink

__all__ = ["NEEDED", "Recording"]

pc: Any = pyarrow.compute  # its functions are made at import, so its types say nothing

NOBODY = 2**32 - 1
"""How CUPTI writes that there is no stream, event or device, and the collector that there is no name."""

PLACED = {"deviceId": "device", "contextId": "context", "streamId": "stream", "correlationId": "correlation"}
SPAN = {"start": "start", "end": "end"}
GRAPH = {"graphId": "graph", "graphNodeId": "graph_node"}
LAUNCHED = {"config": "config"}
AXES = {f"{what}{axis}": f"{what}_{axis.lower()}" for what in ("grid", "block") for axis in "XYZ"}
CONFIG = {
    **AXES,
    "name": "name",
    "registersPerThread": "registers",
    "staticSharedMemory": "static_shared",
    "dynamicSharedMemory": "dynamic_shared",
    "launchType": "launch_type",
}
"""What all kernels launched alike share: written once, in `config`."""

CALL = (
    SPAN
    | {"cbid": "function", "threadId": "thread", "correlationId": "correlation", "returnValue": "status"}
    | {"interface": "interface"}
)
TABLES: Mapping[str, tuple[tuple[str, Mapping[str, str]], ...]] = {
    "CONCURRENT_KERNEL": (("kernel", SPAN | PLACED | LAUNCHED), ("graph_kernel", SPAN | PLACED | LAUNCHED | GRAPH)),
    "MEMCPY": (
        (
            "copy",
            SPAN
            | PLACED
            | GRAPH
            | {"bytes": "bytes", "copyKind": "kind", "srcKind": "source", "dstKind": "target"}
            | {"srcDeviceId": "source_device", "dstDeviceId": "target_device", "copyCount": "count"},
        ),
    ),
    "MEMSET": (("fill", SPAN | PLACED | GRAPH | {"bytes": "bytes", "value": "value", "memoryKind": "memory"}),),
    "SYNCHRONIZATION": (
        (
            "sync",
            SPAN
            | {"type": "kind", "contextId": "context", "streamId": "stream", "cudaEventId": "event"}
            | {"correlationId": "correlation"},
        ),
    ),
    "GRAPH_TRACE": (("graph_launch", SPAN | PLACED | {"graphId": "graph"}),),
    "RUNTIME": (("call", CALL),),
    "DRIVER": (("call", CALL),),
    "MARKER": (
        (
            "marker",
            {"timestamp": "time", "flags": "flags", "id": "id", "objectKind": "object_kind", "name": "name"}
            | {"domain": "domain", "process": "process", "thread": "thread"},
        ),
    ),
    "OVERHEAD": (
        (
            "overhead",
            SPAN | {"overheadKind": "kind", "objectKind": "object_kind", "process": "process", "thread": "thread"},
        ),
    ),
    "UNIFIED_MEMORY_COUNTER": (
        (
            "uvm",
            SPAN
            | {"counterKind": "counter", "value": "value", "address": "address", "srcId": "source"}
            | {"dstId": "target", "processId": "process", "flags": "flags"},
        ),
    ),
    "MEMORY2": (
        (
            "memory",
            {"timestamp": "time", "memoryOperationType": "operation", "memoryKind": "kind", "address": "address"}
            | {
                "bytes": "bytes",
                "deviceId": "device",
                "name": "name",
                "isAsync": "async",
                "poolAddress": "pool_address",
            }
            | {"streamId": "stream"},
        ),
    ),
    "MEMORY_POOL": (
        (
            "pool",
            {"timestamp": "time", "memoryPoolOperationType": "operation", "address": "address", "size": "size"}
            | {"utilizedSize": "utilized", "deviceId": "device", "memoryPoolType": "type"},
        ),
    ),
}
"""The collector's tables of each kind of activity: CUPTI's names of the columns, and the collector's."""

NEEDED: Mapping[str, frozenset[str]] = {
    **{table: frozenset(names.values()) for tables in TABLES.values() for table, names in tables},
    "config": frozenset({"id", "name"}),
    "call_name": frozenset({"interface", "function", "name"}),
    "external": frozenset({"correlation", "external"}),
}
"""The columns that each table must have."""

INTERFACES = {"RUNTIME": 0, "DRIVER": 1}
NAMED = frozenset({"name", "domain"})
PEERS = frozenset({"srcDeviceId", "dstDeviceId"})
THREAD_OBJECT = 2
RELEASE = re.compile(r"_v\d{4,5}$")
"""What CUPTI adds to the names of the runtime's calls: `cudaLaunchKernel_v7000`."""

WORK = ("kernel", "graph_kernel", "copy", "fill")


class Recording:
    """The collector's file on its way into a sink: the activities of one process. See `cupti_activities.Activities`."""

    def __init__(self, chunks: Chunks, sink: Sink, process: int) -> None:
        self.sink = sink
        self.chunks = chunks
        self.main = process
        self.calls: dict[int, list[pa.Array]] = {}
        self.device_work: set[tuple[int, int]] = set()
        self._configs = self._all("config")
        self._launches = None if chunks.rows("call") else self._correlations()
        self._external = self._frameworks()
        self._functions = self._named_functions()

    def events(
        self, kind: str, columns: Mapping[str, pa.DataType], left_out: frozenset[str] = frozenset()
    ) -> Iterator[Rows]:
        """The activities of a kind in batches, with CUPTI's names of columns; what the collector has not is null."""
        for table, names in TABLES.get(kind, ()):
            for chunk in self.chunks.read(table):
                if table == "call":
                    chunk = _of_interface(chunk, INTERFACES[kind])
                count = len(next(iter(chunk.values())))
                if count:
                    held = {
                        name: self._column(chunk, names, name, kind, count)
                        for name in dict.fromkeys([*columns, *names])
                    }
                    yield Rows(held | self._shared(chunk), {}, count)

    def rows(self, kind: str) -> list[dict[str, Any]]:
        """None: what there is little of stands in the texts."""
        return []

    def text(self, ids: pa.Array) -> pa.DictionaryArray:
        """The names of their numbers; null where there is none, and counted where it is missing."""
        encoded = ids.dictionary_encode()
        names = [self.chunks.names.get(id) for id in encoded.dictionary.to_pylist()]
        if None in names:
            meaning = "names that were in a part of the recording that is missing"
            self.sink.note("unknown-name", meaning, count=names.count(None))
        return dictionary(encoded.indices, pa.array(names, TEXT))

    def process(self, correlation: pa.Array) -> pa.Array:
        """The process that was recorded."""
        return pa.repeat(pa.scalar(self.main, INT), len(correlation))

    def threads(self, rows: Rows) -> tuple[pa.Array, pa.Array]:
        """The process and the thread of activities that belong to one."""
        of_thread = pc.equal(rows["objectKind"], THREAD_OBJECT)
        return self.process(rows["process"]), pc.if_else(of_thread, rows["thread"], None)

    def launch(self, correlation: pa.Array) -> pa.Array | None:
        """The ordinal of the call that caused device work; None where the calls are recorded.

        CUPTI counts all calls of a process as they begin, so that the numbers of those that caused work, in order, are
        the order of the launches.
        """
        if self._launches is None:
            return None
        ids = correlation.to_numpy()
        return pa.array(np.searchsorted(self._launches, ids), INT, mask=ids == 0)

    def external(self, correlation: pa.Array) -> pa.Array | None:
        """The framework's id of what was going on at the call; None where none was pushed."""
        if self._external is None:
            return None
        known, ids = self._external
        wanted = correlation.to_numpy()
        at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        return pa.array(ids[at], INT, mask=known[at] != wanted)

    def place(self, values: pa.Array, column: str) -> pa.Array:
        """A device or stream, which all device work must have: 0 where none is given that fits."""
        return placed(self.fitting(values, column) if column == "device" else values, column, self.sink.note)

    def fitting(self, values: pa.Array, column: str) -> pa.Array:
        """Numbers that must fit 32 bits: null, and counted, where they do not."""
        return fitting(values, column, self.sink.note)

    def function(self, interface: str, number: int) -> str:
        """The name of a call of the runtime or the driver, without the release that it came with."""
        named = self._functions.get((INTERFACES[interface.upper()], number))
        return RELEASE.sub("", named) if named else call_name(interface, number)

    def _column(self, chunk: Columns, names: Mapping[str, str], name: str, kind: str, count: int) -> pa.Array:
        if name in names and names[name] in chunk:
            values = chunk[names[name]]
            if name in PEERS:  # only copies between devices have two
                values = np.where(values == NOBODY, chunk["device"], values)
            nobody = values == NOBODY if name in NAMED or (kind == "MEMORY2" and name == "streamId") else None
            return pa.array(values, INT, mask=nobody)
        if name == "processId":
            return pa.repeat(pa.scalar(self.main, INT), count)
        return pa.nulls(count, INT)

    def _shared(self, chunk: Columns) -> dict[str, pa.Array]:
        """What kernels share with others of their configuration; null where that part of the file is lost."""
        if "config" not in chunk:
            return {}
        config = chunk["config"]
        ids = self._configs.get("id", np.zeros(0, np.int64))
        missing = np.ones(len(config), np.bool_)
        place = np.zeros(len(config), np.int64)
        if len(ids):
            whole = ids[0] == 0 and ids[-1] == len(ids) - 1  # they count up: that is their place
            place = np.minimum(config if whole else np.searchsorted(ids, config), len(ids) - 1)
            missing = ids[place] != config
        lost = int(missing.sum())
        if lost:
            meaning = "kernels whose name and sizes were in a part of the recording that is missing"
            self.sink.note("unnamed-kernel", meaning, count=lost)
        mask = missing if lost else None
        return {
            name: pa.array(self._configs[column][place], INT, mask=mask)
            for name, column in CONFIG.items()
            if column in self._configs and len(ids)
        }

    def _all(self, table: str) -> dict[str, npt.NDArray[np.int64]]:
        """A small table as a whole, by its ids where it has some."""
        chunks = list(self.chunks.read(table))
        found = {name: np.concatenate([chunk[name] for chunk in chunks]) for name in chunks[0]} if chunks else {}
        if "id" in found:
            order = np.argsort(found["id"], kind="stable")
            found = {name: values[order] for name, values in found.items()}
        return found

    def _correlations(self) -> npt.NDArray[np.int64]:
        """The correlation ids of all device work, in order."""
        parts = [np.unique(chunk["correlation"]) for table in WORK for chunk in self.chunks.read(table)]
        found = np.unique(np.concatenate(parts)) if parts else np.zeros(0, np.int64)
        return found[found != 0]

    def _named_functions(self) -> dict[tuple[int, int], str | None]:
        """The names of calls by interface and number, as CUPTI gave them."""
        said = self._all("call_name")
        if not said:
            return {}
        columns = (said[name].tolist() for name in ("interface", "function", "name"))
        return {(of, number): self.chunks.names.get(name) for of, number, name in zip(*columns, strict=True)}

    def _frameworks(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] | None:
        """The correlation ids that ids of the framework belong to, in order, and those ids."""
        said = self._all("external")
        if not said:
            return None
        known, first = np.unique(said["correlation"], return_index=True)
        return known, said["external"][first]


def _of_interface(calls: Columns, interface: int) -> Columns:
    of = calls["interface"] == interface
    return {name: values[of] for name, values in calls.items()}
