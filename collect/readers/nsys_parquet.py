"""Nsight Systems Parquet export: the folder of nsys export --type parquetdir, one Parquet file per table.

Confirmed from public sources: one file per table, named after it, in a folder `<report>_pqtdir` or of the name given
with `--output`; tables and columns are those of the SQLite export, texts by their id in `StringIds`, enumerations in
`ENUM_*` tables, both made when their first row comes (Nsight Systems User Guide, "CLI Export Command Switch Options";
the recipes of Nsight Systems, which read such folders; github.com/lucifer1004/VeloQ, veloq-nsys-data); release 2026
declares `NVTX_EVENTS.binaryData` as text although it holds bytes (github.com/GindaChen/nsys-ai). Inferred: that numbers
can be narrower than 64 bits or without a sign, and that a number from 2^63 on is the negative one of the SQLite export.

What is not copied is as in the SQLite export; files of the folder that are no Parquet are counted in a note.
"""

from pathlib import Path

from ...store.errors import UnreadableFile
from ...store.trace import Facts
from ..files import TraceFile
from ..nsys_columnar import Columnar
from ..nsys_pqtdir import PARQUET, ParquetTable, columns_of, open_table
from ..nsys_reading import read_export
from ..nsys_source import EVENT_TABLES, OWN_TABLES, TABLE
from ..sink import Sink

VERSION = 4

SUFFIX = ".parquet"
MARKS = ({"start", "globalTid"}, {"start", "globalPid"}, {"id", "value"}, {"name", "value"}, {"id", "name", "label"})
"""Columns of which every table of an export that matters has one pair."""


def recognises(file: TraceFile) -> bool:
    """Whether it is a folder with such tables; or one of the tables, which `read` refuses with the folder as hint."""
    if file.head:
        path = Path(str(file.path))
        known = file.head.startswith(PARQUET) and TABLE.fullmatch(path.name.removesuffix(SUFFIX))
        return bool(known) and any(mark <= columns_of(path) for mark in MARKS)
    names = (_table(member) for member in file.members() if _is_parquet(member))
    return any(name in OWN_TABLES or EVENT_TABLES.fullmatch(name) for name in names)


def read(file: TraceFile, sink: Sink) -> Facts:
    """Hands every event to the sink and returns the facts; `UnreadableFile` where a table that matters is damaged."""
    if file.head:
        raise UnreadableFile(
            f"{file.path}: one table of an Nsight Systems export",
            "give the folder it lies in: the names are in another table",
        )
    file.digest()
    tables: dict[str, ParquetTable] = {}
    damaged: dict[str, str] = {}
    others: list[str] = []
    for member in file.members():
        if not (_is_parquet(member) or member.name.endswith(SUFFIX)):
            others.append(member.name)
        elif isinstance(table := open_table(member), ParquetTable):
            tables[_table(member)] = table
        else:
            damaged[_table(member)] = table
    if others:
        meaning = "files of the folder that are no part of the trace: not read"
        sink.note("unread-file", meaning, count=len(others), example=others[0])
    return read_export(Columnar(str(file.path), tables, damaged), sink, "nsys_parquet")


def _table(member: Path) -> str:
    return member.name.removesuffix(SUFFIX)


def _is_parquet(member: Path) -> bool:
    try:
        with member.open("rb") as content:
            return content.read(len(PARQUET)) == PARQUET
    except OSError:
        return False
