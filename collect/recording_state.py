"""What a recording says of itself: its process and devices, the clocks, what was lost, what was left out on purpose."""

import json
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from ..store.trace import Facts
from .rowwise import Rowwise
from .sink import Sink

__all__ = ["Said", "write_identities", "write_notes"]

FORMAT = "recording"
CLOCKS = {"monotonic_raw": "raw monotonic", "realtime": "Unix time"}
RANKS = (
    ("RANK", "WORLD_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("PMIX_RANK", ""),
    ("SLURM_PROCID", "SLURM_NTASKS"),
)
"""What torchrun, MPI and SLURM call the rank and the number of ranks. SLURM comes last: within a batch job it numbers
the one task that started the others, and these inherit that."""

STEP_NS = 1_000_000
"""A clock that was set, not slewed: the two clocks then differ by more from one second to the next."""

FARTHEST = 1 << 61
"""Counts and times beyond this are damage; a few less can be added up."""

NUMBERS = {"multiprocessors": ("compute_units", 1, 2**31), "memory_bytes": ("memory_bytes", 1, 2**63)} | {
    "bandwidth_kB_s": ("memory_bandwidth", 1000, 2**63),
    "clock_kHz": ("clock_hz", 1000, 2**63),
}
"""Of a device: the collector's name, ours, the factor to our unit, the first value too great."""

TOLD = frozenset({*NUMBERS, "what", "device", "name", "compute_capability"})
LOSSES = {
    "dropped": "dropped for want of room",
    "unwritten": "that could not be written",
    "broken_buffers": "buffers whose records could not be told apart",
    "allocator_overruns": "times that the history of the allocator was full",
}
"""What a state counts as lost, and what that is called."""

STOPPED = {
    "disk": "the files could not be written",
    "size": "the files had reached their limit",
    "limit": "the files had reached their limit",
}


class Said:
    """The texts of the files of a recording, each file's in order: process, devices, clocks, the last state of each."""

    def __init__(self, texts: Sequence[Sequence[Mapping[str, Any]]]) -> None:
        every = [text for file in texts for text in file]
        self.process: Mapping[str, Any] = next((t for t in every if t.get("what") == "process"), {})
        self.devices = [t for t in every if t.get("what") == "device"]
        self.clocks = [t for t in every if t.get("what") == "clocks" and _clocks(t)]
        self.errors = [t for t in every if t.get("what") == "error"]
        states = [[t for t in file if t.get("what") == "state"] for file in texts]
        self.states: list[Mapping[str, Any]] = [found[-1] if found else {} for found in states]

    @property
    def pid(self) -> int:
        """The process id; 0 where that part of the recording is lost."""
        return _whole(self.process, "pid") or 0

    @property
    def apart_ns(self) -> int | None:
        """How far the wall clock was ahead of the raw monotonic one when the recording began; None: not said."""
        return self.clocks[0]["realtime"] - self.clocks[0]["monotonic_raw"] if self.clocks else None

    @property
    def on_wall_clock(self) -> bool:
        """Whether CUPTI refused the raw monotonic clock, so that events have times of the wall clock."""
        return self.process.get("clock") == "realtime"

    def facts(self) -> Facts:
        """The facts of the trace as a whole. Its zero is that of the raw monotonic clock, unless CUPTI refused it."""
        told = {k: v for k, v in self.process.items() if k not in ("what", "host", "version", "clock")}
        labels = {k: v if isinstance(v, str) else json.dumps(v, ensure_ascii=False) for k, v in told.items()}
        cupti, version = _whole(self.process, "cupti"), self.process.get("version")
        parts = [f"tracelode {version}" if isinstance(version, str) else "tracelode", f"CUPTI {cupti}" if cupti else ""]
        host = self.process.get("host")
        return Facts(
            FORMAT,
            producer=", ".join(part for part in parts if part),
            host=host if isinstance(host, str) else None,
            clock=CLOCKS["realtime" if self.on_wall_clock else "monotonic_raw"],
            base_unix_ns=0 if self.on_wall_clock else self.apart_ns,
            labels=labels,
        )


def write_identities(said: Said, device_work: set[tuple[int, int]], sink: Sink) -> None:
    """Writes the process with its rank, and its devices."""
    rows = Rowwise(sink)
    environment = said.process.get("environment")
    given = environment if isinstance(environment, dict) else {}
    rank, size = _rank(given)
    rows.add(
        "process",
        {
            "process": said.pid,
            "pid": said.pid or None,
            "rank": rank,
            "world_size": size,
            "name": _text(said.process, "executable"),
            "host": _text(said.process, "host"),
        },
    )
    described = {number: text for text in said.devices if (number := _whole(text, "device")) is not None}
    for number in sorted({*described, *(device for _, device in device_work)}):
        text = described.get(number, {})
        row: dict[str, Any] = {"process": said.pid, "device": number, "vendor": "nvidia"}
        for theirs, (ours, factor, most) in NUMBERS.items():
            if (value := _whole(text, theirs)) is not None and 0 < value * factor < most:
                row[ours] = value * factor
        rest = {k: v for k, v in text.items() if k not in TOLD and v is not None}
        row |= {"name": _text(text, "name"), "architecture": _text(text, "compute_capability")}
        rows.add("device", row | {"args": json.dumps(rest, ensure_ascii=False) if rest else None})
    rows.finish()


def write_notes(said: Said, sink: Sink) -> None:
    """Notes what was lost, what was left out on purpose, and clocks that jumped."""
    if not said.pid:
        sink.note("no-process", "the recording does not say of which process it is: read as process 0")
    options = said.process.get("options")
    if isinstance(options, dict) and options.get("paused") is True:
        sink.note("paused", "recording waited for the program's word, as asked: what came before or between is missing")
    for state in said.states:
        _lost(state, sink)
        _left_out(state, sink)
    for error in said.errors:
        sink.note("recorder-error", "the recorder could not do its work", example=_text(error, "message"))
    apart = [text["realtime"] - text["monotonic_raw"] for text in said.clocks]
    steps = sum(abs(later - earlier) > STEP_NS for earlier, later in pairwise(apart))
    if steps:
        meaning = "the wall clock was set while recording: times between events are right, times of day are not"
        sink.note("clock-set", meaning, count=steps)


def _lost(state: Mapping[str, Any], sink: Sink) -> None:
    for name, what in LOSSES.items():
        if count := _whole(state, name):
            sink.note(
                "recorder-loss", "events that the recorder could not keep", count=count, example=f"{count} {what}"
            )
    invalid = state.get("invalid")
    if isinstance(invalid, dict) and (count := sum(_whole(invalid, why) or 0 for why in invalid)):
        meaning = "events whose time could not be taken, or cannot be: left out"
        said = ", ".join(f"{_whole(invalid, why)} {why}" for why in sorted(invalid) if _whole(invalid, why))
        sink.note("no-time", meaning, count=count, example=said)
    if count := _whole(state, "names_beyond"):
        sink.note("unknown-name", "more names than the recorder could keep: told as one", count=count)
    if count := _whole(state, "unmatched_pops"):
        sink.note("lone-end", "ends of ranges that have no begin: left out", count=count)
    if count := _whole(state, "open"):
        sink.note("open-range", "ranges that were open when recording stopped: left out", count=count)
    if count := _whole(state, "errors"):
        meaning = "faults in what the agent hooks into: something of the program may be missing"
        sink.note("recorder-error", meaning, count=count, example=_text(state, "error"))
    if count := _whole(state, "skipped_threads"):
        sink.note("skipped-thread", "threads in a mode of their own, whose operators are missing", count=count)
    if state.get("final") is not True:
        meaning = "the program ended before the recorder could finish: what it had not yet written is missing"
        sink.note("unfinished", meaning)
    if (stopped := _text(state, "stopped")) in STOPPED:
        example = f"{STOPPED[stopped]}: {_text(state, 'error') or 'as asked'}"
        lost = (_whole(state, "beyond_limit") or 0) + (_whole(state, "unwritten") or 0)
        example += f"; {lost} events after that" if lost else ""
        sink.note("recorder-stopped", "recording stopped before the program ended", example=example)
    unknown = state.get("unknown")
    if isinstance(unknown, dict) and unknown:
        kinds = {f"CUPTI activity {kind}": json.dumps({"count": count}) for kind, count in sorted(unknown.items())}
        sink.write("other", {"kind": list(kinds), "json": list(kinds.values())})
        counted = sum(_whole(unknown, kind) or 0 for kind in unknown)
        sink.note("unknown-activity", "activities of kinds the recorder does not know: only counted", count=counted)


def _left_out(state: Mapping[str, Any], sink: Sink) -> None:
    """What the user asked to leave out."""
    if count := _whole(state, "sampled_out"):
        meaning = "only one in so many kernels was kept, as asked: counts and times are of those"
        sink.note("sampled", meaning, count=count, example=f"{count} kernels left out")
    if count := _whole(state, "reduced"):
        meaning = "only sums were kept, as asked: no single kernel, copy or fill"
        sink.note("reduced", meaning, count=count, example=f"{count} events")
    if count := (_whole(state, "filtered") or 0) + (_whole(state, "outside_range") or 0):
        meaning = "kernels were selected by name or by their ordinals, as asked: all others are missing"
        sink.note("selected", meaning, count=count, example=f"{count} kernels left out")


def _clocks(text: Mapping[str, Any]) -> bool:
    return all(_whole(text, name) is not None for name in ("realtime", "monotonic_raw"))


def _rank(given: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """The rank and the number of ranks, both of the first launcher that tells a rank."""
    for name, of in RANKS:
        if (rank := _small(given.get(name))) is not None:
            return rank, _small(given.get(of))
    return None, None


def _small(text: Any) -> int | None:
    return int(text) if isinstance(text, str) and re.fullmatch(r"[0-9]{1,9}", text) else None


def _whole(text: Mapping[str, Any], name: str) -> int | None:
    value = text.get(name)
    return value if type(value) is int and abs(value) < FARTHEST else None


def _text(text: Mapping[str, Any], name: str) -> str | None:
    value = text.get(name)
    return value if isinstance(value, str) else None
