"""PyTorch memory snapshots (`torch.cuda.memory._dump_snapshot`): the allocator's history and its state at the end.

A snapshot is a pickle. It is read through an unpickler that refuses every global, so nothing in it can run: plain
containers, numbers and text are all that a snapshot holds.
"""

import io
import json
import pickle
import re
from collections.abc import Iterator
from typing import Any, NoReturn

from ...store.errors import UnreadableFile
from ...store.trace import Facts
from ..files import TraceFile
from ..packing import MOST_RATIO, RATIO_FROM
from ..pickle_memo import first_impossible
from ..rowwise import Rowwise
from ..sink import Sink

__all__ = ["VERSION", "read", "recognises"]

VERSION = 3

BEGINNING = re.compile(rb"\x80[\x02-\x05].{0,32}?(segments|device_traces)", re.DOTALL)
PAIRED = {"alloc": "tensor", "segment_alloc": "pool", "segment_map": "pool"}
ENDING = {"free_completed": "tensor", "segment_free": "pool", "segment_unmap": "pool"}
MOST_FRAMES, LONGEST, MOST_PARTS = 1_000, 10_000, 1_000_000
"""Of a stack, a word in characters, a value written as JSON: a pickle can name one object as often as it likes."""

KEPT = ("stream", "compile_context", "user_metadata", "pool_id")


def recognises(file: TraceFile) -> bool:
    """Whether the content is a pickled dictionary that begins with a snapshot's keys."""
    return BEGINNING.match(file.head) is not None


def read(file: TraceFile, sink: Sink) -> Facts:
    """Hands every block's life to the sink; `UnreadableFile` for what is no snapshot or asks to run code."""
    content = b"".join(file.blocks())
    snapshot, end = _load(file, content)
    if end < len(content):
        example = f"{len(content) - end} bytes from byte {end} on"
        sink.note("after-end", "content behind the end of the snapshot: not read", example=example)
    segments, traces = snapshot.get("segments"), snapshot.get("device_traces", [])
    if not isinstance(segments, list) or not isinstance(traces, list):
        raise UnreadableFile(f"{file.path}: a pickle, but no memory snapshot", "give what _dump_snapshot wrote")
    lives = _Lives(sink)
    if "device_traces" not in snapshot:
        sink.note("no-history", "the snapshot has no history: births and releases are not known")
    for device, events in enumerate(traces):
        if not isinstance(events, list):
            sink.note("no-history", "histories of devices that are no lists: not read", example=_json(events)[:200])
            continue
        for event in events:
            lives.event(device, event)
    lives.state(segments)
    room = _Room(file, len(content))
    lives.write(room)
    labels: dict[str, str] = {}
    for key, value in snapshot.items():
        if key not in ("segments", "device_traces"):
            labels[_word(key)] = _json(value)
            room.take(labels[_word(key)])
    return Facts(
        "memory_snapshot", producer="PyTorch memory snapshot", framework="PyTorch", clock="unix", labels=labels
    )


class _Room:
    """For texts: a pickle that names one object often can ask for any number of them, each within its bounds."""

    def __init__(self, file: TraceFile, content_bytes: int) -> None:
        self._path, self._left = file.path, max(RATIO_FROM, MOST_RATIO * content_bytes)

    def take(self, *values: Any) -> None:
        """Counts the texts among the values; `UnreadableFile` where all so far are beyond all measure."""
        self._left -= sum(len(value) for value in values if isinstance(value, str))
        if self._left < 0:
            fault = f"{self._path}: grows more than {MOST_RATIO} times when written out"
            raise UnreadableFile(fault, "is it a memory snapshot?")


class _Refusing(pickle.Unpickler):
    """Loads plain data only."""

    def find_class(self, module_name: str, global_name: str, /) -> NoReturn:
        """Refuses: a snapshot names no class and no function."""
        raise pickle.UnpicklingError(f"it names {module_name}.{global_name}, which a snapshot never does")

    def persistent_load(self, pid: Any, /) -> NoReturn:
        """Refuses: a snapshot refers to nothing outside itself."""
        raise pickle.UnpicklingError("it refers to an object outside itself")


def _load(file: TraceFile, content: bytes) -> tuple[dict[str, Any], int]:
    """The snapshot, and the byte at which it ends."""
    if (at := first_impossible(content)) >= 0:
        raise UnreadableFile(
            f"{file.path}: not a whole memory snapshot: byte {at} asks for more memory than it can need",
            "copy it again, or dump it again",
        )
    try:
        stream = io.BytesIO(content)
        snapshot = _Refusing(stream).load()
    except RecursionError as error:
        raise UnreadableFile(f"{file.path}: a pickle nested too deeply", "is it a memory snapshot?") from error
    except (pickle.UnpicklingError, EOFError, MemoryError, ValueError, TypeError, IndexError, KeyError) as error:
        raise _unreadable(file, error) from error
    except (AttributeError, OverflowError, UnicodeError, SystemError) as error:
        raise _unreadable(file, error) from error
    if not isinstance(snapshot, dict):
        raise UnreadableFile(f"{file.path}: a pickle, but no memory snapshot", "give what _dump_snapshot wrote")
    return snapshot, stream.tell()


def _unreadable(file: TraceFile, error: Exception) -> UnreadableFile:
    return UnreadableFile(f"{file.path}: not a whole memory snapshot: {error}", "copy it again, or dump it again")


class _Lives:
    """Blocks and segments from birth to death, by device and address."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._alive: dict[tuple[str, int, int], dict[str, Any]] = {}
        self._rows: list[dict[str, Any]] = []
        self._others: list[dict[str, Any]] = []

    def event(self, device: int, event: Any) -> None:
        """One entry of a device's history, in order of time."""
        told = event.get("action") if isinstance(event, dict) else None
        action = told if isinstance(told, str) else None
        kind = PAIRED.get(action or "") or ENDING.get(action or "")
        address, size = (event.get("addr"), event.get("size")) if kind else (None, None)
        if kind is None or not isinstance(address, int) or not isinstance(size, int):
            if action != "free_requested":  # its end is told by free_completed
                self._others.append({"time_ns": _nanoseconds(event), "kind": _word(action), "json": event})
            if kind or action is None:
                self._bad(event)
            return
        key = (kind, device, address)
        time = _nanoseconds(event)
        if time is None and event.get("time_us") is not None:
            self._sink.note("out-of-range", "times that cannot be: read as null", example=_word(event["time_us"])[:40])
        elif time is None:
            meaning = "entries of the history without a time: when is not known"
            self._sink.note("untimed-entry", meaning, example=hex(address)[:40])
        if action in PAIRED:
            if key in self._alive:
                self._sink.note(
                    "unfreed-block",
                    "allocated again without a release in between: the first has no end",
                    example=hex(address)[:40],
                )
            self._alive[key] = self._row(kind, device, address, size, event) | {"birth_ns": time}
            self._rows.append(self._alive[key])
            return
        born = self._alive.pop(key, None)
        if born is None:
            born = self._row(kind, device, address, size, event)
            self._rows.append(born)
        born["death_ns"] = time

    def state(self, segments: list[Any]) -> None:
        """What lives at the end: blocks in use and segments that the history does not tell of are older than it."""
        for segment in segments:
            blocks = segment.get("blocks") if isinstance(segment, dict) else None
            if not isinstance(segment, dict) or not isinstance(blocks, list):
                self._bad(segment)
                self._others.append({"time_ns": None, "kind": "segment", "json": segment})
            if not isinstance(segment, dict):
                continue
            device, address = segment.get("device"), segment.get("address")
            self._still("pool", device, address, segment.get("total_size"), segment)
            for block in blocks if isinstance(blocks, list) else []:
                address = self._block(device, address, block, segment)

    def _block(self, device: Any, address: Any, block: Any, segment: dict[str, Any]) -> int | None:
        """One block of a segment, which begins where the one before ended if it does not say; where it ends."""
        if not isinstance(block, dict) or not isinstance(block.get("state"), str):
            self._bad(block)
            self._others.append({"time_ns": None, "kind": "block", "json": block})
            return None
        at, size = block.get("address", address), block.get("size")
        if block["state"] == "active_allocated":
            asked = block.get("requested_size")
            told = isinstance(asked, int)
            if not told and ("tensor", device, at) not in self._alive:
                meaning = "blocks that only the state at the end tells of, without the size that was asked for: rounded"
                self._sink.note("rounded-size", meaning, example=_word(at)[:40])
            source = block | {"stream": segment.get("stream")}
            self._still("tensor", device, at, asked if told else size, source, takes=size)
        return at + size if isinstance(at, int) and isinstance(size, int) else None

    def _bad(self, entry: Any) -> None:
        meaning = "entries without what each of them has (an action, an address, a size, a state, blocks): in `other`"
        self._sink.note("bad-entry", meaning, example=_json(entry)[:200])

    def write(self, room: _Room) -> None:
        """Hands all rows over; a pickle's numbers may be of any size."""
        rows = Rowwise(self._sink)
        for table, row in self._told():
            room.take(*row.values())
            rows.add(table, {"process": 0, **row})
        rows.finish()

    def _told(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """The rows with their values as text, each made when it is asked for."""
        for row in self._rows:
            stack, args = "\n".join(_frames(row["stack"])), row["args"]
            yield "allocation", row | {"stack": stack or None, "args": _json(args) if args else None}
        for row in self._others:
            yield "other", row | {"json": _json(row["json"])}

    def _still(
        self, kind: str, device: Any, address: Any, size: Any, source: dict[str, Any], *, takes: Any = None
    ) -> None:
        """What the state tells of, by the size that was asked for: that which the history knows; `takes` if more."""
        if not (isinstance(device, int) and isinstance(address, int) and isinstance(size, int)):
            self._sink.note("no-place", "blocks of the state at the end without an address or a size: kept in `other`")
            self._others.append({"time_ns": None, "kind": kind, "json": source})
            return
        told = self._alive.get((kind, device, address))
        if told is None:
            told = self._row(kind, device, address, size, source)
            self._rows.append(told)
        takes = size if takes is None else takes
        if told["bytes"] != takes:
            told["args"]["block_size"] = takes

    def _row(self, kind: str, device: int, address: int, size: int, source: dict[str, Any]) -> dict[str, Any]:
        kept = {name: source[name] for name in KEPT if source.get(name) not in (None, "")}
        return {
            "device": device,
            "kind": kind,
            "address": address,
            "bytes": size,
            "birth_ns": None,
            "death_ns": None,
            "stack": source.get("frames"),
            "args": kept,
        }


def _frames(frames: Any) -> Iterator[str]:
    for frame in frames[:MOST_FRAMES] if isinstance(frames, list) else []:
        if isinstance(frame, dict):
            name, file, line = (_word(frame.get(what)) for what in ("name", "filename", "line"))
            yield f"{name} {file}:{line}"


def _nanoseconds(event: Any) -> int | None:
    time = event.get("time_us") if isinstance(event, dict) else None
    return time * 1000 if isinstance(time, int) and abs(time) < 1 << 52 else None


def _json(value: Any) -> str:
    """The value as JSON; words instead of one that has no end or could fill the memory, being the same many times."""
    try:
        return json.dumps(value, default=_word, ensure_ascii=True) if _is_small(value) else '"too much to write"'
    except (TypeError, ValueError, RecursionError):  # keys that are no text, numbers of thousands of digits, circles
        return '"not to be written as JSON"'


def _is_small(value: Any) -> bool:
    """Whether it has less than a million parts and characters, each counted as often as it is there."""
    left, parts = [value], 0
    while left and parts < MOST_PARTS:
        one = left.pop()
        inside = [*one.keys(), *one.values()] if isinstance(one, dict) else one if isinstance(one, list | tuple) else []
        parts += 1 + len(inside) + (len(one) if isinstance(one, str) else 0)
        if parts < MOST_PARTS:
            left += inside
    return parts < MOST_PARTS


def _word(value: Any) -> str:
    """A text, or a number that is not too long, as text; of all else what it is."""
    if isinstance(value, str):
        return value[:LONGEST]
    small = value is None or isinstance(value, float) or (isinstance(value, int) and value.bit_length() < 256)
    return str(value) if small else f"a {type(value).__name__}"
