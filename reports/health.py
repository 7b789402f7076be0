"""A trace's health in words: what stands before the first number of a report and of `tracelode info`."""

from collections.abc import Iterator

from ..collect.gives import hints
from ..store import health as found
from ..store.health import Coverage, Health
from ..store.trace import Trace
from .units import show

__all__ = ["health_lines", "health_of", "remarks"]

PLURALS = {"copy": "copies", "process": "processes", "api": "calls"}


def health_of(trace: Trace) -> Health:
    """The health of the trace, with hints how to record what its format can give and it has not."""
    vendors = trace.arrow("device", ["vendor"])["vendor"].unique().to_pylist() if trace.has("device") else []
    return found.health(trace, hints(trace.facts.format, frozenset(v for v in vendors if v)))


def health_lines(trace: Trace) -> tuple[str, ...]:
    """The health of the trace as a report carries it: `Report.health`."""
    return tuple(f"{label}: {text}" for label, text in remarks(health_of(trace)))


def remarks(health: Health) -> tuple[tuple[str, str], ...]:
    """The health as labels and sentences: what is unreliable first, then what is missing or partly known, the notes."""
    return (
        *_unreliable(health),
        *_flawed(health),
        *_missing(health),
        *_copying_kernels(health),
        *_coverage(health),
        *_notes(health),
    )


def _unreliable(health: Health) -> Iterator[tuple[str, str]]:
    for one in health.unreliable:
        because = ", ".join(f"{note.kind} ({show(note.count, 'count')})" for note in one.because)
        yield "unreliable", f"{one.quantity}, because of {because}"
    if not health.unreliable:
        yield "unreliable", "nothing that is known of"


def _flawed(health: Health) -> Iterator[tuple[str, str]]:
    for one in health.flawed:
        claim = f"; they claim {show(one.claimed_ns, 'ns')}" if one.claimed_ns else ""
        yield "in no sum", f"{_counted(one.count, one.table)}: {one.flaw}{claim}"


def _missing(health: Health) -> Iterator[tuple[str, str]]:
    for one in health.missing:
        if one.hint:
            yield "none recorded", f"{one.table} ({one.loses}); to record it: {one.hint}"
    others: dict[str | None, list[str]] = {}
    for one in health.missing:
        if not one.hint:
            others.setdefault(one.doubt, []).append(f"{one.table} ({one.loses})")
    for doubt, tables in others.items():
        listed = ", ".join(tables)
        yield ("none found", f"{listed}: {doubt}") if doubt else ("none recorded", listed)


def _copying_kernels(health: Health) -> Iterator[tuple[str, str]]:
    if health.copying_kernels:
        count = show(health.copying_kernels, "count")
        yield "recorded as kernels", f"copies and fills of memory, by their names: {count}"


def _coverage(health: Health) -> Iterator[tuple[str, str]]:
    whole: dict[str, list[str]] = {}
    unknown: list[str] = []
    for one in health.coverage:
        rows = _counted(one.total, one.table)
        if one.known == one.total:
            whole.setdefault(f"all {rows}" if one.total != 1 else f"the {one.table}", []).append(one.what)
        elif not one.known:
            unknown.append(_thing(one))
        else:
            share = show(one.known / one.total, "share")
            yield "partly known", f"{one.what} of {show(one.known, 'count')} of {rows} ({share})"
    if unknown:
        yield "unknown", ", ".join(unknown)
    if whole:
        yield "known", "; ".join(f"{', '.join(things)} of {rows}" for rows, things in whole.items())


def _thing(one: Coverage) -> str:
    """What none of the table's rows tells: 'device name'; only processes have a rank."""
    return one.what if one.table == "process" else f"{one.table} {one.what}"


def _counted(count: int, table: str) -> str:
    return f"{show(count, 'count')} {table if count == 1 else PLURALS.get(table, f'{table}s')}"


def _notes(health: Health) -> Iterator[tuple[str, str]]:
    for note in health.notes:
        example = f" (first: {note.example})" if note.example else ""
        yield "note", f"{note.kind}: {show(note.count, 'count')} × {note.meaning}{example}"
    if not health.notes:
        yield "note", "none: nothing was repaired, nothing was left out"
