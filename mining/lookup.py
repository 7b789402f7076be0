"""Where values belong in an order: for values in order themselves by one pass through both."""

import numpy as np

from ..store.compiled import jit
from .sorting import Ints

__all__ = ["until"]


def until(ordered: Ints, values: Ints, *, including: bool = False) -> Ints:
    """How many of the ordered come before each value, or with it if `including`; linear where the values ascend."""
    if len(values) and bool((values[1:] >= values[:-1]).all()):
        return _passed(ordered, values, including)
    return np.searchsorted(ordered, values, "right" if including else "left")


@jit()
def _passed(ordered: Ints, values: Ints, including: bool) -> Ints:
    result = np.empty(len(values), np.int64)
    at = 0
    for one in range(len(values)):
        while at < len(ordered) and (ordered[at] < values[one] or (including and ordered[at] == values[one])):
            at += 1
        result[one] = at
    return result
