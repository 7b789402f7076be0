"""What the agent in the program recorded: ranges, modules, phases and steps, operators, and the lives of tensors."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .database_columns import INT, TEXT, fitting
from .lives import lives
from .nsys_columns import arguments, dictionary, filled
from .recording_chunks import Chunks
from .rowwise import Rowwise
from .sink import Sink

__all__ = ["NEEDED", "read_python"]

NEEDED = {
    "range": frozenset({"start", "end", "thread", "name", "kind"}),
    "op": frozenset({"start", "end", "thread", "name", "sequence", "phase", "shapes", "types", "stack"}),
    "tensor": frozenset({"time", "address", "bytes", "device", "event", "thread", "owner", "stack"}),
}
"""The columns that each table must have."""

RANGES = {0: "annotation", 1: "python", 2: "phase", 3: "annotation", 4: "mark"}
"""Kinds of ranges: ranges and steps of the user, modules, phases, marks."""

MODULE = 1
PHASES = {1: "forward", 2: "backward", 3: "optimizer"}
ALLOCATED, RELEASED, NAMED = 0, 1, 2
NONE = 2**32 - 1
"""How the agent writes that there is no name or thread."""

LARGEST = 1 << 62
"""Times and sizes beyond this are damage."""

Ints = npt.NDArray[np.int64]


def read_python(chunks: Chunks, sink: Sink, process: int, shift_ns: int = 0) -> None:
    """Writes what the file of the agent holds into the sink; `shift_ns` takes its times to the clock of the events."""
    _ranges(chunks, sink, process, shift_ns)
    _operators(chunks, sink, process, shift_ns)
    _tensors(chunks, sink, process, shift_ns)
    _allocators(chunks, sink, process, shift_ns)


def _ranges(chunks: Chunks, sink: Sink, process: int, shift_ns: int) -> None:
    for chunk in chunks.read("range"):
        kind = chunk["kind"]
        module = kind == MODULE
        named = chunk["name"] * 2 + module
        texts = {key: _title(chunks.names.get(key // 2), module=bool(key % 2)) for key in np.unique(named).tolist()}
        sink.write(
            "range",
            {
                "process": process,
                "thread": chunk["thread"],
                "start_ns": chunk["start"] + shift_ns,
                "end_ns": chunk["end"] + shift_ns,
                "name": _translated(named, texts),
                "kind": _translated(kind, {number: RANGES.get(number, "other") for number in np.unique(kind).tolist()}),
            },
        )


def _title(name: str | None, *, module: bool) -> str:
    """The name of a range; modules are told as PyTorch's own profiler tells them."""
    return f"nn.Module: {name or ''}" if module else name or ""


def _operators(chunks: Chunks, sink: Sink, process: int, shift_ns: int) -> None:
    for chunk in chunks.read("op"):
        sequence = chunk["sequence"]
        sink.write(
            "op",
            {
                "process": process,
                "thread": chunk["thread"],
                "start_ns": chunk["start"] + shift_ns,
                "end_ns": chunk["end"] + shift_ns,
                "name": filled(_texts(chunks, chunk["name"]), ""),
                "sequence": pa.array(sequence, INT, mask=sequence < 0),
                "phase": _translated(chunk["phase"], PHASES),
                "shapes": _texts(chunks, chunk["shapes"]),
                "types": _texts(chunks, chunk["types"]),
                "args": arguments({"Call stack": _texts(chunks, chunk["stack"])}),
            },
        )


def _tensors(chunks: Chunks, sink: Sink, process: int, shift_ns: int) -> None:
    """Lives of blocks of the framework's allocator, each owned by what was last found to live there."""
    pieces = list(chunks.read("tensor"))
    if not pieces:
        return
    said = {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}
    said["owner"] = _owned(said)
    said = {name: values[said["event"] != NAMED] for name, values in said.items()}
    count, device, thread = len(said["event"]), said["device"], said["thread"]
    if count:
        events = {
            "process": pa.array(np.full(count, process, np.int64)),
            "device": fitting(pa.array(device, INT, mask=device < 0), "device", sink.note),
            "kind": pa.array(["tensor"] * count),
            "address": pa.array(said["address"]),
            "bytes": pa.array(np.abs(said["bytes"])),
            "thread": pa.array(thread, INT, mask=thread == NONE),
            "owner": _texts(chunks, said["owner"]).cast(TEXT),
            "stack": _texts(chunks, said["stack"]).cast(TEXT),
            "time": pa.array(said["time"] + shift_ns),
            "ends": pa.array(said["event"] == RELEASED),
        }
        sink.write("allocation", lives(pa.table(events)))


def _allocators(chunks: Chunks, sink: Sink, process: int, shift_ns: int) -> None:
    """What the framework's allocator said that it holds, as counters."""
    rows = Rowwise(sink)
    for text in chunks.texts:
        if text.get("what") != "allocator":
            continue
        for name in ("allocated", "reserved"):
            said = (text.get(key) for key in ("device", "time", name))
            numbers = [number for number in said if isinstance(number, int) and 0 <= number < LARGEST]
            if len(numbers) == 3:
                row = {
                    "process": process,
                    "device": numbers[0],
                    "time_ns": numbers[1] + shift_ns,
                    "value": float(numbers[2]),
                }
                rows.add("counter", row | {"name": f"memory {name}", "unit": "bytes"})
    rows.finish()


def _owned(said: Mapping[str, Ints]) -> Ints:
    """The owner of each event: of an allocation, what was last named at its address before its release."""
    event, time, address = (said[name] for name in ("event", "time", "address"))
    order = np.lexsort((np.where(event == RELEASED, NAMED + 1, event), time, address))
    event, address, owner = event[order], address[order], said["owner"][order]
    at = np.arange(len(event))
    born, gone = (np.maximum.accumulate(np.where(event == kind, at, -1)) for kind in (ALLOCATED, RELEASED))
    lives_there = (event == NAMED) & (born > gone) & (address[born] == address)
    owner[born[lives_there]] = owner[lives_there]  # in order of time: the last one stays
    back = np.empty_like(owner)
    back[order] = owner
    return back


def _texts(chunks: Chunks, ids: Ints) -> pa.DictionaryArray:
    """The names of their numbers; null for none."""
    numbers = ids
    return _translated(numbers, {id: chunks.names.get(id) for id in np.unique(numbers).tolist()})


def _translated(values: Ints, texts: Mapping[int, str | None]) -> pa.DictionaryArray:
    known, at = np.unique(values, return_inverse=True)
    return dictionary(pa.array(at.astype(np.int32)), pa.array([texts.get(value) for value in known.tolist()], TEXT))
