"""The CSV tables of rocprof and rocprofv3: a row of names, then a row an event; texts in double quotes."""

import csv
from collections.abc import Iterable, Iterator

from .rocprof_rows import Rows

__all__ = ["header_of", "read_table"]

LONGEST_VALUE = 4 << 20
"""Characters of a value: enough for any name, and few enough for a quote that is open to end somewhere."""

LONGEST_KEPT = 1 << 20


def header_of(head: bytes) -> tuple[str, ...]:
    """The names in the first line; empty where that is no line of CSV."""
    line = head.removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)[0]
    if b"\0" in line or len(line) > 1 << 16:
        return ()
    try:
        return tuple(next(csv.reader([line.decode().strip()]), ()))
    except (UnicodeDecodeError, csv.Error):
        return ()


def read_table(blocks: Iterable[bytes], rows: Rows) -> Iterator[dict[str, str]]:
    """The rows by name of column. A row that is torn, or has another number of values, goes to `other`."""
    read: list[str] = []
    every = _lines(blocks, rows)
    header = _header(next(every, ""), rows)
    lines = csv.reader(_kept(every, read), strict=True)
    while True:
        read.clear()
        try:
            values = _row(lines)
        except csv.Error:
            values = _loosely(read, rows)
        if values is None:
            return
        if len(values) == len(header):
            yield dict(zip(header, values, strict=True))
        elif values:
            line = ",".join(values)
            rows.sink.note("damaged", "lines that are no row of the table: kept in `other`", example=line[:120])
            rows.other("damaged", line)


def _header(line: str, rows: Rows) -> list[str]:
    """The names in the first line, which is one by itself, as `header_of` takes it: a quote that is open ends there."""
    line = line.strip()
    try:
        return next(csv.reader([line], strict=True), [])
    except csv.Error:
        return _loosely([line], rows)


def _kept(lines: Iterable[str], read: list[str]) -> Iterator[str]:
    """The lines; each is in the list too, until that is cleared."""
    for line in lines:
        read.append(line)
        yield line


def _row(reader: Iterator[list[str]]) -> list[str] | None:
    """The next row; None at the end.

    The csv module's limit of 128 KiB a value is one for the whole process: it is raised for as long as this takes.
    """
    before = csv.field_size_limit(LONGEST_VALUE)
    try:
        return next(reader, None)
    finally:
        csv.field_size_limit(before)


def _loosely(lines: list[str], rows: Rows) -> list[str]:
    """The values of a row with quotes that do not pair up, which are text then; none where it is no row even so."""
    try:
        values = _row(csv.reader(lines)) or []
    except csv.Error as error:  # a line end within a row, or a value of more than 4 MiB
        meaning = "lines that are no CSV: kept in `other`, up to a million characters of each"
        rows.sink.note("lost-line", meaning, example=str(error))
        rows.other("damaged", "".join(lines)[:LONGEST_KEPT])
        return []
    meaning = "lines in which quotes do not pair up: read as text, so that a value may be longer or shorter"
    rows.sink.note("loose-quote", meaning, example=lines[0][:120])
    return values


def _lines(blocks: Iterable[bytes], rows: Rows) -> Iterator[str]:
    """The lines, their line ends kept; bytes that are not UTF-8 become the replacement character, and are counted."""
    rest, first = b"", True
    for block in blocks:
        if first:
            block, first = block.removeprefix(b"\xef\xbb\xbf"), False
        *whole, rest = (rest + block).split(b"\n")
        for line in whole:
            yield _text(line, rows) + "\n"
    if rest:
        last = _text(rest, rows)
        meaning = "the last line has no line end: where it is cut off, its last value is too short"
        rows.sink.note("unterminated", meaning, example=last[:120])
        yield last


def _text(line: bytes, rows: Rows) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:
        meaning = "bytes that are not UTF-8: each read as the replacement character"
        text = line.decode(errors="replace")
        rows.sink.note("invalid-utf8", meaning, example=text[:120])
        return text
