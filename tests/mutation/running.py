"""Runs workers over ranges of seeds and gathers what they say."""

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from tests.mutation.worker import MOST_BYTES

__all__ = ["Tally", "run"]

ROOT = Path(__file__).parents[2]
BATCH = 2000


class Part(NamedTuple):
    """Mutants of one format, by their seeds."""

    format: str
    first: int
    count: int


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


def run(formats: Sequence[str], count: int, first: int = 0) -> dict[str, Tally]:
    """Reads the mutants of those seeds; a worker that dies is a failure, and another goes on behind the seed."""
    tallies = {format: Tally(format) for format in formats}
    parts = [
        Part(format, seed, min(BATCH, first + count - seed))
        for format in formats
        for seed in range(first, first + count, BATCH)
    ]
    while parts:
        parts = _batch(tallies, parts)
    for tally in tallies.values():
        if tally.peak_bytes >= MOST_BYTES:
            tally.failures.append({"kind": "memory", "error": f"a worker held {tally.peak_bytes} bytes"})
    return tallies


def _batch(tallies: Mapping[str, Tally], parts: list[Part]) -> list[Part]:
    """Runs one worker over as many of the parts as make a batch; what is left to do after it."""
    mutants = [*accumulate(part.count for part in parts)]
    dealt = [part for part, so_far in zip(parts, mutants, strict=True) if so_far <= BATCH]
    command = [sys.executable, "-m", "tests.mutation.worker", *(":".join(map(str, part)) for part in dealt)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    begun: tuple[str, int] | None = None
    for line in done.stdout.splitlines():
        said = json.loads(line)
        if "begun" in said:
            begun = said["format"], said["begun"]
        tallies[said["format"]].add(said)
    if not done.returncode:
        return parts[len(dealt) :]
    if begun is None:
        raise RuntimeError(f"the worker did not start: {done.stderr[-1500:]}")
    format, seed = begun
    ending = {"outcome": "failure", "seed": seed, "kind": f"exit {done.returncode}", "error": done.stderr[-1500:]}
    tallies[format].add(ending)
    at = next(at for at, part in enumerate(parts) if part.format == format and 0 <= seed - part.first < part.count)
    rest = Part(format, seed + 1, parts[at].first + parts[at].count - seed - 1)
    return [rest, *parts[at + 1 :]] if rest.count else parts[at + 1 :]


def _plain(error: str) -> str:
    """The error without what differs from mutant to mutant."""
    error = re.sub(r"'[^']*'|\"[^\"]*\"|0x[0-9a-f]+", "…", error)
    return re.sub(r"\d+", "N", error)[:160]
