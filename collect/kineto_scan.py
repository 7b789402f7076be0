"""Scans Chrome trace events into rows of numbers and string ids, without a Python object per event.

One pass over the bytes: each event is read by `kineto_event`; one that is left to the JSON path becomes a byte span,
and one that is not well formed ends where the next event seems to begin. What stands between events is looked at, too.
"""

import numpy as np
import numpy.typing as npt

from .jsonscan import (
    BAD,
    FULL,
    MORE,
    find,
    jit,
    read_string,
    skip_blank,
    skip_value,
)
from .kineto_event import read_event
from .kineto_layout import (
    CAT,
    CLOSED,
    COMMA_FOUND,
    COMMA_WANTED,
    FIRST_LOOSE,
    FULL_KIND,
    GAP,
    LOOSE,
    NO_GAP,
    OUTCOME,
    PH,
    POSITION,
    SPANS,
    STRAY,
    TOP,
    UNKNOWN,
    Scan,
)

__all__ = ["scan"]

Bytes = npt.NDArray[np.uint8]


@jit()
def _resume(s: Scan, buf: Bytes, p: int, n: int, between: bool) -> int:
    """Where the next event seems to begin: a brace and one of an event's own keys; n if nowhere.

    A key that also stands in arguments counts only where a comma, a bracket or a brace is before the brace, or where
    the search begins `between` events and this is the first brace.
    """
    before = 44 if between else 0
    while p < n:
        c = buf[p]
        if c == 123:
            q = skip_blank(buf, p + 1)
            if q < n and buf[q] == 34:
                end, h, _ = read_string(buf, q + 1)
                key = find(s.strings, buf, q + 1, end, h) if end < n else -1
                colon = skip_blank(buf, end + 1) if end < n else n
                after = before == 44 or before == 91 or before == 93 or before == 125
                if colon < n and buf[colon] == 58 and (key == PH or key == CAT or (0 <= key < TOP and after)):
                    return p
        if c > 32 and not (between and c != 123 and c != 34):
            before, between = c, False
        p += 1
    return n


@jit()
def _between(s: Scan, buf: Bytes, p: int, n: int) -> int:
    """From the end of an element to what comes next, commas and blanks passed over: its index, and GAP."""
    gap = s.at[GAP]
    while True:
        c = buf[p]
        if c == 44:
            gap = COMMA_FOUND if gap == COMMA_WANTED else UNKNOWN if gap == UNKNOWN else STRAY
        elif c > 32 or p >= n:
            s.at[GAP] = gap
            return p
        elif c != 32 and c != 10 and c != 13 and c != 9 and gap != UNKNOWN:
            gap = STRAY
        p += 1


@jit()
def _tell_gap(s: Scan, p: int, one: int, other: int) -> None:
    """Counts the gap before p, unless it is one of those, or unknown: once, for then it is unknown."""
    gap = s.at[GAP]
    if gap != one and gap != other and gap != UNKNOWN:
        if s.at[LOOSE] == 0:
            s.at[FIRST_LOOSE] = p
        s.at[LOOSE] += 1
        s.at[GAP] = UNKNOWN


@jit()
def scan(s: Scan, buf: Bytes, p: int, n: int, final: bool) -> int:
    """Reads elements of the array of events from p on: MORE, FULL, or CLOSED; `at[POSITION]` is where it stopped.

    `final`: nothing follows after n. Then what begins at the position and MORE comes back is cut off.
    """
    s.at[FULL_KIND] = 0
    while True:
        p = _between(s, buf, p, n)
        s.at[POSITION] = p
        if p >= n:
            return MORE
        if s.at[SPANS] == len(s.spans):
            return FULL
        c = buf[p]
        s.at[OUTCOME] = 1
        if c == 93:
            q = skip_blank(buf, p + 1)
            comma = q < n and buf[q] == 44
            q = skip_blank(buf, q + 1) if comma else q
            if q >= n and not final:
                return MORE
            if not comma or buf[q] != 123:
                _tell_gap(s, p, NO_GAP, COMMA_WANTED)
                s.at[POSITION], s.at[GAP] = p + 1, NO_GAP
                return CLOSED
            end = BAD
        elif c == 123:
            end = read_event(s, buf, p, n)
        else:
            end, odd = skip_value(buf, p, n)
            if end >= 0:
                q = skip_blank(buf, end)
                end = BAD if odd or (q < n and buf[q] != 44 and buf[q] != 93) else MORE if q >= n else end
        if end == MORE or end == FULL:
            return end
        damaged = end == BAD
        _tell_gap(s, p, NO_GAP, COMMA_FOUND)
        if damaged:
            end = _resume(s, buf, p if c != 123 else p + 1, n, c != 123)
            if end == n and not final:
                return MORE
        if s.at[OUTCOME] or damaged:
            i = s.at[SPANS]
            s.spans[i, 0], s.spans[i, 1], s.spans[i, 2] = p, end, damaged
            s.at[SPANS] = i + 1
        s.at[GAP] = UNKNOWN if damaged else COMMA_WANTED
        p = end
