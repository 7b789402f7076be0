"""Numbers in the sentences of findings."""

__all__ = ["count", "duration", "percent", "plural", "size"]

SPACE = "\u202f"  # narrow and no-break: between groups of digits


def percent(part: float, whole: float) -> str:
    """Part of whole as a percentage with one decimal, never a false 0 or 100 %; a part of nothing is 'none'."""
    if not whole:
        return "none"
    value = 100 * part / whole
    return ("<0.1" if 0 < value < 0.05 else ">99.9" if 99.95 <= value < 100 else f"{value:.1f}") + " %"


def duration(ns: float) -> str:
    """Nanoseconds with three digits in the unit that reads best."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if abs(ns) >= 0.9995 * size:  # rounded to three digits it is one of the unit
            return f"{ns / size:.3g} {unit}" if abs(ns) < 999.5 * size else f"{count(round(ns / size))} {unit}"
    return f"{ns:.0f} ns"


def count(number: int) -> str:
    """A whole number with its digits in groups of three: '2 117'."""
    return f"{number:,}".replace(",", SPACE)


def plural(number: int, noun: str) -> str:
    """The count with its noun: '1 kernel', '2 117 kernels'."""
    return f"{count(number)} {noun}{'' if number == 1 else 's'}"


def size(bytes_: float) -> str:
    """Bytes with three digits in the unit that reads best: '1.5 GiB'."""
    for unit, factor in (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if abs(bytes_) >= 0.9995 * factor:
            value = bytes_ / factor
            return f"{value:.3g} {unit}" if abs(value) < 999.5 else f"{count(round(value))} {unit}"
    return f"{bytes_:.0f} B"
