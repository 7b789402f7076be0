"""Charts of what takes the most time: bars with their names above them."""

from ..units import show
from .style import Rows, Specification, named_bars, some

__all__ = ["pareto", "pattern_bars"]


def pareto(rows: Rows, *, most: int = 15) -> Specification:
    """The names that take most time as bars, each with its time and the share it and all above it take together.

    A row has `name`, `total_ns` and `cumulative_share` (0 to 1), longest first. Names are cut in the middle.
    """
    some(rows, "pareto")
    bars = [
        (
            row["name"],
            row["total_ns"],
            f"{show(row['total_ns'], 'ns')} · {show(row['cumulative_share'], 'share')} up to here",
        )
        for row in rows[:most]
    ]
    return named_bars(bars)


def pattern_bars(rows: Rows, *, most: int = 15) -> Specification:
    """The patterns that take most time as bars, each with its time and how often it occurs.

    A row has `pattern` (its label), `total_ns` and `occurrences`, longest first.
    """
    some(rows, "pattern_bars")
    bars = [
        (row["pattern"], row["total_ns"], f"{show(row['total_ns'], 'ns')} · {show(row['occurrences'], 'count')}×")
        for row in rows[:most]
    ]
    return named_bars(bars)
