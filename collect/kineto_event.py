"""Reads an event of a Chrome trace into a row of numbers and string ids, in compiled code.

An event whose members are as expected becomes a row; one that is well formed but unusual (odd types, escapes that JSON
does not know, keys given twice) is left to the JSON path. What is taken and what is left is decided by the tables in
`Scan`, which `kineto_vocabulary` fills. Times are read digit by digit: they never are floats.

Numba renews the cached kernels of `kineto_scan` when that file changes only: touch it when this one changes.
"""

import numpy as np
import numpy.typing as npt

from .jsonscan import (
    BAD,
    FULL,
    MORE,
    UNUSUAL_BYTES,
    find,
    hash_text,
    intern,
    jit,
    read_integer,
    read_string,
    read_time,
    skip_blank,
    skip_value,
)
from .kineto_layout import (
    ARGS,
    BP,
    CAT,
    CLOSED,
    DUR,
    ECHO,
    FIRST_ROLE,
    FLOW,
    ID,
    KEPT,
    LEFT,
    LIST,
    MARK,
    MARKED,
    MEMORY,
    META,
    NAME,
    OUTCOME,
    PH,
    PHASE,
    PID,
    PID_TEXT,
    PLAIN_KIND,
    PRESENT,
    TEXT,
    TID,
    TID_TEXT,
    TOP,
    TRIPLE,
    TS,
    WHOLE,
    WHOLE_32,
    S,
    Scan,
    given,
    keep_member,
    put,
)
from .successors import (
    follows,
    remember,
    slot_after,
)

__all__ = ["read_event"]

Bytes = npt.NDArray[np.uint8]


@jit(within=True)
def _kind(s: Scan, phase: int, cat: int, name: int) -> int:
    """The kind of an event, 0 if the JSON path decides, -1 if members that decide are still to come."""
    if phase == 88:
        return s.kinds[cat] if cat >= 0 else -1
    if phase == 77:
        return META
    if phase == 115 or phase == 102 or phase == 116:
        return FLOW
    if phase == 105 or phase == 73:
        return -1 if name < 0 else MEMORY if name == TOP else MARK
    return -1 if phase == 0 else 0


@jit(within=True)
def _value(s: Scan, buf: Bytes, p: int, n: int, role: int) -> tuple[int, int]:
    """Stores the value at p as the role's: index after it (or MORE, FULL, BAD), and whether it has the role's type."""
    row, column, kind_of_value = s.row, FIRST_ROLE + role, s.types[role]
    c = buf[p]
    if kind_of_value == MARKED:
        return p, 1
    if kind_of_value == WHOLE or kind_of_value == WHOLE_32 or kind_of_value == ECHO:
        p, value, ok = read_integer(buf, p)
        row[column] = value
        return p, 1 if ok and (kind_of_value != WHOLE_32 or -0x80000000 <= value < 0x80000000) else 0
    if kind_of_value == TRIPLE and c == 91:
        ok = True
        for i in range(3):
            p, value, whole = read_integer(buf, skip_blank(buf, p + 1))
            p = skip_blank(buf, p)
            row[column + i] = value
            ok = ok and whole and 0 <= value < 0x80000000 and buf[p] == (93 if i == 2 else 44)
        return p + 1, 1 if ok else 0
    if kind_of_value == TEXT and c == 34:
        q, h, marks = read_string(buf, p + 1)
        if q >= n:
            return MORE, 0
        i = intern(s.strings, buf, p + 1, q, h, marks)
        row[column] = i
        return q + 1 if i >= 0 else i, 0 if marks & UNUSUAL_BYTES else 1
    if kind_of_value == LIST and c == 91:
        q, odd = skip_value(buf, p, n)
        if q < 0:
            return q, 0
        h, marks = hash_text(buf, p, q)
        i = intern(s.strings, buf, p, q, h, marks)
        row[column] = i
        return q if i >= 0 else i, 0 if odd else 1
    return p, 0


@jit(within=True)
def _key(s: Scan, buf: Bytes, p: int, n: int) -> tuple[int, int, int, int]:
    """From a key's opening quote: where its value begins (or MORE, BAD), its id, its hash, and oddness."""
    if p >= n or buf[p] != 34:
        return (MORE if p >= n else BAD), 0, 0, 0
    end, h, marks = read_string(buf, p + 1)
    if end >= n:
        return MORE, 0, 0, 0
    i = find(s.strings, buf, p + 1, end, h)
    p = skip_blank(buf, end + 1)
    if p >= n or buf[p] != 58:
        return (MORE if p >= n else BAD), 0, 0, 0
    return skip_blank(buf, p + 1), i, h, marks & UNUSUAL_BYTES


@jit(within=True)
def _next(s: Scan, buf: Bytes, p: int, n: int, slot: int, first: bool) -> tuple[int, int, int, int, int]:
    """From the end of a value (or behind an opening brace) to the next value: where that begins, where its key does,
    the key's id, its hash, and oddness. In place of an index: -4 where the object ends, MORE, BAD; then the second is
    the index after the object's brace.

    `slot` is that of what came before, `first` whether that is a brace.
    """
    length = follows(s.next, slot, buf, p)
    if length and buf[p + length] > 32:  # else more blanks follow than did the last time
        return p + length, p + s.next.keys[slot], s.next.ids[slot], s.next.hashes[slot], 0
    begin = p
    p = skip_blank(buf, p)
    if p >= n:
        return MORE, p, 0, 0, 0
    if buf[p] == 125:
        return CLOSED, p + 1, 0, 0, 0
    if not first:
        if buf[p] != 44:
            return BAD, p, 0, 0, 0
        p = skip_blank(buf, p + 1)
    key = p
    p, i, h, strange = _key(s, buf, p, n)
    if p >= 0 and p < n and not strange:
        remember(s.next, slot, buf, begin, key, p, i, h)
    return p, key, i, h, strange


@jit(within=True)
def _arguments(s: Scan, buf: Bytes, p: int, n: int, kind: int, left: int, present: int) -> tuple[int, int, int, int]:
    """Reads the object at p as an event's arguments: index after it, end of the leftovers, PRESENT, and oddness."""
    odd, slot, first = 0, slot_after(kind, s.row[CAT]), True
    p += 1
    while True:
        p, begin, i, h, strange = _next(s, buf, p, n, slot, first)
        slot, first = slot_after(slot, h), False
        if p == CLOSED:
            return begin, left, present, odd
        if p < 0:
            return p, left, present, odd
        odd |= strange
        role = int(s.roles[i]) if 0 <= i < len(s.roles) else -1
        keep = True
        if role >= 0 and (s.holds[kind] >> role) & 1 and buf[p] != 110:  # null says nothing: it stays
            bit = 1 << (TOP + role)
            end, ok = _value(s, buf, p, n, role)
            if end < 0 or end >= n:
                return (end if end < 0 else MORE), left, present, odd
            keep = not ok or (present & bit) != 0 or s.types[role] >= MARKED
            odd |= not ok or (present & bit) != 0
            present |= bit
            p = p if keep else end
        if keep:
            p, strange = skip_value(buf, p, n)
            if p < 0:
                return p, left, present, odd
            odd |= strange | given(s, h)
            left = left if odd else keep_member(s, buf, begin, p, left)
            if left < 0:
                return FULL, left, present, odd
        if p >= n:
            return MORE, left, present, odd


@jit(within=True)
def _lane(s: Scan, buf: Bytes, p: int, n: int, key: int) -> tuple[int, int, int]:
    """Reads a string, or a lane given as a number: index after it (or MORE, FULL), PRESENT's bits, and oddness."""
    if buf[p] == 34:
        q, h, marks = read_string(buf, p + 1)
        if q >= n:
            return MORE, 0, 0
        i = intern(s.strings, buf, p + 1, q, h, marks)
        s.row[key] = i
        text = TID_TEXT if key == TID else PID_TEXT if key == PID else 0
        return q + 1 if i >= 0 else i, (1 << key) | text, marks & UNUSUAL_BYTES
    q, value, ok = read_integer(buf, p)
    s.row[key] = value
    return (q, 1 << key, 0) if ok and key != CAT and key != NAME else (p, 0, 1)


@jit(within=True)
def read_event(s: Scan, buf: Bytes, p: int, n: int) -> int:
    """Reads the object at p as an event into the next row: index after it, or MORE, FULL or BAD.

    `at[OUTCOME]` is 1 if the JSON path has to read it; then nothing is added.
    """
    row, left = s.row, 0
    present, odd, phase, arguments = 0, 0, 0, -1
    row[CAT] = row[NAME] = kind = -1
    row[DUR] = s.at[KEPT] = 0
    slot, first = 0, True
    p += 1
    while True:
        p, begin, key, h, strange = _next(s, buf, p, n, slot, first)
        if p < 0:
            break
        slot, first = slot_after(slot, h), False
        value = p
        ok = 0 <= key < TOP and not (present >> key) & 1 and not strange
        if key == PH and buf[p] == 34 and buf[p + 1] != 92 and buf[p + 2] == 34:
            phase, p = buf[p + 1], p + 3
            slot = slot_after(slot, phase)
        elif key == CAT or key == NAME or key == PID or key == TID:
            p, bits, strange = _lane(s, buf, p, n, key)
            if key == CAT:
                slot = slot_after(slot, row[CAT])
            present, odd = present | bits, odd | strange
        elif key == TS or key == DUR:
            end, row[key], fits = read_time(buf, p)
            ok, p = ok and fits, end if fits else p
        elif key == ID:
            end, row[key], fits = read_integer(buf, p)
            ok, p = ok and fits, end if fits else p
        elif key == ARGS and buf[p] == 123:
            kind = _kind(s, phase, row[CAT], row[NAME])
            arguments = p
            if kind > 0 and not odd:
                p, left, present, strange = _arguments(s, buf, p, n, kind, left, present)
                odd |= strange
        elif key != BP and key != S:
            ok = False
        if p < 0:
            return p
        odd |= not ok
        present |= 1 << key if ok else 0
        if p == value:
            p, strange = skip_value(buf, p, n)
            odd |= strange
            if p < 0:
                return p
            if (key == BP or key == S) and not odd:
                odd |= given(s, h)
                left = keep_member(s, buf, begin, p, left)
                if left < 0:
                    return FULL
        if p >= n:
            return MORE
    if p != CLOSED:
        return p
    if odd or not present:
        return begin
    outcome = _take(s, buf, n, kind, phase, present, left, arguments)
    return begin if outcome >= 0 else outcome


@jit(within=True)
def _take(s: Scan, buf: Bytes, n: int, kind: int, phase: int, present: int, left: int, arguments: int) -> int:
    """Completes the row of an event whose members have been read, if its kind is known and it has what that needs.

    `arguments` is where they begin: they still have to be read if the kind was not known when they came.
    """
    row = s.row
    category, name = row[CAT], row[NAME]
    if kind < 0:
        kind = _kind(s, phase, category, name)
        if kind < 0:
            kind = s.at[PLAIN_KIND] if phase == 88 else 0
        if kind > 0 and arguments >= 0:
            p, left, present, odd = _arguments(s, buf, arguments, n, kind, left, present)
            if p < 0 or odd:
                return p if p < 0 else 0
    if kind <= 0 or present & s.needs[kind] != s.needs[kind]:
        return 0
    if (kind != FLOW and (present >> ID) & 1) or (phase != 88 and (present >> DUR) & 1):
        return 0
    if kind == FLOW and category != name and given(s, s.strings.hashes[NAME]):
        return 0  # the name will be added to the leftovers, where one is already
    rest = -1
    if left:
        s.left[left] = 125
        h, marks = hash_text(s.left, 0, left + 1)
        rest = intern(s.strings, s.left, 0, left + 1, h, marks)
        if rest < 0:
            return rest
    row[PHASE], row[PRESENT], row[LEFT] = phase, present, rest
    if not put(s, kind):
        return FULL
    s.at[OUTCOME] = 0
    return 0
