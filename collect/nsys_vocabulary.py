"""The enumerations of an Nsight Systems export in our words.

An export lists its enumerations in tables of their own (`ENUM_CUDA_MEMCPY_OPER`); the oldest ones do not, and there the
numbers of CUPTI's headers hold, which have not changed.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from .nsys_export import Export

__all__ = ["ACCESSES", "ACTS", "ALLOCATED", "CAUSES", "COPIES", "LAUNCHES", "MEMORY", "WAITS", "words"]


@dataclass(frozen=True)
class Vocabulary:
    """An enumeration: its table, what precedes the telling part of its names, those parts from 0 on, our words."""

    table: str
    after: str
    numbered: tuple[str, ...]
    words: Mapping[str, str]


COPIES = Vocabulary(
    "ENUM_CUDA_MEMCPY_OPER",
    "KIND_",
    (
        *("UNKNOWN", "HTOD", "DTOH", "HTOA", "ATOH", "ATOA", "ATOD", "DTOA", "DTOD", "HTOH", "PTOP"),
        *("UVM_HTOD", "UVM_DTOH", "UVM_DTOD"),
    ),
    {
        **{f"{a}TO{b}": f"{a}to{b}" for a in "HDA" for b in "HDA"},
        "PTOP": "PtoP",
        **{f"UVM_{a}TO{b}": f"UVM_{a}to{b}" for a, b in ("HD", "DH", "DD")},
    },
)
MEMORY = Vocabulary(
    "ENUM_CUDA_MEM_KIND",
    "KIND_",
    ("PAGEABLE", "PINNED", "DEVICE", "ARRAY", "MANAGED", "DEVICE_STATIC", "MANAGED_STATIC", "UNKNOWN"),
    {
        **{name: name.lower() for name in ("PAGEABLE", "PINNED", "DEVICE", "ARRAY", "MANAGED")},
        "DEVICE_STATIC": "device",
        "MANAGED_STATIC": "managed",
    },
)
ALLOCATED = Vocabulary(
    MEMORY.table,
    MEMORY.after,
    MEMORY.numbered,
    {
        "PAGEABLE": "host",
        "PINNED": "pinned",
        **dict.fromkeys(("DEVICE", "DEVICE_STATIC", "ARRAY"), "device"),
        **dict.fromkeys(("MANAGED", "MANAGED_STATIC"), "managed"),
    },
)
ACTS = Vocabulary(
    "ENUM_CUDA_DEV_MEM_EVENT_OPER",
    "OPR_",
    ("ALLOCATION", "DEALLOCATION"),
    {"ALLOCATION": "allocated", "DEALLOCATION": "released"},
)
CAUSES = Vocabulary(
    "ENUM_CUDA_UNIF_MEM_MIGRATION",
    "CAUSE_",
    ("UNKNOWN", "USER", "COHERENCE", "PREFETCH", "EVICTION", "ACCESS_COUNTERS"),
    {name: name.lower() for name in ("USER", "COHERENCE", "PREFETCH", "EVICTION", "ACCESS_COUNTERS")},
)
ACCESSES = Vocabulary(
    "ENUM_CUDA_UNIF_MEM_ACCESS_TYPE",
    "TYPE_",
    ("UNKNOWN", "READ", "WRITE", "ATOMIC", "PREFETCH"),
    {name: name.lower() for name in ("READ", "WRITE", "ATOMIC", "PREFETCH")},
)
WAITS = Vocabulary(
    "ENUM_CUPTI_SYNC_TYPE",
    "TYPE_",
    ("UNKNOWN", "EVENT_SYNCHRONIZE", "STREAM_WAIT_EVENT", "STREAM_SYNCHRONIZE", "CONTEXT_SYNCHRONIZE"),
    {
        "EVENT_SYNCHRONIZE": "event",
        "STREAM_WAIT_EVENT": "stream-event",
        "STREAM_SYNCHRONIZE": "stream",
        "CONTEXT_SYNCHRONIZE": "context",
    },
)
LAUNCHES = Vocabulary(
    "ENUM_CUDA_KERNEL_LAUNCH_TYPE",
    "LAUNCH_TYPE_",
    ("UNKNOWN", "REGULAR", "COOPERATIVE_SINGLE_DEVICE", "COOPERATIVE_MULTI_DEVICE"),
    {f"COOPERATIVE_{reach}_DEVICE": f"cooperative_{reach.lower()}_device" for reach in ("SINGLE", "MULTI")},
)


def words(export: Export, vocabulary: Vocabulary) -> Mapping[int, str]:
    """Our word for each number of the enumeration; numbers that say nothing (unknown, usual) have none."""
    names = dict(enumerate(vocabulary.numbered))
    for row in export.rows(vocabulary.table):
        number, name = row.get("id"), row.get("name")
        if isinstance(number, int) and isinstance(name, str):
            names[number] = name.rsplit(vocabulary.after, 1)[-1]
    return {number: vocabulary.words[name] for number, name in names.items() if name in vocabulary.words}
