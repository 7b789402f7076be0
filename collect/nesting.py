"""Which span is innermost at a moment: one pass with a stack over spans and moments sorted by lane and time."""

import numpy as np
import numpy.typing as npt

from ..store.compiled import jit

__all__ = ["Nesting"]

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]

TOP, COUNT, NEXT, LANE = range(4)
"""What is kept between pieces: spans on the stack, spans so far, the moment that is next, the lane of the stack."""

INDEX, END, CARRIED = range(3)
"""Rows of the stack: the number of an open span, when it ends, and what it carries."""


class Nesting:
    """Takes spans in pieces, numbered as they come; tells for each the one around it, and for moments the innermost.

    Spans are half open and sorted by (lane, start, -end) over all pieces, the moments of the lanes by (lane, time).
    """

    def __init__(self, lane: Codes, moment: Ints) -> None:
        self._lane, self._moment = lane, moment
        self._span = np.empty(len(moment), np.int32)
        self._carried = np.empty(len(moment), np.int64)
        self._stack = np.empty((3, 0), np.int64)
        self._state = np.array([0, 0, 0, -1], np.int64)

    def add(self, lane: Codes, start: Ints, end: Ints, carried: Ints) -> tuple[Codes, Codes]:
        """The number of the span right around each, or -1, and how many are around it."""
        room = np.empty((3, int(self._state[TOP]) + len(start)), np.int64)
        room[:, : self._state[TOP]] = self._stack[:, : self._state[TOP]]
        self._stack = room
        parent, depth = np.empty(len(start), np.int32), np.empty(len(start), np.int32)
        _sweep(lane, start, end, carried, parent, depth, *self._moments(), False)
        return parent, depth

    def finish(self) -> tuple[Codes, Ints]:
        """The number of the innermost span that is open at each moment, or -1, and what it carries, if there is one."""
        nothing, none = np.empty(0, np.int64), np.empty(0, np.int32)
        _sweep(none, nothing, nothing, nothing, none, none, *self._moments(), True)
        return self._span, self._carried

    def _moments(self) -> tuple[Codes, Ints, Codes, Ints, Ints, Ints]:
        return self._lane, self._moment, self._span, self._carried, self._stack, self._state


@jit()
def _sweep(
    lane: Codes,
    start: Ints,
    end: Ints,
    carried: Ints,
    parent: Codes,
    depth: Codes,
    moment_lane: Codes,
    moment: Ints,
    span: Codes,
    span_carried: Ints,
    stack: Ints,
    state: Ints,
    last: bool,
) -> None:
    top, count, at, current = state[TOP], state[COUNT], state[NEXT], state[LANE]
    for i in range(len(start) + last):
        while at < len(moment) and (
            i == len(start) or moment_lane[at] < lane[i] or (moment_lane[at] == lane[i] and moment[at] < start[i])
        ):
            if moment_lane[at] != current:
                top, current = 0, moment_lane[at]
            # Spans may end before an earlier one that is open below them, in damaged traces: they go when on top.
            while top > 0 and stack[END, top - 1] <= moment[at]:
                top -= 1
            span[at] = stack[INDEX, top - 1] if top > 0 else -1
            span_carried[at] = stack[CARRIED, top - 1] if top > 0 else 0
            at += 1
        if i == len(start):
            break
        if lane[i] != current:
            top, current = 0, lane[i]
        while top > 0 and stack[END, top - 1] <= start[i]:
            top -= 1
        parent[i] = stack[INDEX, top - 1] if top > 0 else -1
        depth[i] = top
        stack[INDEX, top], stack[END, top], stack[CARRIED, top] = count, end[i], carried[i]
        top += 1
        count += 1
    state[TOP], state[COUNT], state[NEXT], state[LANE] = top, count, at, current
