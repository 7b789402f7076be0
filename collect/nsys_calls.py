"""What the host did, from an Nsight Systems export: runtime and driver calls, and spans of the other libraries.

A table of spans needs no entry here: whatever has a start, an end, a thread and a name is read as `range`, its kind the
first word of the table's name (`OSRT_API` is osrt, `MPI_P2P_EVENTS` is mpi, `CUPTI_ACTIVITY_KIND_OPENACC_DATA` is
openacc), its other columns in `args`.
"""

import re

import pyarrow as pa

from .database_columns import INT, TEXT
from .nsys_columns import arguments, filled, translated
from .nsys_export import Export

__all__ = ["read_calls", "read_spans"]

CALL_TABLES = {"CUPTI_ACTIVITY_KIND_RUNTIME": "runtime", "CUPTI_ACTIVITY_KIND_DRIVER": "driver"}
DRIVER_CALL = re.compile(r"cu[A-Z]")
SPAN = ("start", "end", "globalTid")
NAMES = ("nameId", "textId", "name", "text")
STRING_IDS = frozenset(
    {"nameId", "textId", "srcFile", "funcName", "varName", "kernelName", "endNameId", "sourceFile", "module"}
)
LEFT_OUT = frozenset({"eventClass", "callchainId", "color"})


def read_calls(export: Export) -> None:
    """Writes the calls of the CUDA runtime and driver."""
    for base, fallback in CALL_TABLES.items():
        wanted = dict.fromkeys((*SPAN, "correlationId", "nameId", "returnValue"), INT) | {"name": TEXT}
        for rows in export.events(base, wanted, LEFT_OUT):
            names = filled(export.text(rows["nameId"]), rows["name"])
            export.sink.write(
                "api",
                {
                    **export.on_thread(rows),
                    "name": names,
                    "kind": translated(filled(names, ""), lambda name, other=fallback: _interface(name, other)),
                    "correlation": rows["correlationId"],
                    "status": rows["returnValue"],
                    "args": arguments(rows.rest),
                },
            )


def read_spans(export: Export) -> None:
    """Writes the spans of every table that has what a span needs and is read nowhere else."""
    for base in export.names():
        if base in export.read or base.startswith("NVTX") or not set(SPAN) <= export.layout(base):
            continue
        declared = export.columns(base)
        names = {name: INT if declared[name] == INT else TEXT for name in NAMES if name in declared}
        for rows in export.events(base, dict.fromkeys(SPAN, INT) | names, LEFT_OUT) if names else ():
            found: pa.Array = pa.nulls(rows.count, TEXT)
            for name, kind in names.items():
                found = filled(found, export.text(rows[name]) if kind == INT else rows[name])
            rest = {n: export.text(a) if n in STRING_IDS and a.type == INT else a for n, a in rows.rest.items()}
            export.sink.write(
                "range",
                {
                    **export.on_thread(rows),
                    "name": found,
                    "kind": _kind(base),
                    "domain": base,
                    "args": arguments(rest),
                },
            )


def _interface(name: str, fallback: str) -> str:
    """The name decides: the class of an event was numbered anew between releases."""
    if name.startswith("cuda"):
        return "runtime"
    return "driver" if DRIVER_CALL.match(name) else fallback


def _kind(base: str) -> str:
    words = base.removeprefix("CUPTI_ACTIVITY_KIND_").lower().split("_")
    if "overhead" in words:
        return "overhead"
    return "cuda_graph" if words[:2] == ["cuda", "graph"] else words[0]
