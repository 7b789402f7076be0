"""Events whose times cannot be: found, told apart from what is merely unusual, and marked in the column `flaw`.

A flawed event stays in its table with its end set to its start; `args` keeps the end the source gave. What is
unusual but possible (work that overlaps on a stream, a kernel before its launch) is counted and left as it is.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute

from ..store.columns import NEGATIVE, NO_END, NO_START, OVERFLOW, OVERLONG
from ..store.tables import TABLES
from .kineto_args import with_member
from .launches import Launches, case
from .overlaps import Overlaps
from .spool import nulls, whole

__all__ = ["MEANINGS", "Marking", "known_sizes", "row_flaws"]

pc: Any = pyarrow.compute  # its functions are made at import, so its types say nothing
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

UNMEASURED = "kept without a duration, in no sum"
LEFT_OUT = f"{UNMEASURED}; `args` has the recorded end"
MEANINGS = {
    NEGATIVE: f"events that end before they start: {LEFT_OUT}",
    OVERFLOW: f"events of more than 30 days, as where a counter overflowed: {LEFT_OUT}",
    OVERLONG: f"work that runs on over later work of its stream, far longer than its like: {LEFT_OUT}",
    NO_END: f"events of no known end: {UNMEASURED}",
    NO_START: f"events at 0 while all else has times, or beyond the clock: {LEFT_OUT}",
}
"""What the note about each flaw says; its kind is the flaw's words joined by dashes."""

ENDED = frozenset(n for n, table in TABLES.items() if any(c.required and c.name == "end_ns" for c in table.columns))
"""Tables whose events all have an end."""

SIZED = frozenset({"copy", "fill"})
LONGEST_NS = 30 * 86_400 * 10**9
FARTHEST_NS = 1 << 62
"""Unix time reaches this in 2116: a clock that shows more, or less than its negative, has overflowed."""
APART_NS = 10**9
"""Work at 0 has no time if all other work starts so long after: its clock counts from elsewhere."""


def row_flaws(piece: pa.Table, table: str, note: Callable[..., None]) -> pa.Table:
    """The rows, marked where a row alone shows to be wrong: no end, one before the start, or times that cannot be.

    For any table; one without start and end comes back as it is. Two passes over the times where nothing is wrong.
    """
    if "start_ns" not in piece.column_names or "end_ns" not in piece.column_names or not len(piece):
        return piece
    if piece["end_ns"].null_count and table in ENDED:
        piece = _marked(piece, table, piece["end_ns"].is_null().to_numpy(), NO_END, note)
    start = piece["start_ns"].to_numpy()
    end = (
        pc.coalesce(piece["end_ns"], piece["start_ns"]) if piece["end_ns"].null_count else piece["end_ns"]
    ).to_numpy()
    if int(start.max()) >= FARTHEST_NS or int(start.min()) < -FARTHEST_NS:
        beyond = (start >= FARTHEST_NS) | (start < -FARTHEST_NS)
        piece, end = _marked(piece, table, beyond, NO_START, note), np.where(beyond, start, end)
    # The difference wraps around; without its sign a negative one is larger than any other.
    wrong = (end - start).view(np.uint64) > LONGEST_NS
    if not wrong.any():
        return piece
    piece = _marked(piece, table, wrong & (end < start), NEGATIVE, note)
    return _marked(piece, table, wrong & (end > start), OVERFLOW, note)


def known_sizes(piece: pa.Table, table: str, note: Callable[..., None]) -> pa.Table:
    """The rows of copies and fills, those of fewer than no bytes without a size; other tables come back as they are."""
    if table not in SIZED or "bytes" not in piece.column_names:
        return piece
    sizes = whole(piece["bytes"])
    wrong = pc.fill_null(pc.less(sizes, 0), False)
    if not (count := pc.sum(wrong).as_py()):
        return piece
    example = f"{table}: {sizes.filter(wrong)[0].as_py()} bytes"
    meaning = "copies and fills of fewer than no bytes: of no known size, `args` has the recorded one"
    note("negative-size", meaning, count=count, example=example)
    args = _with_recorded(piece.filter(wrong), "bytes")
    return _with(_with(piece, "args", wrong, args), "bytes", wrong, pa.nulls(count, sizes.type))


class Marking:
    """Marks device work where other rows show a row to be wrong; counts what is unusual over all blocks of a trace.

    `first_ns` is the least start of all device work but 0, None when there is none.
    """

    def __init__(self, first_ns: int | None, note: Callable[..., None]) -> None:
        self._note = note
        self._apart = first_ns is not None and first_ns >= APART_NS
        self._overlaps, self._launches = Overlaps(), Launches()

    def mark(self, work: dict[str, pa.Table]) -> dict[str, pa.Table]:
        """The tables `kernel`, `copy` and `fill` of a block, marked: flaw, end and `args` of flawed rows are changed.

        They are linked and sorted by process, device, stream and start; a block holds all work of a stream in which it
        overlaps. Linear, but for the rows of a stream that are in several tables, which are merged.
        """
        if self._apart:
            work = {name: _marked(table, name, _at_zero(table), NO_START, self._note) for name, table in work.items()}
        for name, rows in self._overlaps.check(work).items():
            work = work | {name: _marked(work[name], name, rows, OVERLONG, self._note)}
        self._launches.check(work)
        return work

    def finish(self) -> None:
        """Notes what was counted."""
        self._overlaps.tell(self._note)
        self._launches.tell(self._note)


def _at_zero(table: pa.Table) -> Bools:
    """Which rows start and end at 0 and are not marked yet."""
    at_zero = (table["start_ns"].to_numpy() == 0) & (table["end_ns"].to_numpy() == 0)
    return at_zero & table["flaw"].is_null().to_numpy() if at_zero.any() else at_zero


def _marked(piece: pa.Table, table: str, rows: Bools, flaw: str, note: Callable[..., None]) -> pa.Table:
    """The piece with those rows marked, counted in a note."""
    count = int(rows.sum())
    if not count:
        return piece
    mask = pa.array(rows)
    flawed = piece.filter(mask)
    first = flawed.slice(0, 1).to_pylist()[0]
    length = "" if first["end_ns"] is None else f", {first['end_ns'] - first['start_ns']} ns long"
    example = f"{case(flawed, table, pa.chunked_array([[True]]))}{length}"
    note(flaw.replace(" ", "-"), MEANINGS[flaw], count=count, example=example)
    for name, values in _repaired(flawed, table, flaw).items():
        piece = _with(piece, name, mask, values)
    return piece


def _repaired(flawed: pa.Table, table: str, flaw: str) -> dict[str, pa.Array]:
    """What the columns of flawed rows become."""
    columns: dict[str, pa.Array] = {"end_ns": whole(flawed["start_ns"])}
    if "flaw" in TABLES[table].names:
        columns["flaw"] = pa.repeat(flaw, len(flawed))
    if "args" in TABLES[table].names and flaw != NO_END:
        columns["args"] = _with_recorded(flawed, "end_ns")
    return columns


def _with_recorded(flawed: pa.Table, column: str) -> pa.Array:
    """The arguments of the rows, with what the source gave for that column."""
    given = pa.nulls(len(flawed), pa.string())
    if "args" in flawed.column_names:
        given = flawed["args"].cast(pa.string())
        given = pc.if_else(pc.equal(given, "{}"), None, given)
    return whole(with_member(given, f"recorded_{column}", flawed[column].cast(pa.string())).cast(pa.string()))


def _with(piece: pa.Table, name: str, mask: pa.Array, values: pa.Array) -> pa.Table:
    """The piece with those values in the column, in order, where the mask is true; the column keeps its type."""
    if name not in piece.column_names:
        piece = piece.append_column(name, nulls(len(piece), values.type))
    at = piece.schema.get_field_index(name)
    field = piece.schema.field(at)
    column = whole(piece[name])
    text = pa.types.is_dictionary(field.type)
    replaced = pc.replace_with_mask(column.cast(pa.string()) if text else column, mask, values)
    return piece.set_column(at, field, replaced.dictionary_encode() if text else replaced)
