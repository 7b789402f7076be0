"""What the events of a Perfetto trace mean: kernels, copies and calls of AMD's recorders, spans of everyone else.

The category decides, as rocprofv3 (`hip_api`, `kernel_dispatch`, ...), rocprof-sys (`rocm_hip_api`, ...) and omnitrace
(`rocm_hip`, `device_hip`) name them. Device and queue stand in the event's annotations or in the name of its track;
the stream of a kernel is its queue, a copy belongs to the GPU of its two agents.
"""

import re
from collections import Counter
from typing import Any

from .perfetto import Begin
from .perfetto_tracks import Track
from .rocprof_rows import HOST_COPY, End, copy_place
from .rowwise import Rowwise, as_json

__all__ = ["Slices"]

CALL = re.compile(r"(?:rocm_)?(?P<runtime>hip|cuda)(?:_\w+)?_api|(?:rocm_)?hsa(?:_\w+)?_api|rocm_(?P<old>hip)|rocm_hsa")
KERNEL = re.compile(r"(?:rocm_)?kernel_dispatch")
COPY = re.compile(r"(?:rocm_)?memory_copy")
DEVICE_WORK = "device_hip"
MARKER = re.compile(r"(?:rocm_)?marker_api|roctx|user")
DIRECTION = re.compile(r"(HOST|DEVICE|H|D)_?(?:TO|2)_?(HOST|DEVICE|H|D)", re.IGNORECASE)
COPY_NAME = re.compile(r"Copy(Host|Device)?To(Host|Device)|MEMORY_COPY|Memcpy|CopyBuffer$", re.IGNORECASE)
NUMBER = re.compile(r"\D*(\d{1,6})\D*")

CORRELATIONS = ("corr_id", "correlation_id")
AGENTS = ("agent", "agent_id", "device", "device_id")
SOURCES = ("src_agent", "src_agent_id")
TARGETS = ("dst_agent", "dst_agent_id", *AGENTS)
STREAMS = ("stream_ID", "stream_id", "stream")
QUEUES = ("queue", "queue_id")
SIZES = ("copy_bytes", "bytes", "size")
OWN_TIMES = frozenset({"begin_ns", "end_ns", "delta_ns"})
"""Annotations that repeat the times of the slice."""


class Slices:
    """Writes slices, marks and samples as rows."""

    def __init__(self, rows: Rowwise) -> None:
        self._rows = rows
        self.devices: dict[tuple[int, int], str | None] = {}
        self.unplaced = self.streamless = 0
        self.on_host = 0
        self.unnamed: Counter[str] = Counter()
        """Notes about what has no name, and how often each is due."""
        self.uncategorised, self.recognised = 0, False
        """Slices without a category, and whether any had one of AMD's."""
        self.correlated = self.uncorrelated = 0

    def slice(self, begin: Begin, end_ns: int, track: Track, process: int) -> None:
        """A slice that has ended."""
        args = {name: value for name, value in begin.args.items() if name not in OWN_TIMES}
        row: dict[str, Any] = {"process": process, "start_ns": begin.start_ns, "end_ns": end_ns}
        category = begin.categories[0] if begin.categories else ""
        call = CALL.fullmatch(category)
        self.uncategorised += not category
        if call:
            self.recognised = True
            row |= {"kind": "runtime" if call["runtime"] or call["old"] else "driver"}
            self._call(row, begin, args, track)
        elif KERNEL.fullmatch(category) or COPY.fullmatch(category) or category == DEVICE_WORK:
            self.recognised = True
            named_copy = category == DEVICE_WORK and COPY_NAME.search(begin.name or "")
            self._work(row, begin, args, track, copy=bool(COPY.fullmatch(category) or named_copy))
        else:
            self._span(row, begin, args, track)

    def mark(self, begin: Begin, track: Track, process: int) -> None:
        """An event without a duration."""
        row = {"process": process, "start_ns": begin.start_ns, "end_ns": begin.start_ns, "kind": "mark"}
        self._span(row, begin, dict(begin.args), track)

    def sample(self, time_ns: int, value: float, track: Track, process: int) -> None:
        """A value of a counter."""
        row = {"process": process, "device": track.device, "name": track.name, "time_ns": time_ns}
        self._rows.add("counter", row | {"value": value, "unit": track.unit})

    def stage(self, event: dict[str, Any], time_ns: int, process: int) -> None:
        """A stage of a GPU's pipeline: a span on that GPU, since it does not say that it is a kernel."""
        row = {"process": process, "device": event.pop("gpu_id", 0), "start_ns": time_ns, "kind": "gpu_stage"}
        row |= {"end_ns": time_ns + event.pop("duration", 0), "name": event.pop("name", None)}
        self._rows.add("range", row | {"id": event.pop("event_id", None), "args": as_json(event)})

    def _call(self, row: dict[str, Any], begin: Begin, args: dict[str, Any], track: Track) -> None:
        self.unnamed["unnamed-call"] += begin.name is None
        row |= {"name": begin.name, "thread": _thread(args, track), "correlation": self._correlation(args)}
        self._rows.add("api", row | {"args": as_json(args)})

    def _work(self, row: dict[str, Any], begin: Begin, args: dict[str, Any], track: Track, *, copy: bool) -> None:
        if copy:
            self._copy(row, begin, args, track)
            return
        device = _place(args, AGENTS)
        row |= self._placed(row, args, track, track.agent if device is None else device)
        self.unnamed["unnamed-kernel"] += begin.name is None
        row |= {"name": begin.name, "registers": _take(args, ("VGPR_Count",))}
        row |= {"shared_bytes": _take(args, ("LDS_Block_Size",))}
        self._rows.add("kernel", row | {"args": as_json(args)})

    def _copy(self, row: dict[str, Any], begin: Begin, args: dict[str, Any], track: Track) -> None:
        kind, target = _direction(begin.name or ""), _place(args, TARGETS)
        ends = End(_place(args, SOURCES)), End(track.agent if target is None else target)
        device, peer = copy_place(kind, *ends)
        args["name"] = begin.name
        if kind == "HtoH":
            self.on_host += 1
            row |= {"kind": HOST_COPY, "name": kind, "args": as_json(args)}
            self._rows.add("range", row)
            return
        self.unnamed["no-direction"] += kind is None
        row |= self._placed(row, args, track, device)
        row |= {"kind": kind, "bytes": _take(args, SIZES), "peer_device": peer}
        self._rows.add("copy", row | {"args": as_json(args)})

    def _placed(self, row: dict[str, Any], args: dict[str, Any], track: Track, device: int | None) -> dict[str, Any]:
        self.unplaced += device is None
        device = device or 0
        self.devices.setdefault((row["process"], device), _agent_kind(args))
        stream = _take(args, QUEUES + STREAMS)
        stream = track.lane if stream is None else stream
        self.streamless += stream is None
        stream = 0 if stream is None else stream
        return {"device": device, "stream": stream, "correlation": self._correlation(args)}

    def _correlation(self, args: dict[str, Any]) -> int | None:
        number = _take(args, CORRELATIONS)
        self.correlated += number is not None
        self.uncorrelated += number is None
        return number

    def _span(self, row: dict[str, Any], begin: Begin, args: dict[str, Any], track: Track) -> None:
        marker = any(MARKER.fullmatch(c) for c in begin.categories)
        row = {"kind": "annotation" if marker else "slice"} | row
        if track.device is not None:
            row |= {"device": track.device}
        if track.thread is None and track.name:
            args.setdefault("track", track.name)
        row |= {"name": begin.name, "domain": ", ".join(begin.categories) or None}
        self._rows.add("range", row | {"thread": _thread(args, track), "args": as_json(args)})


def _thread(args: dict[str, Any], track: Track) -> int | None:
    return args.pop("tid") if type(args.get("tid")) is int else track.thread


def _take(args: dict[str, Any], names: tuple[str, ...]) -> int | None:
    """The first of those arguments that is a number, taken out."""
    for name in names:
        if type(args.get(name)) is int:  # a truth value is none
            return args.pop(name)
    return None


def _place(args: dict[str, Any], names: tuple[str, ...]) -> int | None:
    """The device that an argument tells as a number or in words with one number."""
    for name in names:
        value = args.get(name)
        if type(value) is int:
            return value
        found = NUMBER.fullmatch(value) if isinstance(value, str) else None
        if found:
            return int(found[1])
    return None


def _agent_kind(args: dict[str, Any]) -> str | None:
    agent = args.get("agent")
    return agent if isinstance(agent, str) else None


def _direction(name: str) -> str | None:
    found = DIRECTION.search(name)
    return f"{found[1][0].upper()}to{found[2][0].upper()}" if found else None
