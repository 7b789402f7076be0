"""nvprof databases by sqlite3: strings by their ids, calls by the numbers of CUPTI's callbacks."""

from pathlib import Path

from tests.oracle.rows import Damaged, Row, Rows, database, rows, table

PREFIX = "CUPTI_ACTIVITY_KIND_"
SHARED = ("deviceId", "streamId", "start", "end", "correlationId")
COPIES = dict(enumerate(("HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"), start=1))


def read(path: Path) -> Rows:
    found: dict[str, list[Row]] = {"kernel": [], "copy": [], "fill": [], "api": []}
    for profile in database(path):
        names = dict(table(profile, "StringTable", "_id_", "value"))
        for kind in ("KERNEL", "CONCURRENT_KERNEL"):
            for *shared, name in table(profile, PREFIX + kind, *SHARED, "name"):
                if _timed(shared[2], shared[3]):
                    found["kernel"].append((*_placed(shared), names.get(name) if name else None, shared[4]))
        for *shared, kind, size in table(profile, PREFIX + "MEMCPY", *SHARED, "copyKind", "bytes"):
            found["copy"].append((*_placed(shared), COPIES.get(kind), size, shared[4]))
        for *shared, size in table(profile, PREFIX + "MEMSET", *SHARED, "bytes"):
            found["fill"].append((*_placed(shared), size, shared[4]))
        processes: set[int] = set()
        for kind in ("RUNTIME", "DRIVER"):
            for process, thread, start, end, correlation in table(
                profile, PREFIX + kind, "processId", "threadId", "start", "end", "correlationId"
            ):
                if not _timed(start, end):
                    raise Damaged("a call without a time")
                processes.add(process)
                found["api"].append((process, thread, start, end, None, correlation))
        if len(processes) != 1:
            raise Damaged("several processes")
        (process,) = processes
        for kind in ("kernel", "copy", "fill"):
            found[kind] = [(process, *row) for row in found[kind]]
    return rows(**found)


def _timed(start: object, end: object) -> bool:
    if not isinstance(start, int) or not isinstance(end, int) or start == end == 0:
        raise Damaged("an activity whose time could not be taken")
    return True


def _placed(shared: list[int]) -> Row:
    device, stream, start, end, correlation = shared
    if not all(isinstance(value, int) for value in (device, stream, correlation)) or not _timed(start, end):
        raise Damaged("work without a place")
    if not -(2**31) <= device < 2**31:
        raise Damaged("a device that cannot be")
    return device, stream, start, end
