"""Nsight Systems Arrow export: a file of nsys export --type arrow, or the folder of --type arrowdir.

Confirmed from public sources: a file `.arrows` holds one Arrow IPC stream per table, one after another, each with the
table's name as `table_name` in its schema's metadata and the tables of the SQLite export; a folder `_arwdir` holds one
such file per table (Nsight Systems Analysis Guide, "Arrow"). Inferred: that a folder's files are named after their
tables where they do not say it, and that they may be of the Arrow form with a footer; that columns are as in the
Parquet export.

What is not copied is as in the SQLite export. Of a file that is cut, what comes before the cut is read, if the names
are among it.
"""

import re
from pathlib import Path

from ...store.errors import UnreadableFile
from ...store.trace import Facts
from ..files import TraceFile
from ..local_file import local
from ..nsys_columnar import AGAIN, Columnar
from ..nsys_reading import read_export
from ..nsys_source import EVENT_TABLES, OWN_TABLES, TABLE
from ..nsys_streams import FILE, STREAM, Part, StreamTable, find_parts, name_of, schema_of
from ..places import Place
from ..sink import Sink

VERSION = 4

HEAD = 1 << 18
BROKEN = "\N{REPLACEMENT CHARACTER}"
CAPITALS = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+")
"""How nearly all tables of an export are called: a file may begin with one that is new."""


def recognises(file: TraceFile) -> bool:
    """Whether it is a file that begins with a table of an export, or a folder with such files."""
    if file.head:
        schema = schema_of(file.head)
        if schema is None:
            return False
        named = name_of(schema)
        return bool(TABLE.fullmatch(named or _stem(Path(str(file.path)))) or CAPITALS.fullmatch(named or ""))
    names = [_named(member) for member in file.members()]
    return any(name and (name in OWN_TABLES or EVENT_TABLES.fullmatch(name)) for name in names)


def read(file: TraceFile, sink: Sink) -> Facts:
    """Hands every event to the sink and returns the facts; `UnreadableFile` where a table that matters is damaged."""
    if not file.head:
        return _read_folder(file, sink)
    with local(file) as path:
        parts, damage = find_parts(path)
        tables = _tables(parts, _stem(Path(str(file.path))))
        nameless = [part for part in parts if name_of(part.schema) is None]
        if nameless and len(parts) > 1:
            meaning = "tables of the file that do not say their names: read as one called after the file"
            sink.note("unnamed-table", meaning, count=len(nameless))
        spoilt = sorted(name for name in tables if BROKEN in name)
        if spoilt:
            meaning = "tables whose names are no text: read as tables that are not known"
            sink.note("damaged-name", meaning, count=len(spoilt), example=spoilt[0][:80])
        if len(tables) == 1 and len(_siblings(file.path)) > 1:
            raise UnreadableFile(
                f"{file.path}: one table of an Nsight Systems export",
                "give the folder it lies in: the names are in another table",
            )
        if damage:
            if "StringIds" not in tables:
                raise UnreadableFile(f"{file.path}: damaged before its table of names: {damage}", AGAIN)
            meaning = "the file ends early: events after that point are missing"
            sink.note("truncated", meaning, example=damage)
        return read_export(Columnar(str(file.path), tables, {}), sink, "nsys_arrow")


def _read_folder(file: TraceFile, sink: Sink) -> Facts:
    file.digest()
    tables: dict[str, StreamTable] = {}
    damaged: dict[str, str] = {}
    others: list[str] = []
    for member in file.members():
        if not _begins(member):
            others.append(member.name)
            continue
        parts, damage = find_parts(member)
        if damage or not parts:
            damaged[_named(member) or _stem(member)] = damage or "no table in it"
        else:
            tables |= _tables(parts, _stem(member))
    if others:
        meaning = "files of the folder that are no part of the trace: not read"
        sink.note("unread-file", meaning, count=len(others), example=others[0])
    return read_export(Columnar(str(file.path), tables, damaged), sink, "nsys_arrow")


def _tables(parts: list[Part], fallback: str) -> dict[str, StreamTable]:
    found: dict[str, list[Part]] = {}
    for part in parts:
        found.setdefault(name_of(part.schema) or fallback, []).append(part)
    return {name: StreamTable(several) for name, several in found.items()}


def _named(member: Path) -> str | None:
    """The table in a file of a folder; None for what is no Arrow file."""
    if not _begins(member):
        return None
    with member.open("rb") as content:
        schema = schema_of(content.read(HEAD))
    return (name_of(schema) if schema is not None else None) or _stem(member)


def _begins(member: Path) -> bool:
    try:
        with member.open("rb") as content:
            return content.read(len(FILE)).startswith((STREAM, FILE))
    except OSError:
        return False


def _stem(path: Path) -> str:
    return path.name.partition(".")[0]


def _siblings(place: Place) -> list[Path]:
    """The Arrow files in the folder of this one; none of a member of an archive or of an object in a store."""
    if not isinstance(place, Path):
        return []
    return [one for one in place.parent.iterdir() if one.suffix == place.suffix and one.is_file() and _begins(one)]
