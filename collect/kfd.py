"""Managed memory as the kernel driver of AMD's GPUs (KFD) tells of it: page faults, moves of pages, stopped queues.

The driver counts its reasons; they are the same in its event stream, in rocprofiler-sdk and in rocprofiler-systems
(include/uapi/linux/kfd_ioctl.h, rocprofiler-sdk/kfd/kfd_id.h). `migration.cause` names them as for other vendors'
drivers: a prefetch is what the program asked for, a move for a fault is the driver's for coherence. What the driver
calls its reason stays in `args`.
"""

from collections.abc import Mapping
from typing import Any

from .rocprof_rows import End, Rows, arguments

__all__ = ["STOPPED", "STOPS", "TRIGGERS", "add_fault", "add_move", "add_stop", "note_dropped"]

CAUSES = {"PREFETCH": "user", "PAGEFAULT_GPU": "coherence", "PAGEFAULT_CPU": "coherence", "TTM_EVICTION": "eviction"}
TRIGGERS = tuple(CAUSES)
"""Why pages move, by the driver's number. TTM is the manager of the device's memory: it makes room."""

STOPS = ("SVM", "USERPTR", "TTM", "SUSPEND", "CRIU_CHECKPOINT", "CRIU_RESTORE")
"""Why the queues of a process are taken off a device, by the driver's number."""

STOPPED = "queue_eviction"
"""The kind of a range in which the queues of a process were off the device."""

MOST_BYTES = 1 << 44
"""No move is of more: it is what a dozen of the largest devices hold together."""

FARTHEST = 2**62


def add_fault(
    rows: Rows,
    source: Any,
    *,
    place: Mapping[str, int | None],
    times: Mapping[str, int | None],
    address: int | None,
    access: str | None,
    said: Mapping[str, Any],
) -> None:
    """Appends a page fault of a device; `place` is its process and device, `said` what else is told, for `args`."""
    if place["device"] is None:
        meaning = "page faults of no stated device: kept without one"
        rows.sink.note("fault-without-device", meaning)
    rows.add(
        "fault",
        source,
        **place,
        **_sound(rows, times),
        processor="gpu",
        address=_address(rows, address),
        pages=1,
        kind=access,
        args=arguments(said),
    )


def add_move(
    rows: Rows,
    source: Any,
    *,
    process: int,
    ends: tuple[End, End],
    times: Mapping[str, int | None],
    first: int | None,
    last: int | None,
    trigger: str | None,
    error: int,
    said: Mapping[str, Any],
) -> None:
    """Appends a move of the pages from `first` up to `last`, which is not part of it.

    `bytes` are those of the pages the driver was to move: those that were there already it does not leave out. A move
    that failed moved nothing that is known: it is kept in `other`.
    """
    start = times["start_ns"]
    if error:
        meaning = "moves of pages that the driver says have failed: kept in `other`"
        rows.sink.note("failed-move", meaning, example=f"error {error}")
        rows.other("failed move", source, start)
        return
    kind, device, peer = _direction(*ends)
    first, last = _address(rows, first), _address(rows, last)
    size = None if first is None or last is None else last - first
    if size is not None and not 0 < size <= MOST_BYTES:
        rows.tell("no-number", f"a move of {size} bytes")
        size = None
    rows.add(
        "migration",
        source,
        process=process,
        device=device,
        kind=kind,
        **_sound(rows, times),
        address=first,
        bytes=size,
        cause=CAUSES.get(trigger or ""),
        args=arguments({**said, "trigger": trigger, "from_device": peer}),
    )


def add_stop(
    rows: Rows,
    source: Any,
    *,
    place: Mapping[str, int | None],
    times: Mapping[str, int | None],
    reason: str | None,
    said: Mapping[str, Any],
) -> None:
    """Appends a time in which the queues of the process were off the device, so that none of its kernels ran there."""
    name = f"queues off: {reason}" if reason else "queues off"
    rows.add("range", source, **place, **times, name=name, kind=STOPPED, domain="KFD", args=arguments(said))


def note_dropped(rows: Rows, count: int) -> None:
    """Says in a note that the driver had no room for some events."""
    meaning = "the profiler says that events are missing: counts and times are a floor"
    example = f"the kernel driver had no room for {count} events"[:120]
    rows.sink.note("lost-events", meaning, count=min(max(count, 1), 1 << 32), example=example)


def _direction(source: End, target: End) -> tuple[str | None, int | None, int | None]:
    """The kind of a move, the device concerned, and the device it comes from where that is another."""
    ends = source.gpu, target.gpu
    if ends == (False, True):
        return "UVM_HtoD", target.agent, None
    if ends == (True, False):
        return "UVM_DtoH", source.agent, None
    if ends == (True, True):
        return "UVM_DtoD", target.agent, source.agent
    return None, None, None


def _address(rows: Rows, value: int | None) -> int | None:
    if value is not None and 0 <= value < FARTHEST:
        return value
    rows.tell("no-number", f"address {value}")
    return None


def _sound(rows: Rows, times: Mapping[str, int | None]) -> Mapping[str, int | None]:
    """The times, without an end that is before the start."""
    start, end = times["start_ns"], times["end_ns"]
    if start is None or end is None or start <= end:
        return times
    meaning = "faults and moves that end before they begin: read as if their end was not recorded"
    rows.sink.note("end-before-start", meaning, example=f"{start} to {end} ns")
    return {**times, "end_ns": None}
