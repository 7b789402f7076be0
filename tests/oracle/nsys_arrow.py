"""Arrow exports of Nsight Systems: streams one after another, each a table. Arrow decodes them, and nothing else."""

from pathlib import Path

import pyarrow as pa

from tests.oracle.nsys_tables import TABLE, USED, Cells, read_tables
from tests.oracle.rows import Damaged, Odd, Rows, unpacked


def read(path: Path) -> Rows:
    content = unpacked(path)
    tables: dict[str, list[Cells]] = {}
    at = 0
    while at < len(content):
        if content[at] == 0:  # zeros between streams are no damage
            at += 1
            continue
        name, length = _passed(content[at:])
        if TABLE.fullmatch(name):
            tables.setdefault(name, []).extend(_cells(content[at : at + length]))
        at += length
    return read_tables(tables)


def _passed(content: bytes) -> tuple[str, int]:
    """The table in the stream with which the content begins, and how long the stream is; its rows are not decoded."""
    source = pa.BufferReader(pa.py_buffer(content))
    messages = pa.ipc.MessageReader.open_stream(source)
    schema = pa.ipc.read_schema(messages.read_next_message())
    name = (schema.metadata or {}).get(b"table_name", b"").decode()
    if not name:
        raise Damaged("a stream without the name of its table")
    try:
        while messages.read_next_message().type != "schema":
            pass
    except StopIteration:
        return name, source.tell()
    raise Odd("a stream without an end")


def _cells(content: bytes) -> list[Cells]:
    names = pa.ipc.open_stream(content).schema.names
    wanted = [place for place, name in enumerate(names) if name in USED]
    options = pa.ipc.IpcReadOptions(included_fields=wanted)
    with pa.ipc.open_stream(content, options=options) as stream:
        table = stream.read_all()
    table.validate(full=True)
    return table.to_pylist() if wanted else []
