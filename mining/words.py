"""Numbers in the sentences of findings."""

__all__ = ["duration", "percent", "plural"]


def percent(part: float, whole: float) -> str:
    """Part of whole as a percentage with one decimal; a part of nothing is 'none'."""
    return f"{100 * part / whole:.1f} %" if whole else "none"


def duration(ns: float) -> str:
    """Nanoseconds with three digits in the unit that reads best."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if abs(ns) >= size:
            return f"{ns / size:.3g} {unit}" if abs(ns) < 1000 * size else f"{ns / size:,.0f} {unit}"
    return f"{ns:.0f} ns"


def plural(count: int, noun: str) -> str:
    """The count with its noun: '1 kernel', '2,000 kernels'."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
