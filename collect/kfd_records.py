"""Records of AMD's kernel driver as rocprofiler-sdk names their members: in rocprofv3's JSON and in rocpd databases.

Kinds are `KFD_PAGE_FAULT`, `KFD_PAGE_MIGRATE`, `KFD_QUEUE` (each with its begin and its end), and `KFD_EVENT_...` of a
single moment; rocprofiler-systems calls them `rocm_kfd_page_fault` and so on.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from .kfd import STOPS, TRIGGERS, add_fault, add_move, add_stop, note_dropped
from .rocprof_rows import End, Rows, handle, integer

__all__ = ["Driver", "is_of_driver"]

KIND = re.compile(r"(?:ROCM_)?(KFD_\w{1,40})")
TRIGGER = re.compile(r"PREFETCH$|PAGEFAULT_GPU$|PAGEFAULT_CPU$|TTM_EVICTION$")
FAULT = re.compile(r"(READ|WRITE)_FAULT_(MIGRATED|UPDATED)$")
STOP = re.compile(r"EVICT_(SVM|USERPTR|TTM|SUSPEND|CRIU_CHECKPOINT|CRIU_RESTORE)$")
OPERATIONS: Mapping[str, tuple[str, ...]] = {
    "KFD_PAGE_MIGRATE": TRIGGERS,
    "KFD_PAGE_FAULT": tuple(f"{access}_FAULT_{how}" for access in ("READ", "WRITE") for how in ("MIGRATED", "UPDATED")),
    "KFD_QUEUE": tuple(f"EVICT_{reason}" for reason in STOPS),
}
"""What the number of an operation means where the file does not say."""

KEPT = frozenset({"KFD_EVENT_UNMAP_FROM_GPU", "KFD_EVENT_QUEUE"})
"""Kinds that no table holds: they are kept in `other`."""

COMMON = frozenset({"size", "kind", "operation", "start_timestamp", "end_timestamp", "pid"})
"""Told elsewhere. The driver tells of no other process than the one that asks; in a container its id is another."""

OF_FAULT = COMMON | {"agent_id", "agent", "address"}
OF_MOVE = COMMON | {"start_address", "end_address", "src_agent", "dst_agent", "error_code"}

Record = Mapping[str, Any]


def is_of_driver(kind: str) -> bool:
    """Whether records of the kind are the kernel driver's."""
    return KIND.fullmatch(kind.upper()) is not None


class Driver:
    """What the driver told about one process, on its way to rows.

    `end` finds the processor that a member such as `agent_id` means.
    """

    def __init__(self, rows: Rows, process: int, end: Callable[[Any], End]) -> None:
        self._rows, self._process, self._end = rows, process, end

    def add(self, kind: str, operation: str, record: Record) -> bool:
        """Appends the record; False for a kind that is not known here.

        `operation` is its name, empty where it is not known: then the record's number tells it.
        """
        named = KIND.fullmatch(kind.upper())
        if named is None:
            return False
        name = named[1]
        operation = operation or _numbered(name, integer(record.get("operation")))
        if name == "KFD_PAGE_FAULT":
            self._fault(operation, record)
        elif name == "KFD_PAGE_MIGRATE":
            self._move(operation, record)
        elif name == "KFD_QUEUE":
            self._stop(operation, record)
        elif name == "KFD_EVENT_DROPPED_EVENTS":
            note_dropped(self._rows, integer(record.get("count")) or 0)
        elif name in KEPT:
            self._rows.other(operation or name, record, integer(record.get("timestamp", record.get("start_timestamp"))))
        else:
            return False
        return True

    def _fault(self, operation: str, record: Record) -> None:
        found = self._told(FAULT, operation)
        add_fault(
            self._rows,
            record,
            place=self._place(record),
            times=self._times(record),
            address=handle(record.get("address")),
            access=found[1].lower() if found else None,
            said=_more(record, OF_FAULT) | {"resolved": found[2].lower() if found else None},
        )

    def _move(self, operation: str, record: Record) -> None:
        found = self._told(TRIGGER, operation)
        places = {name: self._end(record.get(name)).agent for name in ("prefetch_agent", "preferred_agent")}
        add_move(
            self._rows,
            record,
            process=self._process,
            ends=(self._end(record.get("src_agent")), self._end(record.get("dst_agent"))),
            times=self._times(record),
            first=handle(record.get("start_address")),
            last=handle(record.get("end_address")),
            trigger=found[0] if found else None,
            error=self._rows.number(record.get("error_code", 0)) or 0,
            said=_more(record, OF_MOVE) | places,
        )

    def _stop(self, operation: str, record: Record) -> None:
        found = self._told(STOP, operation)
        reason = found[1] if found else None
        said = _more(record, OF_FAULT)
        add_stop(self._rows, record, place=self._place(record), times=self._times(record), reason=reason, said=said)

    def _told(self, form: re.Pattern[str], operation: str) -> re.Match[str] | None:
        """What the name of an operation says; counted where it says nothing that is known here."""
        found = form.search(operation)
        if found is None:
            meaning = "records of which the file does not say what was done"
            self._rows.sink.note("unnamed-operation", meaning, example=operation[:120] or None)
        return found

    def _times(self, record: Record) -> dict[str, int | None]:
        return {f"{at}_ns": self._rows.number(record.get(f"{at}_timestamp")) for at in ("start", "end")}

    def _place(self, record: Record) -> dict[str, int | None]:
        return {"process": self._process, "device": self._end(record.get("agent_id", record.get("agent"))).agent}


def _more(record: Record, used: frozenset[str]) -> dict[str, Any]:
    """What else a record says."""
    return {name: value for name, value in record.items() if name not in used}


def _numbered(kind: str, number: int | None) -> str:
    names = OPERATIONS.get(kind, ())
    return names[number] if number is not None and 0 <= number < len(names) else ""
