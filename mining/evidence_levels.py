"""How sure a figure on memory is: the three levels of evidence, in words, and what to record for each."""

from collections.abc import Iterable

__all__ = ["HINTS", "LEVELS", "told"]

LEVELS = {
    "A": "evidence A: measured accesses",
    "B": "evidence B: operand tensors of the launching operator, an upper bound; outputs are not recorded",
    "C": "evidence C: lifetimes of allocations only",
}
"""What stands beside each figure."""

HINTS = {
    "A": "record them with an access profiler such as AccelProf",
    "B": "record shapes of operators (evidence B), or accesses by an access profiler such as AccelProf (A)",
    "C": "profile with memory, or dump a memory snapshot",
}
"""What to record for a figure of at least that level."""


def told(levels: Iterable[str]) -> str:
    """The levels in words, surest first: 'Evidence A: measured accesses.'"""
    words = "; ".join(LEVELS[level] for level in sorted(set(levels)))
    return f"{words[:1].upper()}{words[1:]}."
