"""Events of the stream of AMD's kernel driver (KFD, `AMDKFD_IOC_SMI_EVENTS`): lines of text, begins and ends apart.

The forms are those of include/uapi/linux/kfd_ioctl.h and of drivers/gpu/drm/amd/amdkfd/kfd_smi_events.c: the number of
the event in hexadecimal digits; the moment on the boot clock, in ns; the process behind a minus sign; places as numbers
of pages; processors as the ids that the driver gives to GPUs, 0 for the host. Newer drivers end a migration with an
error code, and name processes (12, 13) and events that they had no room for (14).
"""

import re
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

__all__ = ["BEGINS", "ENDS", "HOST", "UNDEFINED", "Event", "Pairs", "event_of"]

HOST, UNDEFINED = 0, 0xFFFFFFFF
"""What stands for the host's memory, and for no place at all, where a GPU may stand."""

AT = r"(?P<ns>\d{1,19}) -(?P<pid>\d{1,10}) "
PAGES = r"@(?P<page>[0-9a-f]{1,16})\((?P<pages>[0-9a-f]{1,16})\) "
WAY = r"(?P<source>[0-9a-f]{1,8})->(?P<target>[0-9a-f]{1,8}) "
NODE = r"(?P<node>[0-9a-f]{1,8})"
FAULT = r"@(?P<page>[0-9a-f]{1,16})\(" + NODE + r"\) "
NUMBER = r"(?P<trigger>\d{1,10})"
WANTED = r"(?P<prefetch>[0-9a-f]{1,8}):(?P<preferred>[0-9a-f]{1,8}) "
TASK = r"(?P<pid>[0-9a-f]{1,8})"
RESET = re.compile(r"(?P<number>[0-9a-f]{1,8})(?: (?P<reason>.*))?")
NAMED = re.compile(TASK + r" (?P<task>.*)")

FORMS: Mapping[int, tuple[str, re.Pattern[str]]] = {
    1: ("vm fault", re.compile(TASK + r":(?P<task>.*)")),
    2: ("thermal throttle", re.compile(r"(?P<bitmask>[0-9a-f]{1,16}):(?P<count>[0-9a-f]{1,16})")),
    3: ("gpu pre-reset", RESET),
    4: ("gpu post-reset", RESET),
    5: ("migrate start", re.compile(AT + PAGES + WAY + WANTED + NUMBER)),
    6: ("migrate end", re.compile(AT + PAGES + WAY + NUMBER + r"(?: (?P<error>-?\d{1,10}))?")),
    7: ("page fault start", re.compile(AT + FAULT + r"(?P<access>[RW])")),
    8: ("page fault end", re.compile(AT + FAULT + r"(?P<resolved>[MU])")),
    9: ("queue eviction", re.compile(AT + NODE + " " + NUMBER)),
    10: ("queue restore", re.compile(AT + NODE + r"(?: (?P<again>[R0]?)\0?)?")),
    11: ("unmap from gpu", re.compile(AT + PAGES + NODE + " " + NUMBER)),
    12: ("process start", NAMED),
    13: ("process end", NAMED),
    14: ("dropped events", re.compile(AT + r"(?P<count>\d{1,10})")),
}
"""Each event by its number: what it is called, and what follows the number."""

BEGINS = {"page fault start": "page fault", "migrate start": "migrate", "queue eviction": "queue"}
ENDS = {"page fault end": "page fault", "migrate end": "migrate", "queue restore": "queue"}
"""Which events begin and end what."""

SHARED: Mapping[str, tuple[str, ...]] = {
    "page fault": ("page", "node"),
    "migrate": ("page", "pages", "source", "target", "trigger"),
    "queue": ("node",),
}
"""What the begin and the end of each share."""

LINE = re.compile(r"(?P<event>[0-9a-f]{1,2}) (?P<rest>.*)", re.DOTALL)
HEXADECIMAL = ("page", "pages", "source", "target", "node", "prefetch", "preferred")
DECIMAL = ("ns", "trigger", "error", "count")
FARTHEST = 2**62


class Event(NamedTuple):
    """One line: what it is called, its process (0 where it names none), its moment, and what else it says.

    Events of managed memory and of queues have a moment, others have none.
    """

    name: str
    process: int
    time_ns: int | None
    said: Mapping[str, Any]
    line: str


def event_of(line: str) -> Event | None:
    """The event of a line; None for what the driver does not write."""
    found = LINE.fullmatch(line)
    name, form = FORMS.get(int(found["event"], 16), ("", None)) if found else ("", None)
    matched = form.fullmatch(found["rest"]) if found and form else None
    if matched is None:
        return None
    told = {key: value for key, value in matched.groupdict().items() if value is not None}
    timed = "ns" in told
    said: dict[str, Any] = {key: value for key, value in told.items() if key not in ("ns", "pid")}
    said |= {key: int(told[key], 16) for key in HEXADECIMAL if key in told}
    said |= {key: int(told[key]) for key in DECIMAL if key in told and timed}
    moment = said.pop("ns", None)
    if moment is not None and moment >= FARTHEST:
        return None
    process = int(told["pid"], 10 if timed else 16) if "pid" in told else 0
    return Event(name, process, moment, said, line)


class Pairs:
    """Begins that wait for their ends, found again by what both share; of several alike the first ends first."""

    def __init__(self) -> None:
        self._open: dict[tuple[Any, ...], deque[Event]] = {}

    def begin(self, event: Event) -> None:
        """Takes the begin of something."""
        self._open.setdefault(_key(BEGINS[event.name], event), deque()).append(event)

    def end(self, event: Event) -> Event | None:
        """The begin that the event ends; None where it was not recorded."""
        key = _key(ENDS[event.name], event)
        waiting = self._open.get(key)
        if waiting is None:
            return None
        first = waiting.popleft()
        if not waiting:
            del self._open[key]
        return first

    def left(self) -> Iterator[Event]:
        """Yields the begins that have not ended, in the order of time."""
        waiting = [event for events in self._open.values() for event in events]
        yield from sorted(waiting, key=lambda event: (event.time_ns or 0, event.line))


def _key(what: str, event: Event) -> tuple[Any, ...]:
    return (what, event.process, *(event.said[name] for name in SHARED[what]))
