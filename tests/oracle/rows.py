"""What an oracle and a trace both say of a file: rows of kernels, copies, fills and calls, as sorted tuples.

An oracle is a module named after a format with `read(path) -> Rows`: slow, obvious, of the standard library only, but
for Arrow where the files are Arrow's own. It raises whatever it likes for a file that is damaged or says something that
cannot be: then a reader must refuse the file or leave a note. `Odd` is for what is neither damaged nor usual: readers
may make of it what they can.
"""

import bz2
import gzip
import importlib
import lzma
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NoReturn

from tracelode.store import Trace

__all__ = [
    "COLUMNS",
    "Damaged",
    "Odd",
    "Row",
    "Rows",
    "constant",
    "database",
    "difference",
    "disagreement",
    "members",
    "of_trace",
    "oracle_of",
    "rows",
    "table",
    "unpacked",
]

COLUMNS = {
    "kernel": ("process", "device", "stream", "start_ns", "end_ns", "name", "correlation"),
    "copy": ("process", "device", "stream", "start_ns", "end_ns", "kind", "bytes", "correlation"),
    "fill": ("process", "device", "stream", "start_ns", "end_ns", "bytes", "correlation"),
    "api": ("process", "thread", "start_ns", "end_ns", "name", "correlation"),
    "allocation": ("device", "kind", "address", "bytes", "birth_ns", "death_ns"),
    "range": ("process", "thread", "start_ns", "end_ns", "name"),
    "fault": ("process", "device", "processor", "start_ns", "end_ns", "address", "pages", "kind"),
    "launch_memory": (
        "launch", "kernel", "op", "op_id", "accesses", "objects", "memory_working_set_bytes",
        "tensor_working_set_bytes", "memory_footprint_bytes", "tensor_footprint_bytes", "args",
    ),
    "access": ("launch", "kernel", "object", "object_id", "object_bytes", "granularity", "window", "accesses"),
    "counter": ("device", "name", "time_ns", "value", "unit"),
    "device": ("device", "name"),
    "label": ("name", "value"),
    "node": (
        "id", "parent", "name", "external", "sequence", "thread", "kind", "start_ns", "time_ns", "control", "data",
    ),
    "total": ("depth", "name", "kind", "device_kind", "count", "time_ns", "device", "args"),
    "migration": ("process", "device", "kind", "start_ns", "end_ns", "address", "bytes", "cause"),
}  # fmt: skip
"""Their columns; `label` is no table of a trace but the labels among its facts."""

ALWAYS = ("kernel", "copy", "fill", "api")
"""Tables that every oracle reads; of the others those it names."""

Row = tuple[Any, ...]
Rows = dict[str, list[Row]]
PACKINGS = {b"\x1f\x8b": gzip.decompress, b"\xfd7zXZ": lzma.decompress, b"BZh": bz2.decompress}
FARTHEST = 2**62


class Damaged(Exception):  # noqa: N818 - named for the fault
    """The file is not what its format is: a reader refuses it, or notes what it lost."""


class Odd(Exception):  # noqa: N818 - named for the fault
    """The file is whole, but says something that its format has no meaning for."""


def oracle_of(format: str) -> Callable[[Path], Rows] | None:
    """The oracle of the format, where there is one."""
    name = f"tests.oracle.{format}"
    return importlib.import_module(name).read if (Path(__file__).parent / f"{format}.py").is_file() else None


def rows(**tables: Iterable[Row]) -> Rows:
    """The tables, each sorted; an end before its start is damage, and so is text that is not UTF-8."""
    found = {name: sorted(content, key=repr) for name, content in tables.items()}
    for name, content in found.items():
        texts = "".join(value for row in content for value in row if isinstance(value, str))
        if "\ufffd" in texts:
            raise Damaged(f"a {name} whose text is no text")
        if any("\ud800" <= letter <= "\udfff" for letter in texts):
            raise Odd(f"a {name} with half a character")
        if "end_ns" in COLUMNS[name]:
            start, end = (COLUMNS[name].index(column) for column in ("start_ns", "end_ns"))
            times = [(row[start], row[start] if row[end] is None else row[end]) for row in content]
            if any(ended < begun or not -FARTHEST < begun <= ended < FARTHEST for begun, ended in times):
                raise Damaged(f"a {name} whose times cannot be")
    return found


def of_trace(trace: Trace) -> Rows:
    """The same rows of a trace in an archive."""
    found: Rows = {"label": sorted(trace.facts.labels.items(), key=repr)}
    for name, columns in COLUMNS.items():
        if name in trace.files:
            table = trace.arrow(name).to_pydict()
            found[name] = sorted(zip(*(table[column] for column in columns), strict=True), key=repr)
    return found


def unpacked(path: Path) -> bytes:
    """The content of the file, decompressed where it is packed."""
    content = path.read_bytes()
    unpack = next((unpack for magic, unpack in PACKINGS.items() if content.startswith(magic)), None)
    return unpack(content) if unpack else content


def constant(name: str) -> NoReturn:
    """For `json.loads`: `Odd` for a number that JSON does not have, such as NaN."""
    raise Odd(f"{name} is no number of JSON")


def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """For `json.loads`: the object of those members; `Odd` where one is there twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise Odd("a member that is there twice")
    return found


def database(path: Path) -> Iterator[sqlite3.Connection]:
    """The database in the file; once, as `for database in database(path)`."""
    with closing(sqlite3.connect(":memory:")) as found:
        found.deserialize(unpacked(path))
        found.text_factory = lambda text: text.decode(errors="replace")
        yield found


def table(database: sqlite3.Connection, name: str, *columns: str) -> Iterator[Row]:
    """Those columns of a table; None for a column that it does not have, nothing when there is no such table."""
    there = {row[1] for row in database.execute(f'pragma table_info("{name}")')}
    if not there:
        return
    if [row for (row,) in database.execute(f'pragma quick_check("{name}")')] != ["ok"]:
        raise Damaged(f"{name} is damaged")
    chosen = ", ".join(f'"{column}"' if column in there else "null" for column in columns)
    for row in database.execute(f'select {chosen} from "{name}" not indexed'):
        if any(isinstance(value, float | bytes) for value in row):
            raise Odd(f"{name}: a value that is neither a whole number nor text")
        yield row


def disagreement(format: str, path: Path, trace: Trace, benign: frozenset[str] = frozenset()) -> str | None:
    """What is wrong with what a reader made of a file: "" where the oracle says the same, None where it says nothing.

    Without a note (but for benign ones) the oracle must be able to read the file, and must say the same.
    """
    oracle = oracle_of(format)
    noted = {note.kind for note in trace.notes} - benign
    if oracle is None or noted:
        return None
    try:
        told = oracle(path)
    except Odd:
        return None
    except Exception as error:  # noqa: BLE001 - whatever stops the oracle is damage
        return f"read without a note, but the oracle cannot: {error!r}"
    return difference(told, of_trace(trace)) or ""


def difference(told: Rows, trace: Rows) -> str | None:
    """Where a trace says otherwise than its oracle; None where it does not.

    A column of which the oracle says nothing in any row, and a table that it does not read, are not compared.
    """
    for name in dict.fromkeys((*ALWAYS, *told)):
        expected, found = told.get(name, []), trace.get(name, [])
        silent = {at for at in range(len(COLUMNS[name])) if all(row[at] is None for row in expected)}
        found = sorted((tuple(None if at in silent else v for at, v in enumerate(row)) for row in found), key=repr)
        if len(expected) != len(found):
            return f"{name}: {len(found)} rows, {len(expected)} expected"
        for one, other in zip(expected, found, strict=True):
            if one != other:
                return f"{name}: {dict(zip(COLUMNS[name], other, strict=True))}, expected {one}"
    return None
