"""What the pages of a Parquet file say they unpack to, before any of them is unpacked: a footer can say less.

Footer and headers are Thrift's compact protocol (https://parquet.apache.org/docs/file-format, FileMetaData, PageHeader;
https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md). Arrow is not asked for a column's
place: where the footer is damaged its answer can be the end of the process.
"""

import mmap
from pathlib import Path
from typing import Any

__all__ = ["unpacked_bytes"]

MAGIC = b"PAR1"
ROW_GROUPS, COLUMNS, CHUNK = 4, 1, 3
CHUNK_PACKED, DATA_PAGE, DICTIONARY_PAGE = 7, 9, 11
PAGE_UNPACKED, PAGE_PACKED = 2, 3
"""Numbers of fields: in FileMetaData, RowGroup, ColumnChunk; in ColumnMetaData; in PageHeader."""

TRUE, FALSE, BYTE, DOUBLE, BINARY, LIST, SET, STRUCT = 1, 2, 3, 7, 8, 9, 10, 12
WHOLE = (4, 5, 6)
DEEPEST = 12
BEYOND = "a page or footer beyond the end of the file"


class _Reader:
    """Reads values of the compact protocol one after another; `ValueError` at the end of the data, or for nonsense."""

    def __init__(self, data: mmap.mmap, at: int) -> None:
        self.data, self.at = data, at

    def byte(self) -> int:
        if not 0 <= self.at < len(self.data):
            raise ValueError(BEYOND)
        self.at += 1
        return self.data[self.at - 1]

    def number(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 63:
                raise ValueError("a number that does not end")

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """A structure by field: whole numbers, structures and lists of them; texts and the like are passed over."""
        found: dict[int, Any] = {}
        field = 0
        while head := self.byte():
            field = field + (head >> 4) if head >> 4 else self.value(WHOLE[0], depth)
            found[field] = None if head & 15 in (TRUE, FALSE) else self.value(head & 15, depth)
        return found

    def value(self, kind: int, depth: int) -> Any:
        if depth > DEEPEST:
            raise ValueError("a footer or header that is too deep")
        if kind in WHOLE:
            number = self.number()
            return (number >> 1) ^ -(number & 1)
        if kind == STRUCT:
            return self.struct(depth + 1)
        if kind in (LIST, SET):
            head = self.byte()
            size = head >> 4 if head >> 4 < 15 else self.number()
            return [self.value(head & 15, depth + 1) for _ in range(size)]
        if kind not in (TRUE, FALSE, BYTE, DOUBLE, BINARY):
            raise ValueError("a footer or page header that is not one")
        length = self.number() if kind == BINARY else 8 if kind == DOUBLE else 1
        self.at += length
        if self.at > len(self.data):  # or a list of such values would be as long as it says
            raise ValueError(BEYOND)
        return None


def unpacked_bytes(path: Path) -> int:
    """The sum of what all pages say they unpack to; `ValueError` where one of them is none, or two are one."""
    total = packed = 0
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        if len(data) < 12 or data[-4:] != MAGIC:
            raise ValueError("no footer")
        footer = _Reader(data, len(data) - 8 - int.from_bytes(data[-8:-4], "little")).struct()
        for group in _list(footer, ROW_GROUPS):
            for column in _list(group, COLUMNS):
                chunk = column.get(CHUNK)
                if not isinstance(chunk, dict):
                    continue  # its pages are in another file, which is not opened
                size = _number(chunk, CHUNK_PACKED)
                packed += size
                if packed > len(data):
                    raise ValueError("columns that overlap")
                begins = [at for at in map(chunk.get, (DICTIONARY_PAGE, DATA_PAGE)) if isinstance(at, int) and at]
                total += _chunk(data, min(begins), size) if begins else 0
    return total


def _chunk(data: mmap.mmap, begin: int, size: int) -> int:
    total, reader = 0, _Reader(data, begin)
    while reader.at < begin + size:
        page = reader.struct()
        total += _number(page, PAGE_UNPACKED)
        reader.at += _number(page, PAGE_PACKED)
    return total


def _list(found: dict[int, Any], field: int) -> list[dict[int, Any]]:
    several = found.get(field)
    if not isinstance(several, list) or not all(isinstance(one, dict) for one in several):  # pyright: ignore[reportUnknownVariableType] - of any kind
        raise ValueError("a footer that is not one")
    return several  # pyright: ignore[reportUnknownVariableType] - looked at above


def _number(found: dict[int, Any], field: int) -> int:
    number = found.get(field)
    if not isinstance(number, int) or number < 0:
        raise ValueError("a page without its size")
    return number
