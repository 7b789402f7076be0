"""What the devices did, from an RPD database: kernels, copies and fills; every other operation as a span on its queue.

An operation belongs to the process of the call that caused it (`rocpd_api_ops`), and shares its id with it.

The size and the directions of a copy stand with the call: of a call that caused several operations it cannot be told
which moved how much, so its size stays in `args`. Grid sizes are as the call gave them: blocks, but work items for
the module launches, whose sizes are divided.
"""

import re
from typing import Any

import pyarrow as pa
import pyarrow.compute

from .amd_database import Lookup, Recording, told, where
from .database_columns import INT, TEXT, Rows
from .nsys_columns import arguments, combinations, dictionary, filled, is_uniform, translated

__all__ = ["OWN_WORK", "Calls", "read_work"]

pc: Any = pyarrow.compute  # its functions are made at import, so its types say nothing

OWN_WORK = re.compile(r"\w+::writeRows|rpdflush|hcc_activity_callback")
"""What the profiler's own calls are called: they are no work of the program."""

COPY = re.compile(r"Copy(Host|Device)To(Host|Device)\w*")
OTHER_COPY = re.compile(r"(?i)\w*(copy|memcpy)\w*")
FILL = re.compile(r"Fill\w+|(?i:memset\w*)")
IN_ITEMS = r"ModuleLaunchKernel"
"""Launches that give the grid in work items: hipExtModuleLaunchKernel, hipHccModuleLaunchKernel."""

AXES = "XYZ"
OPERATION = ("id", "gpuId", "queueId", "start", "end", "description_id", "opType_id")
LAUNCH = {
    **dict.fromkeys(("api_ptr_id", *(f"{what}{axis}" for what in ("grid", "workgroup") for axis in AXES)), INT),
    **dict.fromkeys(("groupSegmentSize", "privateSegmentSize", "kernelName_id"), INT),
    **dict.fromkeys(("stream", "codeObject", "kernelArgAddress", "aquireFence", "releaseFence"), TEXT),
}
MOVE = {
    **dict.fromkeys(("api_ptr_id", "size", "dstDevice", "srcDevice"), INT),
    **dict.fromkeys(("stream", "width", "height", "dst", "src"), TEXT),
    **dict.fromkeys(("sync", "pinned"), INT),
}


class Calls:
    """The host calls of a recording: their process and name, and which operation each caused."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self.calls = Lookup(recording.whole("rocpd_api", dict.fromkeys(("id", "pid", "apiName_id"), INT)))
        links = recording.whole("rocpd_api_ops", dict.fromkeys(("api_id", "op_id"), INT))
        self.links = Lookup(links, "op_id")
        if self.links.doubled:
            meaning = "operations that several calls are said to have caused: the first counts"
            recording.sink.note("several-causes", meaning, count=self.links.doubled)
        counts = pc.value_counts(links["api_id"].combine_chunks())
        self.caused = Lookup(pa.table({"id": counts.field("values"), "count": counts.field("counts")}))
        self.processes: list[int] = sorted(pc.unique(self.calls.table["pid"]).drop_null().to_pylist())

    def process(self, pids: pa.Array) -> pa.Array:
        """The processes, with the only one there is where none is said; else 0, and counted."""
        if not pids.null_count:
            return pids
        if len(self.processes) != 1:
            meaning = "records of no stated process: counted as process 0"
            self._recording.sink.note("no-process", meaning, count=pids.null_count)
        return pc.fill_null(pids, self.processes[0] if len(self.processes) == 1 else 0)


def read_work(recording: Recording, calls: Calls) -> set[tuple[int, int]]:
    """Writes the operations of the devices; the pairs (process, device) that did something."""
    launches = Lookup(recording.whole("rocpd_kernelapi", LAUNCH), "api_ptr_id")
    moves = Lookup(recording.whole("rocpd_copyapi", MOVE), "api_ptr_id")
    busy: set[tuple[int, int]] = set()
    for batch in recording.batches("rocpd_op", dict.fromkeys(OPERATION, INT)):
        rows = recording.timed("rocpd_op", batch)
        cause = calls.links.take(rows["id"], "api_id")
        columns = {
            "process": calls.process(calls.calls.take(cause, "pid")),
            "device": recording.placed(recording.fitting(rows["gpuId"], "gpuId"), "device"),
            "stream": recording.placed(rows["queueId"], "stream"),
            "start_ns": rows["start"],
            "end_ns": rows["end"],
        }
        busy.update((p, d) for p, d in combinations([columns["process"], columns["device"]])[1])
        types = filled(recording.text(rows["opType_id"]), "").dictionary_encode()
        described = told(recording.text(rows["description_id"]))
        kinds = translated(types, _class)
        for table, write in (("kernel", _kernels), ("copy", _copies), ("fill", _fills), ("range", _others)):
            mask = pc.equal(kinds.dictionary, table).take(kinds.indices)
            shared = where(mask, {**columns, "correlation": cause, "type": types, "described": described})
            if len(shared["process"]):
                write(recording, calls, rows.filter(mask), shared, moves if table == "copy" else launches)
    return busy


def _class(kind: str) -> str:
    if kind == "KernelExecution":
        return "kernel"
    if OTHER_COPY.fullmatch(kind):
        return "copy"
    return "fill" if FILL.fullmatch(kind) else "range"


def _kernels(recording: Recording, calls: Calls, rows: Rows, shared: dict[str, Any], launches: Lookup) -> None:
    cause = shared["correlation"]
    said = {name: launches.take(cause, name) for name in LAUNCH}
    names = recording.text(calls.calls.take(cause, "apiName_id"))
    items = pc.fill_null(pc.match_substring(names.dictionary, IN_ITEMS).take(names.indices), False)
    sizes: dict[str, pa.Array] = {}
    for axis in AXES:
        grid, block = said[f"grid{axis}"], told(said[f"workgroup{axis}"])
        blocks = pc.divide(pc.add(pc.if_else(_small(grid), grid, None), pc.subtract(block, 1)), block)
        sizes[f"grid_{axis.lower()}"] = recording.fitting(pc.if_else(items, blocks, grid), f"grid{axis}")
        sizes[f"block_{axis.lower()}"] = recording.fitting(said[f"workgroup{axis}"], f"workgroup{axis}")
    kept = ("privateSegmentSize", "stream", "codeObject", "kernelArgAddress", "aquireFence", "releaseFence")
    recording.sink.write(
        "kernel",
        {
            **_place(shared),
            **sizes,
            "name": filled(shared["described"], recording.text(said["kernelName_id"])).dictionary_encode(),
            "shared_bytes": said["groupSegmentSize"],
            "args": arguments({**rows.rest, **{name: _said(said[name]) for name in kept}}),
        },
    )


def _copies(recording: Recording, calls: Calls, rows: Rows, shared: dict[str, Any], moves: Lookup) -> None:
    cause = shared["correlation"]
    said = {name: moves.take(cause, name) for name in MOVE if name != "api_ptr_id"}
    alone = pc.equal(calls.caused.take(cause, "count"), 1)
    size = said.pop("size")
    rest = {name: _said(values) for name, values in said.items()}
    recording.sink.write(
        "copy",
        {
            **_place(shared),
            "kind": translated(shared["type"], _direction),
            "bytes": pc.if_else(alone, size, None),
            "args": arguments({**rows.rest, "call_bytes": pc.if_else(alone, None, size), **rest, **_texts(shared)}),
        },
    )


def _fills(recording: Recording, calls: Calls, rows: Rows, shared: dict[str, Any], launches: Lookup) -> None:
    recording.sink.write("fill", {**_place(shared), "args": arguments({**rows.rest, **_texts(shared)})})


def _others(recording: Recording, calls: Calls, rows: Rows, shared: dict[str, Any], launches: Lookup) -> None:
    meaning = (
        "operations that are neither kernels, copies nor fills to the profiler (it calls the work of launched graphs "
        "Task): kept as spans on their queue, so kernels and busy time are too few where they were kernels"
    )
    kinds = sorted(pc.unique(shared["type"]).to_pylist())
    recording.sink.note("unclassified-work", meaning, count=rows.count, example=", ".join(kinds))
    recording.sink.write(
        "range",
        {
            **{name: shared[name] for name in ("process", "device", "stream", "start_ns", "end_ns")},
            "name": filled(shared["described"], shared["type"]),
            "kind": "device_work",
            "domain": shared["type"],
            "args": arguments({**rows.rest, "correlation": shared["correlation"]}),
        },
    )


def _place(shared: dict[str, Any]) -> dict[str, Any]:
    return {name: values for name, values in shared.items() if name not in ("type", "described")}


def _texts(shared: dict[str, Any]) -> dict[str, pa.Array]:
    types = shared["type"]
    plain = pc.match_substring_regex(types.dictionary, r"^Copy(Host|Device)To(Host|Device)$|^FillBuffer$")
    told_types = dictionary(types.indices, pc.if_else(plain, None, types.dictionary))
    return {"description": shared["described"], "type": told_types}


def _said(values: pa.Array) -> pa.Array:
    """The values that say something; the null pointer says that it is the default stream, or nothing."""
    values = told(values)
    if values.type != TEXT or values.null_count == len(values):
        return values
    if is_uniform(values):
        return pa.nulls(len(values), TEXT) if values[0].as_py() == "0x0" else values
    return pc.if_else(pc.equal(values, "0x0"), None, values)


def _small(values: pa.Array) -> pa.Array:
    return pc.and_(pc.greater_equal(values, 0), pc.less(values, 2**31))


def _direction(kind: str) -> str | None:
    found = COPY.fullmatch(kind)
    return f"{found[1][0]}to{found[2][0]}" if found else None
