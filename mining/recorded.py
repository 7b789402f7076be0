"""Measured runs and decisions as the archive's history keeps them."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from math import isfinite
from typing import Any

from ..store.history import Damage, History, Record, key_of
from ..store.kinds import rules_mark
from .fingerprint import fingerprint_id
from .headline import HEADLINE
from .measured_run import NEEDS, VERSION, MeasuredRun
from .mine import version
from .series import Accept, Decision, Entry, Pin

__all__ = ["decisions", "entries", "is_recorded", "put_decision", "put_run", "recorded"]


def recorded(history: History) -> frozenset[str]:
    """What is in the history, for `is_recorded`: one look at its folders for any number of runs."""
    return frozenset(history.keys("runs"))


def is_recorded(traces: tuple[str, ...], there: frozenset[str]) -> bool:
    """Whether a run of those traces is there, as it is measured now."""
    return _name(traces) in there


def put_run(history: History, entry: Entry) -> None:
    """Adds a run; the same one twice is one."""
    run = asdict(entry.run) | {"values": {name: _finite(value) for name, value in entry.run.values.items()}}
    files = [{"path": path, "modified_ns": written_ns} for path, written_ns in sorted(entry.files.items())]
    content = {"run": run, "unix_ns": entry.unix_ns, "timed_by": entry.timed_by, "files": files, "measured_by": _mark()}
    history.put("runs", fingerprint_id(entry.run.fingerprint), _name(entry.run.traces), content)


def entries(history: History, *, damage: Damage | None = None) -> list[Entry]:
    """The runs of the history, each once, by key.

    One that only an earlier way of measuring knows does not count beside others: it is yet to be measured anew, or its
    traces are gone.
    Files that are damaged get into `damage`; without it the first of them is raised.
    """
    mark = _mark()
    found: dict[str, Entry] = {}
    for record in history.read("runs", damage=damage):
        entry = _entry(record)
        if record.content["measured_by"] == mark:
            found[entry.key] = entry
        elif entry.key not in found:
            why = "another version of tracelode measured it; watch check measures it anew where its traces are there"
            found[entry.key] = replace(entry, run=replace(entry.run, excluded=entry.run.excluded or why))
    return [found[key] for key in sorted(found)]


def put_decision(history: History, decision: Decision) -> None:
    """Adds a decision."""
    kind = "accept" if isinstance(decision, Accept) else "pin"
    content = {"kind": kind, **asdict(decision)}
    history.put("decisions", decision.series, key_of(content), content)


def decisions(history: History, *, damage: Damage | None = None) -> list[Decision]:
    """All decisions, in order of time; with damaged files as `entries`."""
    records = history.read("decisions", damage=damage)
    return sorted((_decision(record.content) for record in records), key=lambda one: one.unix_ns)


def _name(traces: tuple[str, ...]) -> str:
    """The name of the file of a run: what it is, and how it was measured."""
    return f"{_identity(traces)}-{_mark()}"


def _identity(traces: tuple[str, ...]) -> str:
    return key_of(sorted(traces))


def _mark() -> str:
    """Changes whenever the same traces might give other values."""
    versions = [version(name) for name in NEEDS]
    return key_of(VERSION, versions, [asdict(metric) for metric in HEADLINE], rules_mark())[:12]


def _entry(record: Record) -> Entry:
    content = record.content
    told: Mapping[str, Any] = content["run"]
    run = MeasuredRun(
        told["name"],
        tuple(told["traces"]),
        told["began_unix_ns"],
        told["fingerprint"],
        told["values"],
        told["kernels"],
        told["excluded"],
    )
    files = {one["path"]: one["modified_ns"] for one in content.get("files", ())}  # none by an earlier tracelode
    return Entry(_identity(run.traces), run, content["unix_ns"], content["timed_by"], files)


def _decision(content: Mapping[str, Any]) -> Decision:
    if content["kind"] == "accept":
        return Accept(content["series"], content["since"], content["reason"], content["unix_ns"])
    runs = {metric: tuple(keys) for metric, keys in content["runs"].items()}
    return Pin(content["series"], runs, content["reason"], content["unix_ns"])


def _finite(value: float | None) -> float | None:
    return value if value is not None and isfinite(value) else None
