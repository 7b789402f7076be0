"""Which memory object an address belonged to at a moment: addresses are used again after a release."""

from bisect import bisect_left, bisect_right, insort

import numpy as np

from .sorting import Ints

__all__ = ["NOBODY", "owners"]

NOBODY = -1
"""The owner of an address in no living object."""
DIES, IS_BORN, IS_ASKED = range(3)
"""What happens at one moment, in this order: an object that dies then owns nothing, one that is born then does."""


def owners(address: Ints, bytes_: Ints, birth: Ints, death: Ints, asked: Ints, moment: Ints) -> Ints:
    """The index of the object that holds each asked address at its moment, or `NOBODY`.

    An object holds the addresses from `address` on for `bytes_`, from its birth until before its death. Where living
    objects overlap, the one that begins latest holds, of these the one born last; an address behind the end of one is
    in an object around it, or in none. Cost: one sort, and a search for each.
    """
    moments = np.r_[death, birth, moment]
    acts = np.repeat([DIES, IS_BORN, IS_ASKED], [len(death), len(birth), len(moment)])
    places = np.r_[np.arange(len(death)), np.arange(len(birth)), np.arange(len(moment))]
    result = np.full(len(asked), NOBODY)
    living: list[tuple[int, int]] = []
    spans = list(zip(address.tolist(), bytes_.tolist(), strict=True))
    reach = int(bytes_.max(initial=0))
    # A Python loop: what lives changes from one moment to the next.
    for at in np.lexsort((places, acts, moments)).tolist():
        act, place = int(acts[at]), int(places[at])
        if act == IS_ASKED:
            result[place] = _holder(living, spans, int(asked[place]), reach)
        elif act == IS_BORN and death[place] > birth[place]:
            insort(living, (spans[place][0], place))
        elif act == DIES and death[place] > birth[place]:
            del living[bisect_left(living, (spans[place][0], place))]
    return result


def _holder(living: list[tuple[int, int]], spans: list[tuple[int, int]], asked: int, reach: int) -> int:
    """The living object that holds an address; none that begins at `asked - reach` or before does."""
    for at in range(bisect_right(living, (asked, len(spans))) - 1, -1, -1):
        start, place = living[at]
        if asked < start + spans[place][1]:
            return place
        if start + reach <= asked:
            break
    return NOBODY
