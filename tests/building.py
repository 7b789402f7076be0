"""Traces built by hand for tests: rows of tables, linked and committed as a reader's would be."""

from pathlib import Path
from typing import Any

import pyarrow as pa

from tracelode.collect.sink import Sink
from tracelode.store import TABLES, Archive, Facts, Source, Trace

DEFAULTS: dict[str, dict[str, Any]] = {
    "kernel": {"process": 1, "device": 0, "stream": 7},
    "copy": {"process": 1, "device": 0, "stream": 7, "kind": "HtoD"},
    "fill": {"process": 1, "device": 0, "stream": 7},
    "api": {"process": 1, "thread": 1, "kind": "runtime", "name": "cudaLaunchKernel"},
    "op": {"process": 1, "thread": 1},
    "range": {"process": 1, "thread": 1, "kind": "annotation"},
}


def build(folder: Path, **tables: list[dict[str, Any]]) -> tuple[Trace, Archive]:
    """A trace of those rows in a new archive; what a row leaves out is the default, or null."""
    archive = Archive(folder / "archive")
    with archive.stage() as staging:
        sink = Sink(staging)
        for name, rows in tables.items():
            full = [DEFAULTS.get(name, {}) | row for row in rows]
            sink.write(name, _columns(pa.Table.from_pylist(full, schema=TABLES[name].schema)))
        notes = sink.finish()
        source = Source("/data/made.json", 1, 1, "kineto", 1)
        return archive.commit(staging, id="a" * 64, source=source, facts=Facts("kineto"), notes=notes), archive


def _columns(table: pa.Table) -> dict[str, Any]:
    return {name: table[name] for name in table.column_names}
