"""Shows values by their unit, rounded for reading: three digits that matter, never a false zero or a false 100 %."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import floor, isfinite, log10
from typing import Any

from .report import Unit

__all__ = ["NUMERIC", "Shown", "column", "plain", "scale", "show"]

NUMERIC: frozenset[Unit] = frozenset({"count", "ns", "bytes", "share", "ratio"})
"""Units whose values are numbers to compare; `id` and `text` only name things."""

MISSING = "–"
_SPACE = "\u202f"  # narrow and no-break: stands between groups of digits, and before a unit
_SCALES: dict[str, tuple[tuple[float, str], ...]] = {
    "ns": ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1, "ns")),
    "bytes": ((2.0**40, "TiB"), (2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1, "B")),
}
_MOST_DECIMALS = 3


@dataclass(frozen=True)
class Shown:
    """A column made ready to read: the unit all its values share (empty when each says its own), and the texts."""

    unit: str
    texts: tuple[str, ...]


def show(value: Any, unit: Unit) -> str:
    """One value with its unit.

    >>> show(1_234_567, "ns"), show(0.9999, "share"), show(None, "count")
    ('1.23\u202fms', '>99.9\u202f%', '–')
    """
    number = plain(value)
    if not _is_number(number) or unit in ("text", "id"):
        return _word(number)
    if unit == "share":
        return _finite(number) or _share(number) + _SPACE + "%"
    if unit in _SCALES:
        factor, suffix = scale(abs(number), unit) if isfinite(number) else (1, "")
        return _finite(number) or _rounded(number, factor) + _SPACE + suffix
    return _finite(number) or _rounded(number, 1)


def column(values: Sequence[Any], unit: Unit) -> Shown:
    """All values of a column on one scale with the same decimals, so that digits line up.

    Where the smallest would lose its digits on the scale of the largest, each value says its own unit.
    """
    numbers = [plain(v) for v in values]
    sizes = [abs(n) for n in numbers if _is_number(n) and isfinite(n) and n]
    if unit not in NUMERIC or not sizes:
        return Shown("", tuple(show(n, unit) for n in numbers))
    if unit == "share":
        return Shown("%", tuple(_finite(n) or _share(n) if _is_number(n) else _word(n) for n in numbers))
    factor, suffix = scale(max(sizes), unit) if unit in _SCALES else (1.0, "")
    if min(sizes) < 0.01 * factor:
        return Shown("", tuple(show(n, unit) for n in numbers))
    exact = factor == 1 and all(not _is_number(n) or not isfinite(n) or n == int(n) for n in numbers)
    decimals = 0 if exact else min(max(_decimals(s / factor) for s in sizes), _MOST_DECIMALS)
    return Shown(suffix, tuple(_fixed(n, factor, decimals) if _is_number(n) else _word(n) for n in numbers))


def scale(largest: float, unit: Unit) -> tuple[float, str]:
    """The factor and the suffix that suit a largest value in `ns` or `bytes`.

    >>> scale(2_500_000, "ns")
    (1000000.0, 'ms')
    """
    steps = _SCALES[unit]
    return next(((factor, suffix) for factor, suffix in steps if largest >= 0.9995 * factor), steps[-1])


def plain(value: Any) -> Any:
    """The value as one of Python's own types: numbers of NumPy and whole decimals come as `int` or `float`."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value.item() if hasattr(value, "item") and not hasattr(value, "__len__") else value


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _word(value: Any) -> str:
    if value is None or value != value:
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _finite(number: float) -> str:
    """What stands for a number that is none; empty for a finite one."""
    if number != number:
        return MISSING
    return "" if isfinite(number) else "∞" if number > 0 else "−∞"


def _share(number: float) -> str:
    percent = number * 100
    if percent and abs(percent) < 0.05:
        return "<0.1" if percent > 0 else ">−0.1"
    if 99.95 <= percent < 100:
        return ">99.9"
    return _signed(percent, 1)


def _rounded(number: float, factor: float) -> str:
    """Three significant digits; whole numbers of the base unit stay exact."""
    if factor == 1 and number == int(number):
        return _signed(number, 0)
    return _signed(number / factor, _decimals(abs(number / factor)))


def _fixed(number: float, factor: float, decimals: int) -> str:
    return _finite(number) or _signed(number if factor == 1 else number / factor, decimals)


def _decimals(size: float) -> int:
    """Decimals that leave three significant digits."""
    if not size:
        return 0
    digits = floor(log10(float(f"{size:.2e}")))
    return max(2 - digits, 0)


def _signed(number: float, decimals: int) -> str:
    size = abs(number)
    text = f"{size:,}" if isinstance(size, int) and not decimals else f"{size:,.{decimals}f}"  # a float loses digits
    return ("−" if number < 0 and text.strip("0.") else "") + text.replace(",", _SPACE)
