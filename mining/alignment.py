"""Aligns texts with a reference: the fewest edits that make each of them from it.

For each number of edits and each diagonal the furthest place in the reference that can be reached is kept (Ukkonen
1985; Landau and Vishkin 1989), so that a text costs its length and the square of its edits, not their product.
"""

from dataclasses import dataclass

import numpy as np

from ..store.compiled import jit
from .contents import Symbols, Texts
from .sorting import Ints

__all__ = ["DELETION", "INSERTION", "MOST_EDITS", "SUBSTITUTION", "Alignment", "align", "columns_of", "unlike"]

SUBSTITUTION, INSERTION, DELETION = 0, 1, 2
MOST_EDITS = 4096
"""Edits that are looked for, at most: the table of furthest places then takes 64 MiB."""
NOWHERE = -(1 << 30)


@dataclass(frozen=True, eq=False)
class Alignment:
    """How texts differ from a reference; the edits of a text are in its order.

    `distance` is the number of edits of each text, -1 where there are too many. Of edit k, `text[k]` is the text it
    belongs to, `column[k]` the place in the reference (an insertion stands before it), `place[k]` the place in the
    text (a deletion is missing before it), `kind[k]` what it is.
    """

    distance: Symbols
    text: Symbols
    column: Symbols
    place: Symbols
    kind: Symbols


def align(reference: Symbols, texts: Texts, limit: int) -> Alignment:
    """Aligns each text with the reference, with at most `limit` edits (and never more than `MOST_EDITS`).

    Where several scripts are equally short, the edits stand as late as they can. Memory: 4 (limit + 1)² bytes.
    """
    limit = min(limit, MOST_EDITS, int(max(len(reference), texts.size.max(initial=0))))
    return Alignment(*_align(reference, texts.symbols, texts.first, texts.stop, limit))


def unlike(reference: Symbols, texts: Texts) -> Ints:
    """For each text the least number of edits that its symbols alone, in whatever order, ask for."""
    top = int(max(reference.max(initial=0), texts.symbols.max(initial=0))) + 1
    common = np.zeros(len(texts), np.int64)
    _common(np.bincount(reference, minlength=top), texts.symbols, texts.first, texts.stop, common)
    return np.maximum(texts.size, len(reference)) - common


def columns_of(alignment: Alignment, texts: Texts) -> Symbols:
    """For each symbol of the texts, one after the other, its column; -1 for one that the reference does not have.

    A substituted symbol has none either; nor have those of a text with too many edits.
    """
    columns = np.empty(int(texts.size.sum()), np.int32)
    begins = np.searchsorted(alignment.text, np.arange(len(texts) + 1))
    _columns(alignment.distance, begins, alignment.column, alignment.place, alignment.kind, texts.size, columns)
    return columns


@jit()
def _align(
    reference: Symbols, symbols: Symbols, first: Ints, stop: Ints, limit: int
) -> tuple[Symbols, Symbols, Symbols, Symbols, Symbols]:
    furthest = np.empty((limit + 1) * (limit + 1), np.int32)
    distance = np.empty(len(first), np.int32)
    room = max(64, limit)
    text, column, place = np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int32)
    kind = np.empty(room, np.int32)
    count = 0
    for at in range(len(first)):
        edits = _reach(reference, symbols[first[at] : stop[at]], limit, furthest)
        distance[at] = edits
        if edits <= 0:
            continue
        if count + edits > room:
            room = 2 * (count + edits)
            text, column, place, kind = (
                _grown(text, room),
                _grown(column, room),
                _grown(place, room),
                _grown(kind, room),
            )
        text[count : count + edits] = at
        _trace(furthest, edits, len(reference), stop[at] - first[at], column, place, kind, count)
        count += edits
    return distance, text[:count], column[:count], place[:count], kind[:count]


@jit()
def _grown(values: Symbols, room: int) -> Symbols:
    larger = np.empty(room, values.dtype)
    larger[: len(values)] = values
    return larger


@jit()
def _reach(reference: Symbols, text: Symbols, limit: int, furthest: Symbols) -> int:
    """Fills the furthest places, row by row, until the text is reached; the number of edits, or -1.

    Row e holds the diagonals -e to e from position e² on; diagonal = place in the text - place in the reference.
    """
    rows, length = len(reference), len(text)
    goal = length - rows
    if abs(goal) > limit:
        return -1
    for edits in range(limit + 1):
        for diagonal in range(-edits, edits + 1):
            place = 0
            if edits > 0:
                place, _ = _step(furthest, edits, diagonal, rows, length)
            while 0 <= place < rows and place + diagonal < length and reference[place] == text[place + diagonal]:
                place += 1
            furthest[edits * edits + edits + diagonal] = place
        if edits >= abs(goal) and furthest[edits * edits + edits + goal] == rows:
            return edits
    return -1


@jit()
def _step(furthest: Symbols, edits: int, diagonal: int, rows: int, length: int) -> tuple[int, int]:
    """The furthest place that one more edit reaches on a diagonal, and which edit: the one named first, of equals."""
    middle = (edits - 1) * (edits - 1) + edits - 1 + diagonal
    best, kind = NOWHERE, SUBSTITUTION
    if abs(diagonal) < edits and furthest[middle] < min(rows, length - diagonal):
        best = furthest[middle] + 1 if furthest[middle] >= 0 else NOWHERE
    if abs(diagonal - 1) < edits and best < furthest[middle - 1] <= length - diagonal:
        best, kind = furthest[middle - 1], INSERTION
    if abs(diagonal + 1) < edits and 0 <= furthest[middle + 1] < rows and furthest[middle + 1] + 1 > best:
        best, kind = furthest[middle + 1] + 1, DELETION
    return best, kind


@jit()
def _trace(
    furthest: Symbols, edits: int, rows: int, length: int, column: Symbols, place: Symbols, kind: Symbols, begin: int
) -> None:
    """Writes the edits of the text that was reached last, going back from its end."""
    diagonal = length - rows
    for left in range(edits, 0, -1):
        at, step = _step(furthest, left, diagonal, rows, length)
        write = begin + left - 1
        kind[write] = step
        if step == SUBSTITUTION:
            column[write], place[write] = at - 1, at - 1 + diagonal
        elif step == INSERTION:
            column[write], place[write] = at, at - 1 + diagonal
            diagonal -= 1
        else:
            column[write], place[write] = at - 1, at + diagonal
            diagonal += 1


@jit()
def _common(there: Ints, symbols: Symbols, first: Ints, stop: Ints, common: Ints) -> None:
    left = there.copy()
    for text in range(len(first)):
        for at in range(first[text], stop[text]):
            if left[symbols[at]] > 0:
                common[text] += 1
            left[symbols[at]] -= 1
        for at in range(first[text], stop[text]):
            left[symbols[at]] = there[symbols[at]]


@jit()
def _columns(
    distance: Symbols, begins: Ints, column: Symbols, place: Symbols, kind: Symbols, size: Ints, columns: Symbols
) -> None:
    write = 0
    for text in range(len(size)):
        shift, at = 0, 0
        for edit in range(begins[text], begins[text + 1]):
            for now in range(at, place[edit]):
                columns[write + now] = now + shift
            at = place[edit]
            if kind[edit] == DELETION:
                shift += 1
                continue
            columns[write + at] = -1
            at += 1
            if kind[edit] == INSERTION:
                shift -= 1
        for now in range(at, size[text]):
            columns[write + now] = now + shift if distance[text] >= 0 else -1
        write += size[text]
