"""Runs a program in a process of its own and says what it cost."""

import os
import subprocess
import sys
from dataclasses import dataclass

__all__ = ["Measure", "run"]


@dataclass(frozen=True)
class Measure:
    """CPU seconds and peak resident bytes of a process, what it printed, and the seconds it says the work took."""

    seconds: float
    peak: int
    answer: str
    own_seconds: float | None


def run(program: str, *arguments: str, python: str = sys.executable) -> Measure:
    """Runs a program in a process of its own, with this Python or another, and measures it."""
    pipe = subprocess.PIPE
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}  # as users have it
    begun = [python, "-c", program, *arguments]
    process = subprocess.Popen(begun, stdout=pipe, stderr=pipe, text=True, env=kept)
    assert process.stdout is not None
    assert process.stderr is not None
    answer, told = process.stdout.read().strip(), process.stderr.read().strip()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stdout.close()
    process.stderr.close()
    if process.returncode:
        sys.exit(f"a contender failed with exit code {process.returncode}: {told}")
    return Measure(usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, answer, float(told) if told else None)
