"""The words of Kineto traces: which category means which kind of event, and which argument belongs in which column.

The profilers behind Kineto (CUPTI, roctracer, MTIA, XPU) and its generations name the same thing differently:
`Kernel` and `kernel`, `Input dims` and `Input Dims`. A kind is what becomes one sort of row; a role is what one
argument means for it.
"""

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from . import kineto_layout as layout

__all__ = [
    "CATEGORIES",
    "COLUMNS",
    "DEVICE_KINDS",
    "HOLDS",
    "KEYS",
    "MARKS_OF_KINETO",
    "NEEDS",
    "RANGES",
    "ROLES",
    "ROLE_OF",
    "TYPES",
    "Kind",
    "Role",
    "kind_of",
]


class Kind(IntEnum):
    """What an event is. The first four are told by the phase; the others by the category of an X event."""

    OTHER = 0
    META = layout.META
    FLOW = layout.FLOW
    MARK = layout.MARK
    MEMORY = layout.MEMORY
    KERNEL = 5
    COPY = 6
    FILL = 7
    SYNC = 8
    RUNTIME = 9
    DRIVER = 10
    OP = 11
    PYTHON = 12
    ANNOTATION = 13
    DEVICE_ANNOTATION = 14
    OVERHEAD = 15
    PROFILER = 16
    PROFILER_RANGE = 17
    DEVICE_ACTIVITY = 18
    SPAN = 19


class Role(IntEnum):
    """What an argument means; GRID and BLOCK take three places each."""

    DEVICE = 0
    STREAM = 1
    CONTEXT = 2
    CORRELATION = 3
    REGISTERS = 4
    SHARED = 5
    GRID = 6
    BLOCK = 9
    GRAPH = 12
    GRAPH_NODE = 13
    BYTES = 14
    EXTERNAL = 15
    SEQUENCE = 16
    FORWARD_THREAD = 17
    SHAPES = 18
    TYPES = 19
    PYTHON_ID = 20
    PYTHON_PARENT = 21
    LABEL = 22
    SYNC_KIND = 23
    EVENT = 24
    ADDRESS = 25
    ALLOCATED = 26
    RESERVED = 27
    DEVICE_TYPE = 28
    COLLECTIVE = 29
    RANK = 30
    RAW_PID = 31
    EVENT_INDEX = 32


ROLES = 33
"""Places for the values of roles in a row."""

_CATEGORIES: Mapping[str, Kind] = MappingProxyType(
    {
        "kernel": Kind.KERNEL,
        "gpu_memcpy": Kind.COPY,
        "memcpy": Kind.COPY,
        "gpu_memset": Kind.FILL,
        "memset": Kind.FILL,
        "cuda_sync": Kind.SYNC,
        "runtime": Kind.RUNTIME,
        "cuda_runtime": Kind.RUNTIME,
        "mtia_runtime": Kind.RUNTIME,
        "cuda_driver": Kind.DRIVER,
        "driver": Kind.DRIVER,
        "cpu_op": Kind.OP,
        "operator": Kind.OP,
        "python_function": Kind.PYTHON,
        "user_annotation": Kind.ANNOTATION,
        "gpu_user_annotation": Kind.DEVICE_ANNOTATION,
        "overhead": Kind.OVERHEAD,
        "trace": Kind.PROFILER,
        "cuda_profiler_range": Kind.PROFILER_RANGE,
        "mtia_ccp_events": Kind.DEVICE_ACTIVITY,
    }
)


CATEGORIES = tuple(spelling for name in _CATEGORIES for spelling in (name, name.capitalize()))
"""Categories known from the start; the scanner learns others when they first come."""


def kind_of(category: str) -> Kind:
    """The kind of a duration event of that category: `cuda_runtime`, `mtia_runtime`, `xpu_driver`, ... are calls."""
    name = category.lower()
    if name.endswith("_runtime"):
        return Kind.RUNTIME
    if name.endswith("_driver"):
        return Kind.DRIVER
    return _CATEGORIES.get(name, Kind.OTHER)


MARKS_OF_KINETO = (
    *(f'"{name}"' for name in _CATEGORIES if "_" in name or name in ("kernel", "operator")),
    *('_runtime"', '"schemaversion"', '"cpu functions"'),
)
"""What the text of a Kineto trace holds, in lower case, and that of other Chrome traces most likely does not."""

RANGES: Mapping[Kind, str] = MappingProxyType(
    {
        Kind.PYTHON: "python",
        Kind.ANNOTATION: "annotation",
        Kind.DEVICE_ANNOTATION: "device_annotation",
        Kind.OVERHEAD: "overhead",
        Kind.PROFILER: "profiler",
        Kind.PROFILER_RANGE: "profiler_range",
        Kind.DEVICE_ACTIVITY: "device_activity",
        Kind.SPAN: "span",
        Kind.MARK: "mark",
    }
)
"""Kinds that become rows of `range`, and the text of their column `kind`."""

DEVICE_KINDS = (Kind.KERNEL, Kind.COPY, Kind.FILL)
"""Device work: the process is not in the event, since its pid is the device."""

ROLE_OF: Mapping[str, Role] = MappingProxyType(
    {
        "device": Role.DEVICE,
        "Device Id": Role.DEVICE,
        "stream": Role.STREAM,
        "context": Role.CONTEXT,
        "correlation": Role.CORRELATION,
        "registers per thread": Role.REGISTERS,
        "shared memory": Role.SHARED,
        "grid": Role.GRID,
        "block": Role.BLOCK,
        "graph id": Role.GRAPH,
        "graph node id": Role.GRAPH_NODE,
        "bytes": Role.BYTES,
        "Bytes": Role.BYTES,
        "External id": Role.EXTERNAL,
        "external id": Role.EXTERNAL,
        "Sequence number": Role.SEQUENCE,
        "Fwd thread id": Role.FORWARD_THREAD,
        "Input Dims": Role.SHAPES,
        "Input dims": Role.SHAPES,
        "Input type": Role.TYPES,
        "Python id": Role.PYTHON_ID,
        "Python parent id": Role.PYTHON_PARENT,
        "name": Role.LABEL,
        "labels": Role.LABEL,
        "cuda_sync_kind": Role.SYNC_KIND,
        "wait_on_cuda_event_id": Role.EVENT,
        "Addr": Role.ADDRESS,
        "Total Allocated": Role.ALLOCATED,
        "Total Reserved": Role.RESERVED,
        "Device Type": Role.DEVICE_TYPE,
        "Collective name": Role.COLLECTIVE,
        "rank": Role.RANK,
        "pid_raw": Role.RAW_PID,
        "Ev Idx": Role.EVENT_INDEX,
    }
)
"""Argument to its role, which the kinds in `HOLDS` take out of the arguments into a column."""

TYPES = np.full(ROLES, layout.WHOLE, np.int8)
"""Type of each role's value, by role."""
TYPES[[Role.DEVICE, Role.REGISTERS, Role.DEVICE_TYPE]] = layout.WHOLE_32
TYPES[[Role.GRID, Role.BLOCK]] = layout.TRIPLE
TYPES[[Role.SHAPES, Role.TYPES]] = layout.LIST
TYPES[[Role.LABEL, Role.SYNC_KIND]] = layout.TEXT
TYPES[Role.COLLECTIVE] = layout.MARKED
TYPES[[Role.RANK, Role.RAW_PID]] = layout.ECHO

_LAUNCHED = (
    *(Role.DEVICE, Role.STREAM, Role.CONTEXT, Role.CORRELATION),
    *(Role.GRAPH, Role.GRAPH_NODE, Role.EXTERNAL),
)
_EVERYWHERE = (Role.RANK, Role.RAW_PID)
_HELD: Mapping[Kind, tuple[Role, ...]] = MappingProxyType(
    {
        Kind.META: (Role.LABEL,),
        Kind.MEMORY: (Role.DEVICE, Role.DEVICE_TYPE, Role.BYTES, Role.ADDRESS, Role.ALLOCATED, Role.RESERVED),
        Kind.KERNEL: (*_LAUNCHED, Role.REGISTERS, Role.SHARED, Role.GRID, Role.BLOCK, Role.COLLECTIVE),
        Kind.COPY: (*_LAUNCHED, Role.BYTES),
        Kind.FILL: (*_LAUNCHED, Role.BYTES),
        Kind.SYNC: (Role.DEVICE, Role.STREAM, Role.CONTEXT, Role.CORRELATION, Role.SYNC_KIND, Role.EVENT),
        Kind.RUNTIME: (Role.CORRELATION, Role.DEVICE, Role.EXTERNAL),
        Kind.DRIVER: (Role.CORRELATION, Role.DEVICE, Role.EXTERNAL),
        Kind.OP: (
            *(Role.EXTERNAL, Role.SEQUENCE, Role.FORWARD_THREAD),
            *(Role.SHAPES, Role.TYPES, Role.EVENT_INDEX),
        ),
        Kind.PYTHON: (Role.PYTHON_ID, Role.PYTHON_PARENT, Role.EVENT_INDEX),
        Kind.ANNOTATION: (Role.EVENT_INDEX,),
        Kind.DEVICE_ACTIVITY: (Role.STREAM,),
    }
)

KEYS = (
    *("ph", "cat", "name", "pid", "tid", "ts", "dur", "id", "args", "bp", "s", "[memory]"),
    *(key for key in ROLE_OF if key != "name"),
)
"""Strings that the scanner knows by their ids: their order here."""


def _holds(kind: Kind) -> int:
    return sum(1 << role for role in (*_HELD.get(kind, ()), *_EVERYWHERE))


def _columns(kind: Kind) -> tuple[int, ...]:
    """The places of an event's row that its kind has cells for."""
    own = [layout.NAME, layout.CAT, layout.PID, layout.TID, layout.TS, layout.DUR, layout.PRESENT, layout.LEFT]
    if kind == Kind.FLOW:
        own += [layout.ID, layout.PHASE]
    held = (*_HELD.get(kind, ()), *_EVERYWHERE)
    roles = [role + i for role in held for i in range(3 if TYPES[role] == layout.TRIPLE else 1)]
    return (*own, *(layout.FIRST_ROLE + role for role in roles))


def _needs(kind: Kind) -> int:
    keys = [layout.NAME, layout.PID]
    if kind != Kind.META:
        keys.append(layout.TS)
    if kind == Kind.FLOW:
        keys += [layout.ID, layout.CAT]
    if kind > Kind.MEMORY:
        keys.append(layout.DUR)
    roles = [Role.DEVICE, Role.STREAM] if kind in DEVICE_KINDS else []
    if kind == Kind.MEMORY:
        roles = [Role.DEVICE, Role.DEVICE_TYPE, Role.BYTES]
    return sum(1 << key for key in keys) | sum(1 << (layout.TOP + role) for role in roles)


HOLDS: npt.NDArray[np.int64] = np.array([_holds(kind) for kind in Kind], np.int64)
"""Bits of the roles that each kind has a column for."""

COLUMNS: Mapping[Kind, tuple[int, ...]] = MappingProxyType({kind: _columns(kind) for kind in Kind})
"""Places of an event's row that are kept, in the order of the cells."""

NEEDS: npt.NDArray[np.int64] = np.array([_needs(kind) for kind in Kind], np.int64)
"""Bits of PRESENT without which an event of a kind is not taken by the scanner."""
