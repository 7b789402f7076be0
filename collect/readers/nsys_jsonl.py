"""Nsight Systems JSON Lines export (nsys export --type jsonlines), and the older one of messages (--type json).

Confirmed from public sources: in the newer form each line is one row of a table of the SQLite export, with the table's
name as `table` among its keys, numbers plain, texts by their id in rows of `StringIds`, and no key where the column is
null (the tests of github.com/verl-project/rl-insight, and other public readers of such files). In the older form each
line is a message of the recording: see `nsys_messages`. Inferred: that the lines of a table need not follow one
another, and what a field stands for that no public reader uses. The older form says nothing of the machine.

The lines are sorted by table into a temporary file first; what is not copied is as in the SQLite export.
"""

import json
import tempfile
from pathlib import Path

import pyarrow as pa

from ...store.errors import Error, UnreadableFile
from ...store.trace import Facts
from ..files import TraceFile
from ..nsys_columnar import AGAIN, Columnar
from ..nsys_lines import TABLE_KEY, Sorter, rows_in
from ..nsys_messages import FIRST_LINE
from ..nsys_reading import read_export
from ..nsys_source import TABLE
from ..nsys_streams import Part, StreamTable, find_parts, name_of
from ..sink import Sink

VERSION = 4

LOOKED_AT = 50


def recognises(file: TraceFile) -> bool:
    """Whether one of the first lines is a row of a known table, or a message of a recording."""
    if not file.head.startswith(b"{"):
        return False
    if file.head.startswith(FIRST_LINE):
        return True
    lines = file.head.split(b"\n", LOOKED_AT)[:LOOKED_AT]
    return any(_is_known(line) for line in lines)


def read(file: TraceFile, sink: Sink) -> Facts:
    """Hands every event to the sink and returns the facts; lines that say nothing are counted."""
    with tempfile.TemporaryDirectory(prefix="tracelode-") as folder:
        path = Path(folder) / "tables.arrows"
        try:
            with pa.OSFile(str(path), "wb") as target:
                sorter = Sorter(target)
                sorter.take(file.blocks())
        except OSError as error:
            raise Error(f"{file.path}: cannot sort it: {error.strerror}", "free some space, or set TMPDIR") from error
        tables: dict[str, list[Part]] = {}
        for part in find_parts(path)[0]:
            tables.setdefault(name_of(part.schema) or "", []).append(part)
        if not tables:
            raise UnreadableFile(f"{file.path}: no line of it is a row of an export", AGAIN)
        _tell(sorter, sink)
        stored = {name: StreamTable(parts) for name, parts in tables.items()}
        return read_export(Columnar(str(file.path), stored, {}), sink, "nsys_jsonl")


def _is_known(line: bytes) -> bool:
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        return False
    if not isinstance(said, dict):
        return False
    rows = rows_in(said) or []
    if TABLE_KEY in said:
        return any(TABLE.fullmatch(name) for name, _ in rows)
    return isinstance(said.get("Type"), int) and bool(rows)  # pyright: ignore[reportUnknownMemberType] - JSON


def _tell(sorter: Sorter, sink: Sink) -> None:
    """Says what the lines held that could not be kept."""
    for reason, count in sorted(sorter.lost.items()):
        if count:
            sink.note(
                "bad-line", "lines, or values in them, that no table can hold: left out", count=count, example=reason
            )
    if sorter.mended:
        sink.note("bad-text", "text that is not UTF-8: the wrong bytes are replaced", count=sorter.mended)
    if sorter.cut:
        sink.note("truncated", "the file ends early: events after that point are missing", example="within a line")
