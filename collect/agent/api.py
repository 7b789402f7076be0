"""What a program may call: it costs one test while nothing is recorded, and never raises."""

from __future__ import annotations

from functools import wraps
from threading import get_ident
from typing import TYPE_CHECKING, Any, TypeVar

from .session import SESSION

if TYPE_CHECKING:
    from .recording import Entry

__all__ = ["active", "mark", "pop", "push", "range", "start", "step", "stop"]

Function = TypeVar("Function")
GENERATOR, COROUTINE, ASYNC_GENERATOR = 0x20, 0x80, 0x200
"""Bits of a code object's flags, as `inspect` names them."""


def start() -> None:
    """Begins recording, or goes on after `stop`; only in a program that was started with `tracelode record`."""
    SESSION.start()


def stop() -> None:
    """Stops recording until `start`: nothing that happens between them is recorded."""
    SESSION.stop()


def active() -> bool:
    """Whether anything is being recorded now."""
    return SESSION.recording is not None


class range:  # noqa: N801 used as a function
    """A named stretch of time of this thread: `with range("load"): ...`, or `@range("load")` before a function.

    Ranges nest, may be open in several threads and tasks at once, and close when an exception leaves them. Before a
    coroutine function or a generator function the range lasts from the first step to the end; classes, static and class
    methods, and asynchronous generator functions are left as they are.
    """

    __slots__ = ("_name", "_open")

    def __init__(self, name: str) -> None:
        self._name = name
        self._open: list[Entry] | None = None

    def __enter__(self) -> range:
        recording = SESSION.recording
        if recording is not None:
            entry = recording.enter(self._name)
            if self._open is None:
                self._open = [entry]
            else:
                self._open.append(entry)
        return self

    def __exit__(self, *_: object) -> None:
        if self._open:
            entry = _closing(self._open)
            if entry is not None:
                SESSION.close(entry)

    def __call__(self, function: Function) -> Function:
        """Makes each call of the function a range."""
        return _decorated(self._name, function)


def push(name: str) -> None:
    """Opens a range that `pop` closes, in the same thread."""
    recording = SESSION.recording
    if recording is not None:
        recording.push(name)


def pop() -> None:
    """Closes the range that this thread pushed last; without one it is counted and nothing else."""
    recording, held = SESSION.recording, SESSION.held
    if recording is not None:
        recording.pop()
    elif held is not None and held.here.place.pushed:  # before `stop`
        SESSION.close(held.here.place.pushed.pop())


def mark(name: str) -> None:
    """Records a moment."""
    recording = SESSION.recording
    if recording is not None:
        recording.mark(name)


def step() -> None:
    """Says that an iteration ends here. From then on the steps of optimizers are not taken for iterations."""
    recording = SESSION.recording
    if recording is not None:
        recording.step("program")


def _closing(opened: list[Entry]) -> Entry | None:
    """Takes out what this thread opened last: threads may share one range."""
    thread = get_ident()
    try:
        for entry in reversed(opened):
            if entry[0].ident == thread:
                opened.remove(entry)
                return entry
        return opened.pop()  # a generator goes on in another thread than it began in
    except (IndexError, ValueError):  # another thread took it
        return None


def _decorated(name: str, function: Function) -> Function:
    call: Any = function
    code = getattr(function, "__code__", None)
    if code is None or code.co_flags & ASYNC_GENERATOR:
        return function
    if code.co_flags & COROUTINE:

        @wraps(call)
        async def coroutine(*args: Any, **kwargs: Any) -> Any:
            with range(name):
                return await call(*args, **kwargs)

        return coroutine  # pyright: ignore[reportReturnType] a wrapper has the type of what it wraps
    if code.co_flags & GENERATOR:

        @wraps(call)
        def generator(*args: Any, **kwargs: Any) -> Any:
            with range(name):
                return (yield from call(*args, **kwargs))

        return generator  # pyright: ignore[reportReturnType] as above

    @wraps(call)
    def called(*args: Any, **kwargs: Any) -> Any:
        if SESSION.recording is None:
            return call(*args, **kwargs)
        with range(name):
            return call(*args, **kwargs)

    return called  # pyright: ignore[reportReturnType] as above
