"""Runs a program as if nothing stood between it and whoever started us: streams, open files, signals, exit status.

Only the standard library is imported here: other libraries start threads, which would take the signals that are waited
for, and take memory for as long as the program runs.
"""

import ctypes
import os
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..store.errors import Error

__all__ = ["run", "still_running"]

PASSED_ON = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGINT, signal.SIGQUIT)
WAITED_FOR = frozenset({*PASSED_ON, signal.SIGCHLD})
FROM_TERMINAL = 0x80
"""`si_code` of a signal that the kernel sends: from a terminal it goes to the program, too."""

PR_SET_CHILD_SUBREAPER = 36
POLL_S, LOOK_S = 0.05, 1.0


def run(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Runs the program with our streams; its exit status, or 128 and the signal that ended it, as shells tell it.

    Signals sent to us are passed on; what a terminal sends reaches the program by itself. A signal to a whole process
    group reaches it twice. Processes that the program leaves behind become our children, see `still_running`. Raises
    `Error` where the program cannot be started.
    """
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # best effort: what outlives the program is ours then
    before = signal.pthread_sigmask(signal.SIG_BLOCK, WAITED_FOR)
    try:
        try:
            program = os.posix_spawnp(command[0], list(command), dict(environment), setsigmask=before)
        except OSError as error:
            hint = "is it installed, and on the PATH?" if isinstance(error, FileNotFoundError) else "may it be run?"
            raise Error(f"{command[0]}: {error.strerror}", hint) from error
        return _until_end(program)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _until_end(program: int) -> int:
    while True:
        status = _ended(program)
        if status is not None:
            return status
        got = signal.sigtimedwait(
            WAITED_FOR, LOOK_S
        )  # a thread that does not wait for it could take the word of an end
        if got and got.si_signo != signal.SIGCHLD and got.si_code != FROM_TERMINAL:
            os.kill(program, got.si_signo)


def _ended(program: int) -> int | None:
    """The status of the program if it has ended; other children that have are forgotten."""
    found: int | None = None
    while True:
        try:
            child, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if child == 0:
            return found
        if child == program:
            code = os.waitstatus_to_exitcode(status)
            found = 128 - code if code < 0 else code


def still_running(patience_s: float) -> list[int]:
    """The processes that the program has left behind, after waiting so long for their end."""
    until = time.monotonic() + patience_s
    while True:
        _ended(0)
        left = _children()
        if not left or time.monotonic() >= until:
            return left
        time.sleep(POLL_S)


def _children() -> list[int]:
    """Our children, as the kernel lists them; none where it does not."""
    found: list[int] = []
    for task in Path("/proc/self/task").iterdir():
        try:
            found += map(int, (task / "children").read_text().split())
        except OSError:
            continue
    return sorted(found)
