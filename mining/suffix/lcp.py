"""Common prefixes of neighbouring suffixes, compared only where the symbols before them differ.

If the same symbol stands before both neighbours, the suffixes one position earlier are neighbours too and share one
symbol more (the Phi algorithm; Kärkkäinen, Manzini, Puglisi 2009). In repetitive text that is nearly everywhere.
"""

from .arrays import Array, bit_count, first_of_each, unpack
from .steps import Steps

__all__ = ["lcp_array"]


def lcp_array(steps: Steps, enclosed: Array, order: Array) -> tuple[Array, Array]:
    """Returns the LCP array, and the slots before whose suffix another symbol stands than before that of the last."""
    xp, size = steps.xp, order.size
    changes = xp.flatnonzero(first_of_each(xp, enclosed[order])).astype(xp.int32)
    position = order[changes]
    neighbour = order[xp.maximum(changes - 1, 0)]
    neighbour[:1] = size  # the first suffix has none: the end of the text has nothing in common with it
    packed = position.astype(xp.int64)
    index_bits = bit_count(changes.size)
    packed <<= index_bits
    packed |= xp.arange(changes.size, dtype=xp.int64)
    in_text, _ = unpack(xp, packed, index_bits)
    position = position[in_text]
    reach = steps.common_prefixes(xp, enclosed, position, neighbour[in_text])
    reach += position
    # From each compared position on the length falls by one, up to the next one.
    permuted = xp.full(size, -1, xp.int32)
    jump = reach.copy()
    jump[1:] -= reach[:-1]
    jump[1:] -= 1
    permuted[position] = jump
    xp.cumsum(permuted, dtype=xp.int32, out=permuted)
    return permuted[order], changes
