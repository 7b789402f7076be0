"""How sure a figure on memory is: the three levels of evidence, in words."""

from collections.abc import Iterable

__all__ = ["LEVELS", "told"]

LEVELS = {
    "A": "evidence A: measured accesses",
    "B": "evidence B: operand tensors of the launching operator, an upper bound; outputs are not recorded",
    "C": "evidence C: lifetimes of allocations only",
}
"""What stands beside each figure."""


def told(levels: Iterable[str]) -> str:
    """The levels in words, surest first: 'Evidence A: measured accesses.'"""
    words = "; ".join(LEVELS[level] for level in sorted(set(levels)))
    return f"{words[:1].upper()}{words[1:]}."
