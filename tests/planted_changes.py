"""A seeded copy of a Kineto trace in which kernels were inserted, removed and slowed, and the truth about it.

`python -m tests.planted_changes TRACE COPY [--seed N] [--kinds slower,inserted,removed]` prints the truth.
"""

import argparse
import gzip
import json
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["KINDS", "NAME", "Planted", "change"]

KINDS = ("slower", "inserted", "removed")
NAME = "planted_by_a_test_kernel"
"""What the inserted kernel is called."""
DEVICE = frozenset({"kernel", "gpu_memcpy", "gpu_memset"})
SHARES = {"slower": 0.10, "inserted": 0.06, "removed": 0.004}
"""How much longer the named change is to make the trace, at most or at least, as a share of its time."""

Event = dict[str, Any]


@dataclass(frozen=True)
class Planted:
    """One change: what was done to which kernel, how often, and what it adds to the trace; below 0 if removed."""

    kind: str
    kernel: str
    calls: int
    ns: int


def change(source: Path, copy: Path, *, seed: int = 7, kinds: Sequence[str] = KINDS) -> list[Planted]:
    """Writes the changed copy; what was planted, in the order of `kinds`.

    One kernel is made slower wherever it runs, one gets a new kernel behind each of its calls, one is removed with its
    launches. All that comes later moves by as much; what runs at that moment elsewhere keeps its duration.
    """
    document = json.loads(gzip.decompress(source.read_bytes()))
    events: list[Event] = document["traceEvents"]
    names = _pick(events, random.Random(seed), kinds)
    kernels = [event for event in events if event.get("cat") == "kernel"]
    moves: list[tuple[int, int, int]] = []  # from, to (of what is taken out), and by how much all later moves
    added: list[Event] = []
    planted: list[Planted] = []
    gone: set[int] = set()
    slower: dict[int, int] = {}
    launches = {event["args"]["correlation"]: event for event in events if _launches(event)}
    span = max(e["ts"] + e["dur"] for e in kernels) - min(e["ts"] for e in kernels)
    for kind, name in zip(kinds, names, strict=True):
        calls = [event for event in kernels if event["name"] == name]
        each = max(round(SHARES[kind] * span / len(calls)), 1)
        for event in calls:
            end = event["ts"] + event["dur"]
            if kind == "removed":
                gone |= {id(event), id(launches[event["args"]["correlation"]])}
                moves.append((event["ts"], end, -event["dur"]))
            else:
                moves.append((end, end, each))
            if kind == "slower":
                slower[id(event)] = each
            if kind == "inserted":
                added += _new(event, launches[event["args"]["correlation"]], each, len(added))
        total = -sum(event["dur"] for event in calls) if kind == "removed" else each * len(calls)
        planted.append(Planted(kind, NAME if kind == "inserted" else name, len(calls), 1000 * total))
    document["traceEvents"] = _moved([e for e in events if id(e) not in gone], moves, slower) + _placed(added, moves)
    copy.write_bytes(gzip.compress(json.dumps(document).encode(), 1))
    return planted


def _pick(events: Sequence[Event], chance: random.Random, kinds: Sequence[str]) -> list[str]:
    """A kernel for each kind: of those that often run, alone on their stream, and are no collectives."""
    calls: Counter[str] = Counter()
    time: defaultdict[str, int] = defaultdict(int)
    for event in events:
        if event.get("cat") == "kernel" and "nccl" not in event["name"]:
            calls[event["name"]] += 1
            time[event["name"]] += event["dur"]
    whole = sum(time.values())
    fitting = sorted(name for name in calls if calls[name] >= 6 and 0.004 * whole < time[name] < 0.05 * whole)
    return chance.sample(fitting, len(kinds))


def _launches(event: Event) -> bool:
    return event.get("cat") == "cuda_runtime" and "aunchKernel" in event["name"]


def _new(event: Event, launch: Event, duration: int, number: int) -> list[Event]:
    """A kernel behind another on its stream, and its launch; `after` keeps the moment of the old trace."""
    correlation = 900_000_000 + number
    kernel = {**event, "name": NAME, "dur": duration, "ts": event["ts"] + event["dur"]}
    call = {**launch, "dur": 1, "ts": launch["ts"] + launch["dur"]}
    return [{**one, "args": {**one["args"], "correlation": correlation}} for one in (kernel, call)]


def _shift(moves: Sequence[tuple[int, int, int]]) -> "tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]":
    """Old and new times of the moments between which time runs as before."""
    ordered = sorted(moves)
    old = [begin for begin, _, _ in ordered]
    return np.array(old, np.int64), np.r_[0, np.cumsum([by for _, _, by in ordered])]


def _moved(events: Sequence[Event], moves: Sequence[tuple[int, int, int]], slower: dict[int, int]) -> list[Event]:
    at, by = _shift(moves)
    found: list[Event] = []
    for event in events:
        if not isinstance(event.get("ts"), int):
            found.append(event)
            continue
        # An event at the very end of a slowed kernel comes after it.
        shifted = event["ts"] + int(by[np.searchsorted(at, event["ts"], "right")])
        found.append(
            {**event, "ts": shifted} | ({"dur": event["dur"] + slower.get(id(event), 0)} if "dur" in event else {})
        )
    return found


def _placed(added: Sequence[Event], moves: Sequence[tuple[int, int, int]]) -> list[Event]:
    at, by = _shift(moves)
    return [{**event, "ts": event["ts"] + int(by[np.searchsorted(at, event["ts"], "left")])} for event in added]


def main() -> None:
    """Reads the command line, writes the copy and prints the truth."""
    parser = argparse.ArgumentParser(prog="python -m tests.planted_changes", description=__doc__)
    parser.add_argument("trace", type=Path)
    parser.add_argument("copy", type=Path)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--kinds", default=",".join(KINDS))
    options = parser.parse_args()
    for one in change(options.trace, options.copy, seed=options.seed, kinds=options.kinds.split(",")):
        sys.stdout.write(json.dumps(asdict(one)) + "\n")


if __name__ == "__main__":
    main()
