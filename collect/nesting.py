"""Which span is innermost at a moment: one pass with a stack over spans and moments sorted by lane and time."""

import numpy as np
import numpy.typing as npt

from ..store.compiled import jit

__all__ = ["innermost"]

Ints = npt.NDArray[np.int64]


def innermost(span_lane: Ints, start: Ints, end: Ints, lane: Ints, moment: Ints, *, own: bool) -> tuple[Ints, Ints]:
    """The innermost span open at each moment on its lane, as its index or -1, and how many are open.

    A lane is a pair (process, thread): arrays of shape (2, n). Spans are half open, sorted by (lane, start, -end);
    moments by (lane, time). With `own`, the moments are the spans' own starts, and a span does not hold itself.
    """
    found, depth = np.empty(len(moment), np.int64), np.empty(len(moment), np.int64)
    _sweep(span_lane, start, end, lane, moment, own, found, depth)
    return found, depth


@jit()
def _sweep(
    span_lane: Ints, start: Ints, end: Ints, lane: Ints, moment: Ints, own: bool, found: Ints, depth: Ints
) -> None:
    stack = np.empty(len(start), np.int64)
    top, following = 0, 0
    for i in range(len(moment)):
        if i == 0 or lane[0, i] != lane[0, i - 1] or lane[1, i] != lane[1, i - 1]:
            top = 0
            while following < len(start) and (
                span_lane[0, following] < lane[0, i]
                or (span_lane[0, following] == lane[0, i] and span_lane[1, following] < lane[1, i])
            ):
                following += 1
        while (
            following < len(start)
            and span_lane[0, following] == lane[0, i]
            and span_lane[1, following] == lane[1, i]
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
