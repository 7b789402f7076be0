"""What nvprof prints: lines, tables in one of two forms (comma-separated, or padded to columns), and quantities.

A comma-separated table has a row of units under its header; in a padded one the unit stands in each cell.
"""

import codecs
import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

from .files import TraceFile

__all__ = ["LONGEST_LINE", "MARKED", "Layout", "decoder_of", "layout_of", "lines", "quantity", "with_units"]

MARKED = re.compile(r"={2}(\d+)={2} (.*)|={8} (.*)")
"""A line of nvprof's own: `==pid== text` of a run, `======== text` of an imported profile."""

GAP = re.compile(r"\s{2,}")
TIMES = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
SIZES = {"B": 1, **{f"{prefix}B": 1024**power for power, prefix in enumerate("KMGT", 1)}}
UNIT = re.compile(r"[KMGT]?B(/s)?|[mun]?s|%|")
NUMBER = re.compile(r"(-?[0-9]{1,19})(?:\.([0-9]{1,19}))?([A-Za-z]{0,2})")
MOST = 2**62
LONGEST_LINE = 1 << 20
"""Characters at which a longer line is cut."""

EMPTY = ("", "-")


@dataclass(frozen=True)
class Layout:
    """A printed table: its columns, their units where a row gave them, and whether commas part its cells."""

    columns: tuple[str, ...]
    commas: bool
    units: Mapping[str, str]

    @cached_property
    def is_trace(self) -> bool:
        """Whether its rows are events, not sums over them."""
        return {"Start", "Duration", "Name"} <= set(self.columns)

    @cached_property
    def is_summary(self) -> bool:
        """Whether it is one of the summaries that need no line of nvprof's own above them."""
        return {"Time(%)", "Time", "Name"} <= set(self.columns)

    def is_loose(self, line: str) -> bool:
        """Whether quotes in the row do not pair up: its cells may be longer or shorter than they were."""
        try:
            return self.commas and next(csv.reader([line], strict=True), None) is None
        except csv.Error:
            return True

    def cells(self, line: str) -> dict[str, str] | None:
        """The cells of a row that are not empty, by column; None when the line is no row of this table."""
        found = _split(line, len(self.columns), commas=self.commas)
        spare = len(found) - len(self.columns)
        if spare > 0 and "Name" in self.columns:
            at = self.columns.index("Name")
            name = ",".join(found[at : at + spare + 1])
            if name in line:  # a name with commas that has no quotes; two rows run into one have quotes in between
                found[at : at + spare + 1] = [name]
        if len(found) != len(self.columns):
            return None
        cells = {name: cell.strip() for name, cell in zip(self.columns, found, strict=True)}
        return {name: cell for name, cell in cells.items() if cell not in EMPTY}


def layout_of(line: str) -> Layout | None:
    """The table whose header the line may be; None when it has but one cell."""
    stripped = line.strip()
    commas = not GAP.search(stripped) and "," in stripped
    columns = [cell.strip().rstrip("*") for cell in _split(line, 0, commas=commas)]
    return Layout(tuple(columns), commas, {}) if len(columns) > 1 and len(set(columns)) == len(columns) else None


def with_units(layout: Layout, line: str) -> Layout | None:
    """The table with its units, when the line is its row of units."""
    if not layout.commas or layout.units:
        return None
    units = [unit.strip() for unit in _split(line, 0, commas=True)]
    if len(units) != len(layout.columns) or not any(units) or not all(UNIT.fullmatch(unit) for unit in units):
        return None
    return Layout(layout.columns, True, dict(zip(layout.columns, units, strict=True)))


@lru_cache(maxsize=1 << 16)
def quantity(text: str, unit: str, *, time: bool) -> tuple[int, int] | None:
    """A time in ns or a size in bytes, exact to its last digit, and the step of that digit; None if it is neither.

    The unit is the one written with the number, else the column's. Halves of a unit round to the even number.
    """
    number = NUMBER.fullmatch(text)
    scale = (TIMES if time else SIZES).get(number[3] or unit or ("ns" if time else "B")) if number else None
    if number is None or scale is None:
        return None
    fraction = number[2] or ""
    parts = 10 ** len(fraction)
    whole, rest = divmod(int(number[1] + fraction) * scale, parts)
    value = whole + (2 * rest > parts or (2 * rest == parts and whole % 2))
    return (value, scale // parts) if abs(value) < MOST else None


def lines(file: TraceFile) -> Iterator[tuple[str, bool]]:
    """The lines of the file without their ends, and whether each had one. Bytes that are no text are replaced.

    A line of more than a million characters is cut there.
    """
    decoder = decoder_of(file.head)
    rest = ""
    for block in file.blocks():
        *whole, rest = (rest + decoder.decode(block)).split("\n")
        for line in whole:
            yield line.removesuffix("\r")[:LONGEST_LINE], True
        rest = rest[: 2 * LONGEST_LINE]
    rest += decoder.decode(b"", final=True)
    if rest:
        yield rest[:LONGEST_LINE], False


def decoder_of(head: bytes) -> codecs.IncrementalDecoder:
    """The decoder of the file: UTF-8, or UTF-16 where a byte order mark says so (output kept by PowerShell)."""
    wide = head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return codecs.getincrementaldecoder("utf-16" if wide else "utf-8-sig")(errors="replace")


def _split(line: str, columns: int, *, commas: bool) -> list[str]:
    if not commas:
        return GAP.split(line.strip(), max(columns - 1, 0))
    try:
        return next(csv.reader([line]), [])
    except csv.Error:  # a cell of more than 128 KiB
        return []
