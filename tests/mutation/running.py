"""Runs workers over ranges of seeds and gathers what they say."""

import json
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.mutation.worker import MOST_BYTES

__all__ = ["Tally", "run"]

ROOT = Path(__file__).parents[2]
BATCH = 2000


@dataclass
class Tally:
    """What became of the mutants of one format."""

    format: str
    outcomes: Counter[str] = field(default_factory=Counter[str])
    errors: Counter[str] = field(default_factory=Counter[str])
    failures: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    compared: int = 0
    """How many were held against an oracle."""
    peak_bytes: int = 0
    slowest: tuple[float, int] = (0.0, 0)
    """Seconds of processor time of the slowest, and its seed."""

    def add(self, said: dict[str, Any]) -> None:
        """Takes one line of a worker."""
        if "peak_bytes" in said:
            self.peak_bytes = max(self.peak_bytes, said["peak_bytes"])
        elif "outcome" in said:
            self.outcomes[said["outcome"]] += 1
            self.compared += said.get("compared", False)
            self.slowest = max(self.slowest, (said.get("seconds", 0.0), said["seed"]))
            if said["outcome"] == "failure":
                self.failures.append(said)
            elif said["error"]:
                self.errors[_plain(said["error"])] += 1


def run(format: str, count: int, first: int = 0) -> Tally:
    """Reads the mutants of those seeds; a worker that dies is a failure, and another goes on behind the seed."""
    tally = Tally(format)
    seed, end = first, first + count
    while seed < end:
        seed = _batch(tally, seed, min(BATCH, end - seed))
    if tally.peak_bytes >= MOST_BYTES:
        tally.failures.append({"kind": "memory", "error": f"a worker held {tally.peak_bytes} bytes"})
    return tally


def _batch(tally: Tally, first: int, count: int) -> int:
    """Runs one worker; the seed behind the last one that it has dealt with."""
    command = [sys.executable, "-m", "tests.mutation.worker", tally.format, str(first), str(count)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    begun = first - 1
    for line in done.stdout.splitlines():
        said = json.loads(line)
        begun = said.get("begun", begun)
        tally.add(said)
    if done.returncode:
        ending = {"outcome": "failure", "seed": begun, "kind": f"exit {done.returncode}", "error": done.stderr[-1500:]}
        if begun < first:
            raise RuntimeError(f"the worker did not start: {done.stderr[-1500:]}")
        tally.add(ending)
    return begun + 1


def _plain(error: str) -> str:
    """The error without what differs from mutant to mutant."""
    error = re.sub(r"'[^']*'|\"[^\"]*\"|0x[0-9a-f]+", "…", error)
    return re.sub(r"\d+", "N", error)[:160]
