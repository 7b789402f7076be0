"""Chrome JSON that rpd2tracing makes of an RPD file of rocmProfileData (AMD).

Calls and markers of the host, kernels, copies and fills of the devices, counters; times are whole microseconds. An RPD
file keeps a marker as one of the calls: it is a row of `api` here too, of kind `marker`, and a range as well; the
profiler's own work is of kind `profiler`. The file links calls to device work only by arrows, so no call is named as
the cause of a kernel.
"""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...store.trace import Facts
from ..chrome_heads import INSTANT, METADATA, NOWHERE, SPAN, Flags, Heads
from ..files import TraceFile
from ..rocprof_elements import Timeline
from ..rocprof_rows import Rows, arguments, copy_kind, integer, nanoseconds, text
from ..rpd_work import OWN_WORK
from ..sink import Sink

__all__ = ["VERSION", "read", "recognises"]

VERSION = 3

BEGINNING = re.compile(rb'\s*(\{\s*"traceEvents"\s*:\s*)?\[\s*\{\s*\}\s*(,|\])')
OWN = re.compile(
    rb'"name"\s*:\s*"(process|thread)_sort_index"\s*,\s*"ph"\s*:\s*"M"\s*,\s*"pid"\s*:\s*"'
    rb'|"ph"\s*:\s*"X"\s*,\s*"args"\s*:\s*\{\s*"desc"\s*:'
)
LANE = re.compile(r"GPU(-?\d+)")
KERNEL, FILL = "KernelExecution", "FillBuffer"
FRAME = "UserMarker frame"
GLOBAL_COUNTER = "Allocated Memory"
USED = frozenset({"pid", "tid", "name", "ph", "ts", "dur", "args"})


def recognises(file: TraceFile) -> bool:
    """Whether it is a list whose first element is empty, followed by lanes or events as rpd2tracing writes them."""
    return BEGINNING.match(file.head) is not None and OWN.search(file.head) is not None


def read(file: TraceFile, sink: Sink) -> Facts:
    """Hands every event to the sink and returns the facts; `UnreadableFile` for damage before the first event."""
    rows = Rows(sink)
    _Reading(rows, Timeline(file, rows)).read()
    rows.close()
    return Facts(format="rpd_json", producer="rocmProfileData rpd2tracing")


class _Reading:
    """One file on its way to the sink."""

    def __init__(self, rows: Rows, timeline: Timeline) -> None:
        self._rows, self._timeline = rows, timeline
        self._devices: set[int] = set()
        self._used: set[int] = set()
        self._on_device = 0

    def read(self) -> None:
        """Writes all events: those of the host first, since they name the process."""
        self._find_devices()
        for event in self._timeline.events(self._of_host):
            if event.get("ph") in ("X", "i") and self._lane(event) not in self._devices:
                self._call(event)
        self._process = self._rows.only_process()
        known = len(self._rows.processes) == 1
        for event in self._timeline.events(self._of_device):
            if event.get("ph") == "X" and self._lane(event) in self._devices:
                self._on_device += 1
                self._work(event)
        for event in self._timeline.events(lambda heads: heads.phase != SPAN):
            self._other(event)
        if self._on_device and not known:
            meaning = "device work of a file with several processes, or none: counted as process 0"
            self._rows.sink.note("no-process", meaning, count=self._on_device)
        for device in sorted(self._used):
            self._rows.describe("device", process=self._process, device=device, vendor="amd")

    def _find_devices(self) -> None:
        """A lane is a device's by its name, or since kernels or fills are in it."""
        for event in self._timeline.events(self._tells_device):
            said, lane = event.get("args"), self._lane(event)
            names = event.get("ph") == "M" and event.get("name") == "process_name"
            named = names and isinstance(said, dict) and LANE.fullmatch(str(said.get("name")))
            if named and lane is not None:
                self._devices.add(lane)
            if _description(event) in (KERNEL, FILL):
                self._devices.add(lane or 0)

    def _tells_device(self, heads: Heads) -> Flags:
        works = heads.holding(b'"KernelExecution"') | heads.holding(b'"FillBuffer"')
        lanes = np.where(heads.lane == NOWHERE, 0, heads.lane)
        return (heads.phase == METADATA) | (works & ~np.isin(lanes, self._known()))

    def _of_host(self, heads: Heads) -> Flags:
        return (heads.phase == INSTANT) | ((heads.phase == SPAN) & ~np.isin(heads.lane, self._known()))

    def _of_device(self, heads: Heads) -> Flags:
        return (heads.phase == SPAN) & np.isin(heads.lane, self._known())

    def _known(self) -> list[int]:
        """The devices that `Heads` can tell: their numbers have at most 18 digits."""
        return [device for device in self._devices if abs(device) < 10**18]

    def _other(self, event: Mapping[str, Any]) -> None:
        """Writes what is no span."""
        phase = event.get("ph")
        there = self._lane(event) in self._devices
        self._on_device += there and phase not in ("X", "M")
        if phase == "M":
            self._name(event)
        elif phase == "C":
            self._counter(event)
        elif phase in ("s", "t", "f"):
            self._flow(event)
        elif phase not in ("X", "i") or (phase == "i" and there):
            meaning = "events of a kind that is not known: kept in `other`"
            self._rows.sink.note("unknown-event", meaning, example=f"ph {phase}"[:120])
            self._rows.other(str(phase), event, nanoseconds(event.get("ts")))

    @staticmethod
    def _lane(event: Mapping[str, Any]) -> int | None:
        return integer(event.get("pid"))

    def _call(self, event: Mapping[str, Any]) -> None:
        name, description = text(event.get("name")), _description(event)
        marker = event.get("ph") == "i" or (description is not None and description == name)
        shared = {"process": self._lane(event), "thread": integer(event.get("tid")), **_times(event), "name": name}
        said = None if marker else description
        kind = "marker" if marker else "profiler" if OWN_WORK.fullmatch(name or "") else "runtime"
        kind = "driver" if (name or "").startswith("hsa_") else kind
        if event.get("ph") == "X":
            self._rows.add("api", event, **shared, kind=kind, args=arguments({"desc": said, **_rest(event)}))
        if marker:
            kind = "mark" if event.get("ph") == "i" else "annotation"
            self._rows.add("range", event, **shared, kind=kind, domain="UserMarker", args=arguments(_rest(event)))

    def _work(self, event: Mapping[str, Any]) -> None:
        name, description = text(event.get("name")), _description(event)
        if description is None:
            meaning = "device work that does not say what it is: kept as a range"
            self._rows.sink.note("undescribed-work", meaning, example=name)
            description = ""
        device = self._lane(event)
        shared = {"process": self._process, "device": device, "stream": integer(event.get("tid")), **_times(event)}
        if device is not None and abs(device) < 2**31:
            self._used.add(device)
        if description == KERNEL:
            self._rows.add("kernel", event, **shared, name=name, args=arguments(_rest(event)))
        elif kind := copy_kind(description):
            said = {"name": None if name == description else name, **_rest(event)}
            self._rows.add("copy", event, **shared, kind=kind, args=arguments(said))
        elif description == FILL:
            self._rows.add("fill", event, **shared, args=arguments(_rest(event)))
        else:  # a marker drawn over the device work it covers, or an operation of the runtime that is no work (Task)
            kind = "device_annotation" if description.startswith(FRAME) else "operation"
            said = {"desc": description, **_rest(event)}
            self._rows.add("range", event, **shared, name=name, kind=kind, args=arguments(said))

    def _counter(self, event: Mapping[str, Any]) -> None:
        name, values = text(event.get("name")), event.get("args")
        lane = self._lane(event)
        device = None if name == GLOBAL_COUNTER or lane is None or abs(lane) >= 2**31 else lane
        if not isinstance(values, dict) or not values:
            self._rows.other("C", event, nanoseconds(event.get("ts")))
            return
        for key, value in values.items():
            self._rows.add(
                "counter",
                event,
                process=self._process,
                device=device,
                name=name if len(values) == 1 else f"{name}.{key}",
                time_ns=nanoseconds(event.get("ts")),
                value=_fraction(value),
                unit="bytes" if name == GLOBAL_COUNTER else None,
            )

    def _flow(self, event: Mapping[str, Any]) -> None:
        lane = self._lane(event)
        on_device = lane in self._devices
        self._rows.add(
            "flow",
            event,
            process=self._process if on_device else lane,
            track=integer(event.get("tid")),
            time_ns=nanoseconds(event.get("ts")),
            kind=text(event.get("cat")) or "flow",
            id=integer(event.get("id")),
            phase=event.get("ph"),
            args=arguments({"device": str(lane) if on_device else None, "bp": event.get("bp")}),
        )

    def _name(self, event: Mapping[str, Any]) -> None:
        said, kind, lane = event.get("args"), event.get("name"), self._lane(event)
        if kind == "thread_name" and lane is not None and isinstance(said, dict):
            self._rows.add(
                "track",
                event,
                process=lane,
                track=integer(event.get("tid")),
                name=text(said.get("name")),
                kind="thread",
            )
        elif kind == "process_name" and not (isinstance(said, dict) and text(said.get("name"))):
            self._rows.tell("damaged-track", (arguments(event) or "")[:120])
        elif kind not in ("process_name", "process_sort_index", "thread_sort_index"):
            self._rows.other("M", event)


def _description(event: Mapping[str, Any]) -> str | None:
    said = event.get("args")
    return text(said.get("desc")) if isinstance(said, dict) else None


def _rest(event: Mapping[str, Any]) -> dict[str, Any]:
    """What rpd2tracing does not write, in case another tool added to the file."""
    said = event.get("args")
    more = {k: v for k, v in said.items() if k != "desc"} if isinstance(said, dict) else {"args": said}
    return {k: v for k, v in event.items() if k not in USED and (k, v) != ("s", "p")} | more


def _times(event: Mapping[str, Any]) -> dict[str, int | None]:
    start = nanoseconds(event.get("ts"))
    duration = nanoseconds(event.get("dur")) if event.get("ph") == "X" else 0
    return {"start_ns": start, "end_ns": None if start is None or duration is None else start + duration}


def _fraction(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None
