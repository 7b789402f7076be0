"""The chart of kernel time by kind of work."""

from ..units import show
from .style import Rows, Specification, named_bars, some

__all__ = ["category_bars"]


def category_bars(rows: Rows, *, most: int = 12) -> Specification:
    """Categories as bars, each with its time, its share and its kernels; those that take least are one bar.

    A row has `category`, `total_ns`, `share` (0 to 1, or None) and `names`, longest first.
    """
    some(rows, "category_bars")
    shown = list(rows) if len(rows) <= most else list(rows[: most - 1])
    rest = rows[len(shown) :]
    bars = [(row["category"], row["total_ns"], _text(row["total_ns"], row["share"], row["names"])) for row in shown]
    if rest:
        total, share, names = (sum(row[key] or 0 for row in rest) for key in ("total_ns", "share", "names"))
        bars.append((f"{len(rest)} more", total, _text(total, share, names)))
    return named_bars(bars)


def _text(total_ns: int, share: float | None, names: int) -> str:
    kernels = f"{show(names, 'count')} {'name' if names == 1 else 'names'}"
    return f"{show(total_ns, 'ns')} · {show(share or 0, 'share')} · {kernels}"
