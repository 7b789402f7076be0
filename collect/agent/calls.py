"""What hooks of PyTorch have in common: they never raise, and they know which of the calls they saw begin still run.

A hook at the end of a call is left out where an exception ends it, for optimizers always, for modules with
KeyboardInterrupt. Such calls are found by the frames of the thread, in the cases where one may be.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from .recording import Call, Place
    from .session import Session

__all__ = ["caller", "guarded", "keep_running", "returned"]


def guarded(session: Session, torch: Any, hook: Callable[..., None]) -> Callable[..., None]:
    """The hook as PyTorch may call it: it does nothing while a graph is compiled, which it would break in two."""
    compiling = torch.compiler.is_compiling

    def call(*args: Any) -> None:
        if compiling():
            return
        try:
            hook(*args)
        except Exception as error:  # noqa: BLE001 whatever a program's own kind of module or optimizer does
            if session.held is not None:
                session.held.trouble(error)

    return call


def caller(depth: int) -> Any:
    """The code that called the function so many calls further out."""
    return sys._getframe(depth + 1).f_code  # pyright: ignore[reportPrivateUsage] inspect is a large import


def keep_running(place: Place, calls: list[Call], new: int) -> None:
    """Forgets the calls that no longer run; so many of the frames belong to calls that are not in the list yet."""
    if calls:
        _shorten(place, calls, _running(calls[-1][1]) - new)


def returned(place: Place, calls: list[Call], key: int) -> list[Any] | None:
    """Takes the innermost call of that key out of the calls, with those within it, which never returned.

    What it has entered; None where it is not among them.
    """
    position = len(calls) - 1
    while position >= 0 and calls[position][0] != key:
        position -= 1
    if position < 0:
        return None
    _shorten(place, calls, position + 1)
    return calls.pop()[2]


def _shorten(place: Place, calls: list[Call], count: int) -> None:
    """Keeps so many of the calls; the others leave no rows."""
    while len(calls) > max(count, 0):
        place.depth -= len(calls.pop()[2])


def _running(code: Any) -> int:
    count, frame = 0, sys._getframe()  # pyright: ignore[reportPrivateUsage] as above
    while frame is not None:
        count += frame.f_code is code
        frame = frame.f_back
    return count
