"""What an XSpace's events mean: device work on the streams, calls on the threads, spans everywhere else.

An event on a stream is a kernel, a copy or a fill by the details the profiler gave it, then by its name. A host event
with a correlation id is a call. Lines of a device that are no streams (steps, modules, operators) are drawn from the
work on the streams: they are spans, so that no time counts twice.
"""

import json
import re
from typing import Any

from .rowwise import Rowwise, as_json
from .xplane import Event, Line, Plane

__all__ = ["PROCESS", "DeviceWork", "HostWork"]

PROCESS = 0
"""The one process of the file, which does not say its id."""

STREAM = re.compile(r"Stream #(-?\d{1,18})\b")
SIDES = {"H": "H", "HOST": "H", "D": "D", "DEVICE": "D", "P": "P", "PEER": "P", "A": "A", "ARRAY": "A"}
COPY = re.compile(
    r"Mem(?:ory)?[Cc]py(?P<a>[HDPA])(?:2|to|To)(?P<b>[HDPA])|Copy(?P<c>Host|Device|Peer|Array)To(?P<d>Host|Device|Peer|Array)"
)
COPY_NAME = re.compile(r"mem(ory)?cpy|Copy(Host|Device|Peer|Array)To", re.IGNORECASE)
FILL_NAME = re.compile(r"mem(ory)?set(?![a-z])|FillBuffer$", re.IGNORECASE)
PAIR = re.compile(r"(\w+):(\S+)")
NUMBERS = re.compile(r"-?\d{1,18}(?:,-?\d{1,18})*")
MOST_REGISTERS = 1 << 16
"""More registers than a multiprocessor has: what the recorder wrote there is no kernel's."""
DETAILS = ("kernel_details", "memcpy_details", "memset_details")
CALL = re.compile(r"(?P<driver>cu[A-Z])|cuda[A-Z]|hip[A-Z]|hsa_")
OPERATOR = re.compile(r"[\w.][\w./>-]*:_?[A-Z]\w*")
INPUTS = re.compile(r"\((\w+\[(?:\d{1,18},?)*\](?:;\w+\[(?:\d{1,18},?)*\])*)\)", re.ASCII)
MEMORIES = frozenset({"pageable", "pinned", "device", "managed", "array"})
LAUNCH = "kernel launch"
"""A launch that its recorder named after the kernel: which function it was is not known."""


class DeviceWork:
    """Writes the planes of devices."""

    def __init__(self, rows: Rowwise) -> None:
        self._rows = rows
        self.unknown = self.unsized = self.undirected = 0

    def write(self, plane: Plane, device: int | None, *, streams: bool) -> None:
        """Writes the lines of a plane; where it has no streams, or no number, all are spans."""
        for line in plane.lines():
            stream = STREAM.match(line.name) if streams else None
            if stream is None or device is None:
                for event in plane.events(line):
                    self._span(event, line, device)
                continue
            number = int(stream[1])
            self._rows.add("track", {"process": PROCESS, "track": number, "name": line.name, "kind": "stream"})
            for event in plane.events(line):
                self._work(event, line, device, number)

    def _work(self, event: Event, line: Line, device: int, stream: int) -> None:
        kind = _kind(event)
        if kind == "span":
            self._span(event, line, device, stream)
            return
        if event.start_ns is None or kind is None:
            self.unknown += 1
            self._rows.add("other", _unread(event, "stream event"))
            return
        stats = event.stats
        row: dict[str, Any] = {"process": PROCESS, "device": device, "stream": stream}
        row |= {"start_ns": event.start_ns, "end_ns": event.end_ns}
        row |= {"correlation": _take_int(stats, "correlation_id"), "graph": _take_int(stats, "cuda_graph_id")}
        context = stats.get("context_id")
        if isinstance(context, int) or (isinstance(context, str) and re.fullmatch(r"\$\$\d{1,18}", context)):
            row["context"] = int(str(stats.pop("context_id")).removeprefix("$$"))
        details = dict(PAIR.findall(str(stats.get(f"{kind}_details", ""))))
        fill_in = {"kernel": _kernel, "memcpy": _copy, "memset": _fill}[kind]
        row |= fill_in(event, details)
        self.unsized += kind != "kernel" and row["bytes"] is None
        self.undirected += kind == "memcpy" and row["kind"] is None
        self._rows.add({"kernel": "kernel", "memcpy": "copy", "memset": "fill"}[kind], row | {"args": _args(event)})

    def _span(self, event: Event, line: Line, device: int | None, stream: int | None = None) -> None:
        if event.start_ns is None:
            self._rows.add("other", _unread(event, line.name))
            return
        row = {"process": PROCESS, "device": device, "stream": stream}
        row |= {
            "start_ns": event.start_ns,
            "end_ns": event.end_ns,
            "name": event.name,
            "kind": "device_annotation",
            "domain": line.name or None,
            "args": _args(event),
        }
        self._rows.add("range", row)


class HostWork:
    """Writes the planes of hosts."""

    def __init__(self, rows: Rowwise) -> None:
        self._rows = rows

    def write(self, plane: Plane) -> None:
        """Writes the threads of a plane: calls, operators, spans."""
        for line in plane.lines():
            if line.name:
                self._rows.add("track", {"process": PROCESS, "track": line.id, "name": line.name, "kind": "thread"})
            for event in plane.events(line):
                self._event(event, line)

    def _event(self, event: Event, line: Line) -> None:
        if event.start_ns is None:
            self._rows.add("other", _unread(event, line.name))
            return
        name = event.name or ""
        row: dict[str, Any] = {"process": PROCESS, "thread": line.id}
        row |= {"start_ns": event.start_ns, "end_ns": event.end_ns, "name": event.name}
        call = CALL.match(name)
        if call or "correlation_id" in event.stats:
            row["correlation"] = _take_int(event.stats, "correlation_id")
            if call is None and _kind(event) == "kernel":
                row["name"] = LAUNCH
                event.stats["kernel"] = event.name
            kind = "driver" if call and call["driver"] else "runtime"
            self._rows.add("api", row | {"kind": kind, "args": _args(event)})
        elif OPERATOR.fullmatch(name):
            self._rows.add("op", row | _shapes(event.stats) | {"args": _args(event)})
        else:
            kind = "python" if name.startswith("$") else "annotation"
            self._rows.add("range", row | {"kind": kind, "args": _args(event)})


def _shapes(stats: dict[str, Any]) -> dict[str, str]:
    """Shapes and types of an operator's inputs, from `(float[16,64];int32[])`; nothing, where it reads otherwise."""
    text = stats.get("shape")
    inputs = INPUTS.fullmatch(text) if isinstance(text, str) else None
    if inputs is None:
        return {}
    found = [part.partition("[") for part in inputs[1].split(";")]
    shapes = [[int(size) for size in sizes[:-1].split(",") if size] for _, _, sizes in found]
    del stats["shape"]
    return {"shapes": json.dumps(shapes), "types": json.dumps([kind for kind, _, _ in found])}


def _kind(event: Event) -> str | None:
    """Which work it is: kernel, memcpy, memset, or span (a whole graph, memory); None where nothing says."""
    for details in DETAILS:
        if details in event.stats:
            return details.removesuffix("_details")
    if any(name.endswith("_details") for name in event.stats):
        return "span"
    if event.name is None:
        return None
    if COPY_NAME.match(event.name):
        return "memcpy"
    return "memset" if FILL_NAME.match(event.name) else "kernel"


def _kernel(event: Event, details: dict[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {"name": event.name or event.display}
    for what in ("grid", "block"):
        sizes = _numbers(details.get(what))
        if len(sizes) == 3:
            found |= {f"{what}_{axis}": size for axis, size in zip("xyz", sizes, strict=True)}
    registers = _number(details.get("regs"))
    if registers is not None and not 0 <= registers < MOST_REGISTERS:
        return found
    shared = [_number(details.get(n)) for n in ("shm", "static_shared", "dynamic_shared", "group_mem")]
    known = [size for size in shared if size is not None]
    return found | {"registers": registers, "shared_bytes": sum(known) if known else None}


def _copy(event: Event, details: dict[str, str]) -> dict[str, Any]:
    sides = COPY.match(event.name or "")
    kind = None
    if sides:
        source, target = (sides["a"] or sides["c"]).upper(), (sides["b"] or sides["d"]).upper()
        kind = f"{SIDES[source]}to{SIDES[target]}"
    return {
        "kind": kind,
        "bytes": _number(details.get("size") or details.get("num_bytes")),
        "source_memory": _memory(details.get("kind_src")),
        "target_memory": _memory(details.get("kind_dst")),
        "peer_device": _number(details.get("dest")) if kind == "PtoP" else None,
    }


def _fill(event: Event, details: dict[str, str]) -> dict[str, Any]:
    size = details.get("num_bytes") or details.get("size")
    return {"bytes": _number(size), "memory": _memory(details.get("kind"))}


def _memory(name: str | None) -> str | None:
    return name if name in MEMORIES else None


def _args(event: Event) -> str | None:
    if event.display:
        event.stats["display_name"] = event.display
    return as_json(event.stats)


def _unread(event: Event, line: str) -> dict[str, Any]:
    times = {"start_ns": event.start_ns, "end_ns": event.end_ns}
    record = {"name": event.name, "line": line, **{k: v for k, v in times.items() if v is not None}, **event.stats}
    return {"process": PROCESS, "time_ns": event.start_ns, "kind": "xplane event", "json": as_json(record)}


def _take_int(stats: dict[str, Any], name: str) -> int | None:
    value = stats.get(name)
    return stats.pop(name) if isinstance(value, int) else None


def _number(text: str | None) -> int | None:
    numbers = _numbers(text)
    return numbers[0] if len(numbers) == 1 else None


def _numbers(text: str | None) -> list[int]:
    return [int(n) for n in text.split(",")] if text and NUMBERS.fullmatch(text) else []
