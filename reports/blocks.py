"""Draws numbers with block characters, where only text can be shown."""

from collections.abc import Sequence
from itertools import pairwise
from math import ceil

__all__ = ["bars", "sparkline"]

_LEVELS = "▁▂▃▄▅▆▇█"
_EIGHTHS = ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")


def sparkline(values: Sequence[float], width: int, *, top: float | None = None) -> str:
    """The values as one line of blocks from zero to `top` (their largest).

    Of more values than `width`, the largest of each group is drawn.

    >>> sparkline([0, 1, 2, 4, 8], 10)
    ' ▁▂▄█'
    """
    count = min(len(values), max(width, 1))
    edges = [len(values) * at // count for at in range(count + 1)] if count else [0]
    peaks = [max(values[a:b]) for a, b in pairwise(edges)]
    full = top or max(peaks, default=0) or 1
    return "".join(_LEVELS[min(ceil(peak / full * 8), 8) - 1] if peak > 0 else " " for peak in peaks)


def bars(values: Sequence[float], width: int) -> list[str]:
    """Each value as a bar of at most `width` blocks, in eighths of a block.

    >>> bars([2, 1], 3)
    ['███', '█▌']
    """
    top = max(values, default=0) or 1
    eighths = [round(max(value, 0) / top * width * 8) for value in values]
    return ["█" * (e // 8) + _EIGHTHS[e % 8] for e in eighths]
