"""Small tables for the tests of the store."""

from typing import Any

import pyarrow as pa

from tracelode.store import TABLES, Archive, Facts, Note, Source, Trace

SOURCE = Source("/data/run.json", 12, 34, "kineto", 1)


def rows(table: str, *values: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist(list(values), schema=TABLES[table].schema)


def kernel(name: str, start_ns: int, end_ns: int, **more: Any) -> dict[str, Any]:
    return {"process": 1, "device": 0, "stream": 7, "name": name, "start_ns": start_ns, "end_ns": end_ns, **more}


def add(archive: Archive, id: str, *kernels: dict[str, Any], notes: tuple[Note, ...] = ()) -> Trace:
    with archive.stage() as staging:
        staging.write("kernel", rows("kernel", *kernels))
        return archive.commit(staging, id=id, source=SOURCE, facts=Facts("kineto", producer="test"), notes=notes)
