"""The difference of an operation's time per iteration, parted by calls and speed, and rounded so that sums are kept."""

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

__all__ = ["PHRASES", "apart", "rounded"]

PHRASES = {
    "appeared": "which appeared",
    "vanished": "which vanished",
    "more": "called more often",
    "fewer": "called less often",
    "slower": "slower",
    "faster": "faster",
}
"""The changes of an operation, as a sentence says them behind its name."""


def apart(calls: tuple[Fraction, Fraction], times: tuple[Fraction, Fraction]) -> dict[str, Any]:
    """What changed, before and now, of calls and time per iteration: `change`, `delta_ns`, `calls_ns`, `speed_ns`.

    `calls_ns` is what more or fewer calls cost at the speed of before; all, where there were or are none. The other two
    are fractions that add up to `delta_ns`.
    """
    delta = times[1] - times[0]
    both = bool(calls[0] and calls[1])
    more = (calls[1] - calls[0]) * times[0] / calls[0] if both else delta
    return {"change": _change(calls, delta, more), "delta_ns": delta, "calls_ns": more, "speed_ns": delta - more}


def rounded(found: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The rows with differences in whole nanoseconds, whose sum is that of the fractions, rounded."""
    running = Fraction(0)
    for row in found:
        before = round(running)
        running += row["delta_ns"]
        delta = round(running) - before
        if row["calls_ns"] is None:
            yield row | {"delta_ns": delta}
        else:
            calls = round(row["calls_ns"]) if row["speed_ns"] else delta
            yield row | {"delta_ns": delta, "calls_ns": calls, "speed_ns": delta - calls}


def _change(calls: tuple[Fraction, Fraction], delta: Fraction, more: Fraction) -> str:
    if not calls[0] or not calls[1]:
        return "appeared" if calls[1] else "vanished"
    rate = calls[1] - calls[0]
    if not rate and not delta:
        return "same"
    if rate and abs(more) >= abs(delta - more):
        return "more" if rate > 0 else "fewer"
    return "slower" if delta > more else "faster"
