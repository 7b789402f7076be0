"""Which span is innermost at a moment: one pass with a stack over spans and moments sorted by lane and time."""

import numpy as np
import numpy.typing as npt

from ..store.compiled import jit

__all__ = ["innermost"]

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]


def innermost(span_lane: Codes, start: Ints, end: Ints, lane: Codes, moment: Ints, *, own: bool) -> tuple[Codes, Codes]:
    """The innermost span open at each moment on its lane, as its index or -1, and how many are open.

    Spans are half open, sorted by (lane, start, -end); moments by (lane, time). With `own`, the moments are the
    spans' own starts, and a span does not hold itself.
    """
    found, depth = np.empty(len(moment), np.int32), np.empty(len(moment), np.int32)
    _sweep(span_lane, start, end, lane, moment, own, found, depth)
    return found, depth


@jit()
def _sweep(
    span_lane: Codes, start: Ints, end: Ints, lane: Codes, moment: Ints, own: bool, found: Codes, depth: Codes
) -> None:
    stack = np.empty(len(start), np.int32)
    top, following = 0, 0
    for i in range(len(moment)):
        if i == 0 or lane[i] != lane[i - 1]:
            top = 0
            while following < len(start) and span_lane[following] < lane[i]:
                following += 1
        while (
            following < len(start)
            and span_lane[following] == lane[i]
            and (following < i if own else start[following] <= moment[i])
        ):
            # Spans may end before an earlier one that is open below them, in damaged traces: they go when on top.
            while top > 0 and end[stack[top - 1]] <= start[following]:
                top -= 1
            stack[top] = following
            top += 1
            following += 1
        while top > 0 and end[stack[top - 1]] <= moment[i]:
            top -= 1
        found[i] = stack[top - 1] if top > 0 else -1
        depth[i] = top
