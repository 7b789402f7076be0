"""Nsight Systems exports by sqlite3: global ids hold the process in bits 24 to 47 and the thread below."""

import re
import sqlite3
from pathlib import Path

from tests.oracle.rows import Damaged, Odd, Row, Rows, database, rows, table

PREFIX = "CUPTI_ACTIVITY_KIND_"
SHARED = ("globalPid", "deviceId", "streamId", "start", "end", "correlationId")
WORK = ("KERNEL", "MEMCPY", "MEMSET", "SYNCHRONIZATION")
HOST = (f"{PREFIX}RUNTIME", f"{PREFIX}DRIVER", "NVTX_EVENTS")
COPIES = {1: "HtoD", 2: "DtoH", 8: "DtoD", 9: "HtoH", 10: "PtoP", 11: "UVM_HtoD", 12: "UVM_DtoH", 13: "UVM_DtoD"}


def read(path: Path) -> Rows:
    found: dict[str, list[Row]] = {"kernel": [], "copy": [], "fill": [], "api": []}
    for export in database(path):
        names = dict(table(export, "StringIds", "id", "value"))
        for kind, called in table(export, "ENUM_CUDA_MEMCPY_OPER", "id", "name"):
            if kind in COPIES and called != f"CUDA_MEMCPY_KIND_{COPIES[kind].upper()}":
                raise Odd("a direction that is called otherwise")
        columns = {row[1] for row in export.execute(f"pragma table_info({PREFIX}KERNEL)")}
        if columns and "demangledName" not in columns:
            raise Odd("kernels without demangled names")
        for *shared, name in table(export, PREFIX + "KERNEL", *SHARED, "demangledName"):
            place, correlation = _placed(export, shared)
            if name not in names:
                raise Damaged("a kernel whose name is missing")
            found["kernel"].append((*place, names[name], correlation))
        for *shared, kind, size in table(export, PREFIX + "MEMCPY", *SHARED, "copyKind", "bytes"):
            place, correlation = _placed(export, shared)
            if kind not in COPIES:
                raise Odd("a kind of copy that is not usual")
            managed = COPIES[kind].startswith("UVM")
            found["copy"].append((*place, COPIES[kind], size, None if managed else correlation))
        for *shared, size in table(export, PREFIX + "MEMSET", *SHARED, "bytes"):
            place, correlation = _placed(export, shared)
            found["fill"].append((*place, size, correlation))
        for kind in ("RUNTIME", "DRIVER"):
            for thread, start, end, name, correlation in table(
                export, PREFIX + kind, "globalTid", "start", "end", "nameId", "correlationId"
            ):
                if not all(isinstance(value, int) for value in (thread, start, end)):
                    raise Damaged("a call without a time or a place")
                where = thread >> 24 & 0xFFFFFF, thread & 0xFFFFFF
                found["api"].append((*where, start, end, names.get(name), correlation))
        _one_machine(export)
    return rows(**found)


def _placed(export: sqlite3.Connection, shared: list[int | None]) -> tuple[Row, int | None]:
    process, device, stream, start, end, correlation = shared
    if process is None:
        raise Odd("work without a process")
    if not all(isinstance(value, int) for value in (process, device, stream, start, end)):
        raise Damaged("work without a time or a place")
    if not isinstance(correlation, int | None) or not -(2**31) <= (device or 0) < 2**31:
        raise Damaged("a number that cannot be")
    return (process >> 24 & 0xFFFFFF, device, stream, start, end), correlation


def _one_machine(export: sqlite3.Connection) -> None:
    """Two containers may give the same process id: which of them is renamed is the reader's affair."""
    keys: set[int] = set()
    for name, column in (*((PREFIX + kind, "globalPid") for kind in WORK), *((each, "globalTid") for each in HOST)):
        keys |= {key >> 24 for (key,) in table(export, name, column) if isinstance(key, int)}
    if len({key & 0xFFFFFF for key in keys}) < len(keys):
        raise Odd("two processes with the same id")
    named = export.execute("select cast(name as text) from sqlite_master")
    if any(re.fullmatch(rf"{PREFIX}\w+_V\d+", name) for (name,) in named):
        raise Odd("tables in several versions")
