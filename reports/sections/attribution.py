"""What makes an iteration of the candidate longer or shorter: causes that add up to the difference, and operations."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from ...mining.categories import LEAVES, kernel_categories
from ...mining.delta import PHRASES
from ...mining.run_differences import causes, gaps, kernels, of_ranks, parts, statement
from ...mining.words import duration, percent, plural
from ...store.health import LAUNCHES
from ...store.trace import Trace
from ..charts.comparison import kernel_scatter, waterfall
from ..compared import Compared, Side
from ..health import health_of
from ..report import Block, Chart, Column, Section, Table
from ..shown import Rows
from ..text import shorten

__all__ = ["section"]

CAUSES = {
    "appeared": "operations that appeared",
    "vanished": "operations that vanished",
    "calls": "more or fewer calls",
    "speed": "slower or faster calls",
    "gaps": "idle time",
    "overlap": "more or less at the same time",
}
MOST_ROWS = 200
NAMED = 3
COMMUNICATES = LEAVES["communication"]
NAME = 80

Ranks = Mapping[tuple[str, str], Sequence[int]]
"""The difference on each rank, by kind and name of a part."""

NOTES = (
    "Parts add up to the difference of the mean iteration exactly. Each run counts alike, and so does each rank of it.",
    "The time of an operation is that of its calls, whether or not others run at the same time; what is counted more "
    "than once for that is taken off as operations at the same time. Collectives hold waiting for other ranks.",
    "Operations are told apart by name: one whose name is another now has vanished, and another one has appeared.",
)


def section(both: Compared) -> Section:
    """The section on the difference of an average steady iteration (or of a whole recording)."""
    key, heading = "attribution", "What makes the difference"
    base, now = (_work(side) for side in both.sides)
    if not (base and now):
        return Section(key, heading, "Not told: one side has no work of a device with times.")
    found = parts(base, now)
    sql = statement(*([run.traces for run in _counted(side)] for side in both.sides), whole=both.whole)
    told = causes(found)
    by_cause = [{"cause": CAUSES[cause], "delta_ns": ns} for cause, ns in told.by_cause.items()]
    whole = {"cause": "an iteration", "delta_ns": told.total}
    blocks: list[Block] = [Table("Difference by cause", CAUSE_COLUMNS, [*by_cause, whole], sql)]
    if any(row["delta_ns"] for row in by_cause):
        shows = "Each bar begins where the one above it ends; the last one is the whole difference."
        blocks.append(Chart("Difference by cause", waterfall([*by_cause, whole]), shows, sql))
    blocks.append(Table("Difference by operation and idle time", PART_COLUMNS, _shown(found), sql, 40))
    tested = kernels(base, now)
    if tested:
        blocks.append(Table("Operations, run against run", TEST_COLUMNS, tested[:MOST_ROWS], sql, 40))
    pairs = [row for row in found if row["kind"] == "operation" and row["base_ns"] > 0 and row["ns"] > 0]
    if pairs:
        shows = "Time per iteration of each operation that both sides have; on the line nothing changed."
        blocks.append(Chart("Operations of both sides", kernel_scatter(pairs), shows, sql))
    sure = _beyond_chance(tested, gaps(base, now)) if tested else None
    said = _sentence(both, found, of_ranks(base, now), sure) + _doubt(both, found)
    return Section(key, heading, said, tuple(blocks), (*NOTES, _tests(tested)))


def _doubt(both: Compared, found: Rows) -> str:
    """What to say where idle time differs and a side's traces do not tell its causes reliably."""
    idle = any(row["kind"] == "gaps" and row["delta_ns"] for row in found)
    sides = [side.name for side in both.sides if any(map(_doubtful, (t for run in side.counted for t in run.traces)))]
    return f" Causes of idle time are unreliable in the {' and the '.join(sides)}." if idle and sides else ""


def _doubtful(trace: Trace) -> bool:
    return any(one.quantity == LAUNCHES for one in health_of(trace).unreliable)


def _beyond_chance(operations: Rows, idle: Rows) -> set[tuple[str, str]]:
    """The parts, by kind and name, that differ by more than chance makes runs differ."""
    both = (("operation", operations), ("gaps", idle))
    return {(kind, row["name"]) for kind, rows in both for row in rows if row["changed"]}


CAUSE_COLUMNS = (Column("cause", "Cause"), Column("delta_ns", "Difference", "ns"))
PART_COLUMNS = (
    Column("kind", "Kind"),
    Column("name", "What"),
    Column("change", "Change"),
    Column("base_ns", "Base", "ns"),
    Column("ns", "Candidate", "ns"),
    Column("delta_ns", "Difference", "ns"),
    Column("calls_ns", "by calls", "ns"),
    Column("speed_ns", "by speed", "ns"),
    Column("base_calls", "Calls in the base", "count"),
    Column("calls", "Calls", "count"),
)
TEST_COLUMNS = (
    Column("name", "Operation"),
    Column("base_ns", "Base", "ns"),
    Column("ns", "Candidate", "ns"),
    Column("delta_ns", "Difference", "ns"),
    Column("change", "Change", "share"),
    Column("p", "By chance", "share"),
    Column("changed", "More than chance"),
)


def _counted(side: Side) -> list[Any]:
    return [run for run in side.counted if run.work]


def _work(side: Side) -> list[Any]:
    return [run.work for run in _counted(side)]


def _shown(found: Rows) -> Rows:
    """The parts, but for operations that are the same, after the whole; gaps are called after their cause.

    Where they are many, the smallest are summed up in one row, so that what is shown adds up, too.
    """
    rows = [
        {**row, "name": f"idle: {row['name']}"} if row["kind"] == "gaps" else row
        for row in found
        if row["change"] != "same" or row["kind"] == "total"
    ]
    own = [row for row in rows if row["kind"] != "overlap"]
    return [*own[:MOST_ROWS], *_further(own[MOST_ROWS:]), *(row for row in rows if row["kind"] == "overlap")]


def _further(rows: Rows) -> Iterator[Mapping[str, Any]]:
    """One row for all of those; none for none."""
    if rows:
        sums = {key: sum(row[key] for row in rows) for key in ("base_ns", "ns", "delta_ns")}
        yield {column.key: None for column in PART_COLUMNS} | {
            "kind": "further",
            "name": f"{plural(len(rows), 'part')} with smaller differences",
            **sums,
        }


def _first(
    found: Rows, ranks: Ranks, waiting: Collection[str], sure: Collection[tuple[str, str]] | None
) -> list[Mapping[str, Any]]:
    """The parts that differ most, the largest first; what ran at the same time is a consequence, not a cause.

    Only those that are `sure`, where runs are enough to tell (else None): what differs by chance is no cause.

    Of several ranks the one that differs most tells. Of an operation that waits for other ranks it is the one that
    differs least: where one rank is late, the others wait longer for it, but it does not; a slower link slows all.
    """
    named = [
        row
        for row in found
        if row["kind"] in ("operation", "gaps")
        and row["delta_ns"]
        and (sure is None or (row["kind"], row["name"]) in sure)
    ]

    def order(row: Mapping[str, Any]) -> tuple[float, float, bool, str]:
        each = ranks.get((row["kind"], row["name"]), [row["delta_ns"]])
        alike = min(each) > 0 or max(each) < 0
        size = min(map(abs, each)) * alike if row["name"] in waiting else max(map(abs, each))
        return -size, -abs(row["delta_ns"]), row["kind"] == "gaps", row["name"]

    return sorted(named, key=order)[:NAMED]


def _sentence(both: Compared, found: Rows, ranks: Ranks, sure: Collection[tuple[str, str]] | None) -> str:
    """How much longer an iteration is, and by what first."""
    total = found[0]
    what = "the whole recording" if both.whole else "an iteration"
    said = f"On average {what} takes {duration(total['ns'])} instead of {duration(total['base_ns'])}"
    if total["delta_ns"] and total["base_ns"]:
        said += f", {percent(abs(total['delta_ns']), total['base_ns'])} {'more' if total['delta_ns'] > 0 else 'less'}"
    first = _first(found, ranks, _waiting(both) if ranks else (), sure)
    members = _counted(both.candidate)[0].group.members
    named = [_named(row, ranks, [member.rank for member in members]) for row in first]
    if named:
        return f"{said}. The largest differences: {'; '.join(named)}."
    return f"{said}; nothing in it differs{'' if sure is None else ' by more than chance'}."


def _named(row: Mapping[str, Any], ranks: Ranks, numbers: Sequence[int | None]) -> str:
    what = (
        f"idle, {row['name']}" if row["kind"] == "gaps" else f"{shorten(row['name'], NAME)}, {PHRASES[row['change']]}"
    )
    each = ranks.get((row["kind"], row["name"]), ())
    most = max(range(len(each)), key=lambda rank: abs(each[rank]), default=0)
    rank = numbers[most] if len(numbers) == len(each) and numbers[most] is not None else most
    where = f" (most on rank {rank}: {_signed(each[most])})" if each and min(each) != max(each) else ""
    return f"{_signed(row['delta_ns'])} {what}{where}"


def _signed(ns: int) -> str:
    return f"{'+' if ns > 0 else '−'}{duration(abs(ns))}"


def _waiting(both: Compared) -> set[str]:
    """The operations that wait for other ranks: kernels that communicate."""
    traces = [trace for run in both.runs for trace in run.traces]
    return {
        name or ""
        for trace in traces
        for name, kind in kernel_categories(trace).items()
        if LEAVES.get(kind) == COMMUNICATES
    }


def _tests(tested: Sequence[Mapping[str, Any]]) -> str:
    if not tested:
        return "With 3 runs or more on each side every operation is tested against chance."
    changed = sum(bool(row["changed"]) for row in tested)
    return (
        f"{plural(changed, 'operation')} of {len(tested)} differ{'s' if changed == 1 else ''} by more than chance: "
        "Welch's test, run against run, with at most 5 % of those told expected to be wrong (Benjamini and Hochberg). "
        "The times in that table are medians of the runs."
    )
