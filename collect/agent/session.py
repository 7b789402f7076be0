"""Whether this process is being recorded: one for the process, begun by the environment or by `start`."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from . import endings, native
from .process import measurable
from .recording import RANGE, Recording

if TYPE_CHECKING:
    from .recording import Entry

__all__ = ["SESSION", "Session"]


PERIOD_MS = 500
NEVER = 1 << 62
"""Nanoseconds: a period of writing that does not end."""


class Session:
    """What is being recorded. `recording` is None while nothing is: that is the one test of whoever has an event."""

    def __init__(self) -> None:
        self.recording: Recording | None = None
        self.held: Recording | None = None
        self.hooks: tuple[str, ...] = ()
        self.observers: tuple[Callable[[], None], ...] = ()
        self._waits = False

    def begin(self) -> None:
        """Begins what the environment asks for, at the start of the program."""
        self.prepare()
        if os.environ.get("TRACELODE_RECORD_PAUSED") != "1":
            self._go()

    def start(self) -> None:
        """Begins or goes on, here and in the event collector; does nothing where no recording was asked for."""
        native.tell("start")
        self.prepare()
        self._go()

    def stop(self) -> None:
        """Pauses, here and in the event collector, and writes what is held."""
        native.tell("stop")
        self._pause()
        if self.held is not None:
            self.held.flush(stopped="stop")

    def close(self, entry: Entry, kind: int | None = RANGE) -> None:
        """Closes a range; without a kind, or while nothing is recorded, it leaves no row."""
        recording = self.recording
        if recording is not None and kind is not None:
            recording.leave(entry, kind)
            return
        entry[0].depth -= 1
        if self.held is not None and kind is not None:
            self.held.counts["open"] += 1

    def prepare(self) -> None:
        """Makes ready what the environment asks for; the first call counts."""
        directory = os.environ.get("TRACELODE_RECORD_DIR")
        if self.held is not None or not directory or not measurable():
            return
        self.hooks = tuple(word.strip() for word in os.environ.get("TRACELODE_RECORD_HOOKS", "").split(",") if word)
        self.held = self._made(os.path.abspath(directory))  # noqa: PTH100 pathlib would be one more import
        atexit.register(self._finish)
        os.register_at_fork(after_in_child=self._after_fork)
        # The end of children of multiprocessing, too. What becomes another program may also fail to do so, and go on.
        endings.watch({"_exit": self._finish, "execv": self._flush_all, "execve": self._flush_all})

    def _go(self) -> None:
        if self.held is None or self.recording is not None:
            return
        self.held.begin()
        self.recording = self.held
        if self.observers:
            self.observers[0]()
        elif self.hooks and not self._waits:
            self._waits = True
            from . import waiting

            waiting.hook_when_imported(self)

    def _pause(self) -> None:
        self.recording = None
        if self.observers:
            self.observers[1]()

    def _made(self, directory: str) -> Recording:
        period, limit = _number("TRACELODE_RECORD_FLUSH", PERIOD_MS), _number("TRACELODE_RECORD_STOP", 0)
        return Recording(directory, self.hooks, period_ns=period * 1_000_000 or NEVER, limit=limit)

    def _after_fork(self) -> None:
        """A child is a process of its own, which has none of the events that its parent holds."""
        if self.held is None:
            return
        self.held = self._made(self.held.spool.directory)
        if self.recording is not None:
            self.recording = self.held

    def _finish(self) -> None:
        if self.recording is not None:
            self.recording.pop_all()
        self._pause()
        self._flush_all()

    def _flush_all(self) -> None:
        if self.held is not None:
            self.held.flush(stopped="exit", final=True)


def _number(name: str, otherwise: int) -> int:
    text = os.environ.get(name, "")
    return int(text) if text.isdecimal() and text.isascii() else otherwise


SESSION = Session()
