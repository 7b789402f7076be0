"""How events lie in memory between the scanner of Kineto traces and the tables: places, bits, counters, room."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .jsonscan import FULL, Strings, copy_bytes, jit
from .successors import Successors

__all__ = ["Scan", "given", "keep_member", "put"]

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]

ENDLESS = np.iinfo(np.int64).min
"""The duration of an event that states none."""

CLOSED = -4
"""Outcome of a scan, besides MORE (text) and FULL (no room for the next event): the array of events ends."""

PH, CAT, NAME, PID, TID, TS, DUR, ID, ARGS, BP, S, TOP = range(12)
"""String ids of an event's own keys, in the order the vocabulary interns them; TOP is that of the name `[memory]`."""

PHASE, PRESENT, LEFT, FIRST_ROLE = 12, 13, 14, 15
"""Places in the row of an event besides those numbered like keys (`CAT` to `ID`): 12 phase, 13 which members were there
(bit `key`, bit `TOP + role`), 14 string id of the leftover members as a JSON object or -1, 15 on the roles' values."""

TID_TEXT, PID_TEXT = 1 << 50, 1 << 51
"""Bits of PRESENT: the lane's number is a string id."""

WHOLE, WHOLE_32, TRIPLE, LIST, TEXT, MARKED, ECHO = range(7)
"""Types of a role: int64; int32; list of three; any list, as text; string; anything, which stays among the leftover
members and is only known to be there; an int64 that also stays among them."""

POSITION, SPANS, PLAIN_KIND, OUTCOME, KEPT, FULL_KIND, TIMED, FIRST_TIME, GAP, LOOSE, FIRST_LOOSE = range(11)
"""Indices of `Scan.at`; PLAIN_KIND is the kind of X events without a category, KEPT counts an event's leftovers,
FULL_KIND is the kind whose cells are full when that is why the outcome is FULL, else 0; once TIMED is 1, FIRST_TIME is
the time of the first event that has one. GAP is what stands between the last element and the position (below); LOOSE
counts the elements before which JSON would have another, FIRST_LOOSE is where the first of them begins."""

COUNTERS = FIRST_LOOSE + 1

NO_GAP, COMMA_WANTED, COMMA_FOUND, STRAY, UNKNOWN = range(5)
"""Values of GAP: before the first element; after an element; a comma stands after it; more than a comma stands there,
or a comma before the first element; after damage, where anything may stand."""

META, FLOW, MARK, MEMORY = 1, 2, 3, 4
"""Kinds decided by the phase; the others come from `Scan.kinds`."""


class Scan(NamedTuple):
    """All that the scanner reads besides the text, and all that it writes.

    Output: `cells`, `strings`, `spans` (start, end, damaged) and the counters `at`. The events of a kind are
    `counts[kind]` rows of `widths[kind]` cells from `bases[kind]` on, with room for `room` of them; `columns[kind]`
    says which places of `row`, where an event is gathered, the cells are.
    Decisions: `kinds` (of X events by category id), `roles` (of argument keys by string id), `types` (of roles),
    `holds` and `needs` (bits by kind). `left` (the leftover members of one event) and `seen` are scratch.
    """

    strings: Strings
    next: Successors
    row: Ints
    cells: Ints
    counts: Ints
    bases: Ints
    widths: Ints
    columns: Ints
    room: int
    left: Bytes
    spans: Ints
    at: Ints
    kinds: npt.NDArray[np.int8]
    roles: npt.NDArray[np.int8]
    types: npt.NDArray[np.int8]
    holds: Ints
    needs: Ints
    seen: Ints


@jit()
def put(s: Scan, kind: int) -> bool:
    """Adds the gathered row to those of its kind; false when there is no room for it."""
    count, width = s.counts[kind], s.widths[kind]
    if count == s.room:
        s.at[FULL_KIND] = kind
        return False
    at = s.bases[kind] + count * width
    for i in range(width):
        s.cells[at + i] = s.row[s.columns[kind, i]]
    s.counts[kind] = count + 1
    if not s.at[TIMED] and kind != META:
        s.at[TIMED], s.at[FIRST_TIME] = 1, s.row[TS]
    return True


@jit()
def keep_member(s: Scan, buf: Bytes, begin: int, end: int, left: int) -> int:
    """Adds a member, as it stands in the text, to the event's leftovers: their new end, or FULL without room."""
    if left + (end - begin) + 64 > len(s.left):
        return FULL
    s.left[left] = 44 if left else 123
    copy_bytes(s.left, left + 1, buf, begin, end)
    return left + 1 + end - begin


@jit()
def given(s: Scan, h: int) -> int:
    """Whether a leftover member with that hash of its key was there before (or too many were to tell)."""
    kept = s.at[KEPT]
    for i in range(kept):
        if s.seen[i] == h:
            return 1
    if kept == len(s.seen):
        return 1
    s.seen[kept] = h
    s.at[KEPT] = kept + 1
    return 0
