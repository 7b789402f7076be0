"""How sound a trace is: what was not collected, how much of the rest is known, and what its notes make unreliable."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .database import transient
from .kinds import categories_of
from .query import create_views, damage_told
from .tables import TABLES
from .trace import Note, Trace

if TYPE_CHECKING:
    import duckdb

__all__ = ["CUT", "LOSES", "UNRELIABLE", "Coverage", "Flawed", "Health", "Missing", "Unreliable", "health"]

COUNTS = "counts and totals: no more than what was saved"
BUSY = "busy and idle time"
KERNEL_TIME = "time of kernels"
LAUNCHES = "launch latency and causes of idle time"
OPERATORS = "operators of kernels"
ORDER = "order of operations and iterations"
IDENTITY = "which process, device or stream"
NAMES = "names"
BETWEEN = "times compared between processes"

LOST = (COUNTS, BUSY)
WRONG_TIMES = (BUSY, KERNEL_TIME)
WRONG_LAUNCHES = (LAUNCHES, OPERATORS, ORDER)

UNRELIABLE: Mapping[str, tuple[str, ...]] = {
    "assumed-process": (IDENTITY,),
    "bad-entry": LOST,
    "bad-event": LOST,
    "bad-line": LOST,
    "bad-node": LOST,
    "bad-packet": LOST,
    "bad-text": (NAMES,),
    "before-launch": (LAUNCHES,),
    "coarse-times": WRONG_TIMES,
    "cut-device": (IDENTITY,),
    "cut-table": LOST,
    "damaged": LOST,
    "damaged-name": LOST,
    "damaged-table": LOST,
    "damaged-track": (IDENTITY, NAMES),
    "duplicate-correlation": WRONG_LAUNCHES,
    "end-before-start": WRONG_TIMES,
    "event-cap": LOST,
    "failed-move": (COUNTS,),
    "fault-without-device": (IDENTITY,),
    "graph-as-one": (KERNEL_TIME, NAMES, BUSY, ORDER),
    "incomplete": LOST,
    "invalid-utf8": (NAMES,),
    "long-table": (NAMES,),
    "loose-quote": (NAMES,),
    "lost-chunk": LOST,
    "lost-events": LOST,
    "lost-line": LOST,
    "merged-ranks": (BETWEEN,),
    "missing-launches": (COUNTS,),
    "missing-member": (COUNTS,),
    "missing-part": (COUNTS,),
    "negative-duration": WRONG_TIMES,
    "no-category": LOST,
    "no-correlation": (LAUNCHES, OPERATORS),
    "no-device": (IDENTITY,),
    "no-end": WRONG_TIMES,
    "no-history": (COUNTS,),
    "no-launch": (LAUNCHES, OPERATORS),
    "no-number": (IDENTITY, LAUNCHES, OPERATORS),
    "no-place": (COUNTS,),
    "no-process": (IDENTITY,),
    "no-start": WRONG_TIMES,
    "no-stream": (IDENTITY,),
    "no-thread": (IDENTITY,),
    "no-time": LOST,
    "no-totals": (COUNTS,),
    "no-unit": LOST,
    "not-understood": LOST,
    "overlong": WRONG_TIMES,
    "packets-lost": LOST,
    "parts-differ": (COUNTS,),
    "paused": (COUNTS, BUSY, ORDER),
    "recorder-error": (COUNTS,),
    "recorder-loss": LOST,
    "recorder-stopped": LOST,
    "reduced": (BUSY, ORDER),
    "repeated-agent": (IDENTITY,),
    "repeated-id": (NAMES,),
    "repeated-launch": (COUNTS,),
    "repeated-member": (COUNTS,),
    "sampled": (COUNTS, BUSY, KERNEL_TIME, ORDER),
    "selected": (COUNTS, BUSY, ORDER),
    "several-causes": (LAUNCHES, OPERATORS),
    "several-processes": (IDENTITY,),
    "several-traces": (IDENTITY, LAUNCHES),
    "shared-launch": (LAUNCHES, OPERATORS),
    "size-differs": (COUNTS,),
    "skipped-thread": (OPERATORS,),
    "stated-twice": (*WRONG_TIMES, IDENTITY, NAMES),
    "summary": (BUSY, ORDER),
    "summary-dropped": (COUNTS,),
    "timestamp-overflow": WRONG_TIMES,
    "truncated": LOST,
    "unbegun": LOST,
    "unclassified-work": (COUNTS, BUSY, KERNEL_TIME),
    "undescribed-work": (COUNTS, BUSY, KERNEL_TIME),
    "unfinished": LOST,
    "unfinished-line": (COUNTS,),
    "unknown-activity": (COUNTS,),
    "unknown-agent": (IDENTITY,),
    "unknown-clock": WRONG_TIMES,
    "unknown-column": (COUNTS,),
    "unknown-event": LOST,
    "unknown-name": (NAMES,),
    "unknown-processor": (IDENTITY,),
    "unknown-table": LOST,
    "unknown-work": LOST,
    "unnamed-call": (NAMES,),
    "unnamed-kernel": (NAMES,),
    "unnamed-operation": (NAMES,),
    "unnamed-table": LOST,
    "unread-line-dropped": LOST,
    "unread-record": (COUNTS,),
    "unreadable-companion": LOST,
    "unterminated": (COUNTS,),
    "whole-graphs": (KERNEL_TIME, NAMES, BUSY, ORDER),
    "without-begin": LOST,
    "without-end": LOST,
    "wrong-checksum": (*LOST, KERNEL_TIME, IDENTITY, NAMES),
    "zero-correlation": WRONG_LAUNCHES,
    "zero-duration": (KERNEL_TIME,),
}
"""Which quantities a kind of note makes unreliable. Other kinds say what was repaired or kept, and cost no number."""

CUT = frozenset({"cut-table", "damaged", "damaged-table", "event-cap", "truncated", "unreadable-companion"})
"""Kinds of notes that say that a part of the recording was not read: a table may have been in that part."""

PART_LOST = "may have been in the part of the recording that is missing or damaged"
TRACED = "none happened, or none was recorded"
UNADDRESSED = "its memory events have no addresses, as an older PyTorch writes them: only what they add up to is known"

LOSES: Mapping[str, str] = {
    "kernel": "what the device computes",
    "copy": "memory copies",
    "api": "launch latency, causes of idle time, host calls",
    "op": "which operator launched a kernel",
    "range": "annotations, to check iterations against",
    "allocation": "memory in use",
}
"""Tables a reader misses, and what cannot be said without them."""

COVERED: Mapping[str, Mapping[str, str]] = {
    "kernel": {"trusted times": "duration_ns", "name": "name", "launching call": "launch", "operator": "op"},
    "copy": {"trusted times": "duration_ns", "direction": "kind", "size": "bytes", "launching call": "launch"},
    "device": {"name": "name"},
    "process": {"rank": "rank"},
}
"""Columns of views that are null where something is not known of a row, by table and by what that is."""

SOURCES: Mapping[str, str] = {"launch": "api", "op": "op"}
"""Tables that such columns are from: without the table nothing is to be known, and the table is what is missing."""


@dataclass(frozen=True)
class Coverage:
    """Of how many of all rows of a table something is known, say the name of kernels."""

    table: str
    what: str
    known: int
    total: int


@dataclass(frozen=True)
class Missing:
    """A table that the trace has not, what cannot be said without it, and how to record it where the format can.

    `doubt` says why it may have been recorded all the same; there is no hint then.
    """

    table: str
    loses: str
    hint: str | None
    doubt: str | None = None


@dataclass(frozen=True)
class Unreliable:
    """A quantity, and the notes that say why it is not to be trusted."""

    quantity: str
    because: tuple[Note, ...]


@dataclass(frozen=True)
class Flawed:
    """Rows that no sum uses, and the time they claim; null where that is none (they end before they start)."""

    table: str
    flaw: str
    count: int
    claimed_ns: int | None


@dataclass(frozen=True)
class Health:
    """What to know of a trace before any number of it."""

    collected: tuple[str, ...]
    missing: tuple[Missing, ...]
    coverage: tuple[Coverage, ...]
    flawed: tuple[Flawed, ...]
    unreliable: tuple[Unreliable, ...]
    notes: tuple[Note, ...]
    copying_kernels: int = 0
    """Kernels that copy or fill memory, by their names: work that other recorders have in `copy` and `fill`."""


def health(trace: Trace, hints: Mapping[str, str] | None = None) -> Health:
    """The health of a trace. `hints` says, by table, how to record what its format can give."""
    hints = hints or {}
    needed = [name for name in TABLES if name in LOSES or name in hints]
    flawing = [name for name, table in TABLES.items() if trace.has(name) and "flaw" in table.names]
    files = {name: file for name, file in trace.files.items() if name in {*COVERED, *flawing, "counter"}}
    with damage_told(f"trace {trace.id[:12]}"), transient() as database:
        create_views(database, {trace.id: files}, categories="none")
        coverage = [row for table in COVERED if trace.has(table) for row in _coverage(database, trace, table)]
        flawed = [row for table in flawing for row in _flawed(database, table)]
        copying = _copying_kernels(database) if trace.has("kernel") else 0
        unaddressed = trace.has("counter") and not trace.has("allocation") and _changes(database)
        missing = [_missing(trace, name, hints, unaddressed) for name in needed if not trace.has(name)]
    return Health(
        collected=tuple(name for name in TABLES if trace.has(name) and name != "note"),
        missing=tuple(missing),
        coverage=tuple(coverage),
        flawed=tuple(flawed),
        unreliable=_unreliable(trace.notes),
        notes=trace.notes,
        copying_kernels=copying,
    )


def _missing(trace: Trace, table: str, hints: Mapping[str, str], unaddressed: bool) -> Missing:
    """A hint only where it is sure that the table was not recorded: the file is whole, and the option was not given.

    Memory events without addresses are no allocations, though they show that the option was given: `unaddressed`.
    """
    if table == "allocation" and unaddressed:
        return Missing(table, "what holds memory, and how long", None, UNADDRESSED)
    hint = hints.get(table)
    doubt = None
    if (hint is not None or not hints) and any(note.kind in CUT for note in trace.notes):
        doubt = PART_LOST
    elif hint is not None and any(trace.has(other) for other, option in hints.items() if option == hint):
        doubt = TRACED
    return Missing(table, LOSES.get(table, TABLES[table].meaning), None if doubt else hint or None, doubt)


def _changes(database: "duckdb.DuckDBPyConnection") -> bool:
    """Whether there are memory events that tell the change in bytes alone: a trace has no allocations of these."""
    return database.execute("select 1 from counter where name = 'memory change' limit 1").fetchone() is not None


def _copying_kernels(database: "duckdb.DuckDBPyConnection") -> int:
    counts = dict(database.execute("select name, count(*) from kernel group by name").fetchall())
    return sum(counts[name] for name, category in categories_of(counts).items() if category in ("copy", "fill"))


def _coverage(database: "duckdb.DuckDBPyConnection", trace: Trace, table: str) -> list[Coverage]:
    wanted = {what: column for what, column in COVERED[table].items() if trace.has(SOURCES.get(column, table))}
    counts = ", ".join(f"count({expression})" for expression in wanted.values())
    total, *known = database.execute(f"select count(*), {counts} from {table}").fetchone() or (0,)
    return [Coverage(table, what, found, total) for what, found in zip(wanted, known, strict=True)]


def _flawed(database: "duckdb.DuckDBPyConnection", table: str) -> list[Flawed]:
    recorded = "try_cast(regexp_extract(args, '\"recorded_end_ns\": (-?\\d+)', 1) as hugeint)"
    query = f"""
        select flaw, count(*), sum(greatest({recorded} - start_ns, 0))
        from "{table}"
        where flaw is not null
        group by flaw
        order by flaw
    """
    rows = database.execute(query).fetchall()
    return [Flawed(table, flaw, count, int(claimed) if claimed else None) for flaw, count, claimed in rows]


def _unreliable(notes: tuple[Note, ...]) -> tuple[Unreliable, ...]:
    """The quantities that notes make unreliable, in the order in which the notes name them."""
    because: defaultdict[str, list[Note]] = defaultdict(list)
    for note in notes:
        for quantity in UNRELIABLE.get(note.kind, ()):
            because[quantity].append(note)
    return tuple(Unreliable(quantity, tuple(found)) for quantity, found in because.items())
