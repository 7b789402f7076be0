"""Runs programs for so long and no longer, and keeps what the parts of a measurement found as soon as it is there."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Book", "Clock", "LeftOut", "Part", "Ran", "plain", "run"]


class LeftOut(Exception):  # noqa: N818 nothing is wrong
    """A part cannot be done here; the text says why."""


@dataclass(frozen=True)
class Clock:
    """The time until which something may last, as time.monotonic tells it."""

    end: float

    @classmethod
    def of(cls, seconds: float) -> "Clock":
        """So many seconds from now."""
        return cls(time.monotonic() + seconds)

    @property
    def left(self) -> float:
        """Seconds that are left; never negative."""
        return max(0.0, self.end - time.monotonic())

    def part(self, seconds: float) -> "Clock":
        """So many seconds from now, or what is left if that is less."""
        return Clock(min(self.end, time.monotonic() + seconds))


@dataclass(frozen=True)
class Ran:
    """How a program ended, None where its time was up, what it wrote, and how long it took."""

    status: int | None
    output: str
    told: str
    seconds: float

    def figures(self) -> dict[str, Any]:
        """The JSON object that the program printed; `LeftOut` where it did not."""
        try:
            found = json.loads(self.output)
        except ValueError:
            found = None
        if self.status == 0 and isinstance(found, dict):
            return found
        raise LeftOut(self.fault())

    def fault(self) -> str:
        """In one line, what went wrong."""
        if self.status is None:
            return f"not done in {self.seconds:.0f} s"
        lines = [line for line in self.told.splitlines() if line.strip()] or ["it wrote nothing on standard error"]
        return f"exit status {self.status}: {lines[-1].strip()[:300]}"


def plain(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment without what would make programs record."""
    ours = ("TRACELODE_RECORD_", "CUDA_INJECTION64_PATH")
    return {name: value for name, value in environment.items() if not name.startswith(ours)}


def run(command: Sequence[str], environment: Mapping[str, str], clock: Clock) -> Ran:
    """Runs a program; when its time is up, it and all that it started in its group is ended."""
    begin = time.monotonic()
    pipe = subprocess.PIPE
    try:
        program = subprocess.Popen(
            command, env=dict(environment), stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, start_new_session=True
        )
    except OSError as error:
        return Ran(127, "", f"{command[0]}: {error.strerror}", time.monotonic() - begin)
    status: int | None = None
    try:
        output, told = program.communicate(timeout=clock.left)
        status = program.returncode
    except subprocess.TimeoutExpired:
        os.killpg(program.pid, signal.SIGKILL)
        output, told = program.communicate()
    return Ran(status, output.decode(errors="replace"), told.decode(errors="replace"), time.monotonic() - begin)


@dataclass(frozen=True)
class Part:
    """A part of a measurement at work: the time it has, what it has found, and how to keep that in the file at once."""

    clock: Clock
    found: dict[str, Any]
    keep: Callable[[], None]


@dataclass
class Book:
    """The results so far, in a file that is written anew after each part, and whenever a part wants it."""

    path: Path
    clock: Clock
    say: Callable[[str], None]
    about: dict[str, Any] = field(default_factory=dict[str, Any])
    parts: dict[str, Any] = field(default_factory=dict[str, Any])

    def part(self, name: str, seconds: float, work: Callable[[Part], None]) -> None:
        """Does a part within that time. What it found is kept, also where it fails midway; the next part comes."""
        begin, found = time.monotonic(), dict[str, Any]()
        self.parts[name] = {"state": "not ended", "figures": found}
        ended: dict[str, Any] = {"state": "done"}
        try:
            if not self.clock.left:
                raise LeftOut("the time for all parts was up")
            work(Part(self.clock.part(seconds), found, self.write))
        except LeftOut as reason:
            ended = {"state": "in part" if found else "left out", "reason": str(reason)}
        except Exception as error:  # noqa: BLE001 one part that fails must not take the others with it
            hint = getattr(error, "hint", None)
            ended = {"state": "failed", "reason": f"{type(error).__name__}: {error}" + (f" ({hint})" if hint else "")}
        ended["seconds"] = round(time.monotonic() - begin, 1)
        self.parts[name] = ended | ({"figures": found} if found else {})
        self.write()
        self.say(
            f"{name}: {ended['state']}, {ended['seconds']} s" + (f": {ended['reason']}" if "reason" in ended else "")
        )

    def write(self) -> None:
        """Writes the file: whole, or the one before it stays."""
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps({**self.about, "parts": self.parts}, indent=1) + "\n")
        new.replace(self.path)
