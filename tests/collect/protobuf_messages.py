"""Protobuf messages for tests, as the generator writes them, and what a reader makes of them."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from data.generator.wire import fixed64, message, varint
from tracelode.collect.files import Reader, open_file
from tracelode.collect.sink import Sink
from tracelode.store import Archive, Facts, stored
from tracelode.store.trace import Note

__all__ = ["Read", "fixed64", "message", "told", "varint"]

Read = Callable[[bytes], tuple[dict[str, list[dict[str, Any]]], dict[str, Note], Facts]]


def told(
    reader: Reader, content: bytes, *, recognised: bool = True
) -> tuple[dict[str, list[dict[str, Any]]], dict[str, Note], Facts]:
    """The rows of each table without their nulls, the notes by kind, and the facts."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace"
        path.write_bytes(content)
        file = open_file(path)
        assert reader.recognises(file) or not recognised
        with Archive(Path(folder) / "archive").stage() as staging:
            sink = Sink(staging)
            facts = reader.read(file, sink)
            notes = {note.kind: note for note in sink.finish()}
            names = list(staging.finish())
            tables = {name: stored.read(staging.path / f"{name}.parquet").to_pylist() for name in names}
    rows = {n: [{k: v for k, v in row.items() if v is not None} for row in t] for n, t in tables.items()}
    return rows, notes, facts
