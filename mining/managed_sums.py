"""Sums over the events of managed memory as SQL, in which what was not recorded is null and never zero."""

from collections.abc import Set

from ..store.errors import NotCollected
from ..store.trace import Trace
from .managed_vendors import faults_hint, kind_hint

__all__ = ["KINDS", "recorded", "sums", "wanted"]

KINDS = {
    "gpu_fault": "page faults of devices",
    "cpu_fault": "page faults of the host",
    "HtoD": "moves of pages to a device",
    "DtoH": "moves of pages to the host",
    "DtoD": "moves of pages between devices",
    "thrash": "thrashing",
    "throttle": "throttling",
    "remote_map": "remote maps",
}
"""Kinds of events and what to call them."""

SUMS = {
    "gpu_faults": ("gpu_fault", "count(*) filter (kind = 'gpu_fault')"),
    "gpu_fault_pages": (
        "gpu_fault",
        "if(count(*) filter (kind = 'gpu_fault') = 0, 0, sum(pages) filter (kind = 'gpu_fault'))::bigint",
    ),
    "cpu_faults": ("cpu_fault", "count(*) filter (kind = 'cpu_fault')"),
    "to_device_moves": ("HtoD", "count(*) filter (kind = 'HtoD')"),
    "to_device_bytes": ("HtoD", "coalesce(sum(bytes) filter (kind = 'HtoD'), 0)::bigint"),
    "to_host_moves": ("DtoH", "count(*) filter (kind = 'DtoH')"),
    "to_host_bytes": ("DtoH", "coalesce(sum(bytes) filter (kind = 'DtoH'), 0)::bigint"),
    "again_bytes": ("HtoD", "coalesce(sum(again_bytes), 0)::bigint"),
    "thrashes": ("thrash", "count(*) filter (kind = 'thrash')"),
    "throttles": ("throttle", "count(*) filter (kind = 'throttle')"),
    "remote_maps": ("remote_map", "count(*) filter (kind = 'remote_map')"),
}
"""Columns of sums: the kind of event that each counts, and how."""


def recorded(trace: Trace) -> Set[str]:
    """The kinds of events that the trace has at least one of; `NotCollected` where it has none at all."""
    if not trace.has("uvm_event"):
        raise NotCollected("nothing of managed memory was recorded, or the program uses none", faults_hint(trace))
    return set(trace.sql("select distinct kind from uvm_event")["kind"])


def wanted(trace: Trace, *kinds: str) -> Set[str]:
    """The kinds that were recorded; `NotCollected` where none of those asked for is among them."""
    there = recorded(trace)
    if not there & set(kinds):
        raise NotCollected(" and ".join(KINDS[kind] for kind in kinds), kind_hint(trace, kinds[0]))
    return there


def sums(there: Set[str], *, but: Set[str] = frozenset()) -> str:
    """The columns of `SUMS` over rows of `uvm_event`, without some; null where the trace has no event of the kind."""
    columns = ((name, sql if kind in there else "null::bigint") for name, (kind, sql) in SUMS.items())
    return ",\n    ".join(f"{sql} as {name}" for name, sql in columns if name not in but)
