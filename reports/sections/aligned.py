"""One iteration of each side, operation by operation, with what was inserted and removed."""

from collections.abc import Mapping, Sequence
from typing import Any

from ...mining.aligned_iterations import Aligned, aligned
from ...mining.words import count, duration, plural
from ..charts.comparison import strips
from ..compared import Compared
from ..report import Chart, Column, Section, Table

__all__ = ["section"]

MOST_ROWS = 400
COLUMNS = (
    Column("mark", "Mark"),
    Column("name", "Operation"),
    Column("operations", "Operations", "count"),
    Column("base_place", "Place in the base", "id"),
    Column("place", "in the candidate", "id"),
    Column("base_ns", "Base", "ns"),
    Column("ns", "Candidate", "ns"),
    Column("delta_ns", "Difference", "ns"),
)


def section(both: Compared) -> Section:
    """The section; where there are no iterations to align it says so."""
    key, heading = "aligned", "An iteration of each, side by side"
    if both.whole:
        return Section(key, heading, "Not shown: at least one side has no iterations.")
    base, now = (side.middle for side in both.sides)
    found = None if base is None or now is None else aligned(base.traces, now.traces)
    if found is None:
        return Section(
            key, heading, "Not shown: a side has no steady iterations, or the two have too little in common."
        )
    shows = f"Above an iteration of the base, below one of the candidate, both from their beginning. {_which(found)}"
    picture = strips(found.rows, found.base["time_ns"], found.other["time_ns"])
    rows = _folded(found.rows)
    blocks = (
        Chart("An iteration of base and candidate", picture, shows, ""),
        Table("Operations in order; those that are the same are one row", COLUMNS, rows[:MOST_ROWS], ""),
    )
    notes = ["One iteration of each: what is only slower or faster in it may be so by chance.", _which(found)]
    notes += [f"The table has the first {MOST_ROWS} of {count(len(rows))} rows."] if len(rows) > MOST_ROWS else []
    return Section(key, heading, _sentence(found), blocks, tuple(notes))


def _which(found: Aligned) -> str:
    base, now = (
        f"iteration {side['iteration']} of process {side['process']} of {side['name']} ({duration(side['time_ns'])})"
        for side in (found.base, found.other)
    )
    return f"Base: {base}. Candidate: {now}."


def _sentence(found: Aligned) -> str:
    counts = {
        mark: sum(row["mark"] == mark for row in found.rows) for mark in ("inserted", "removed", "slower", "faster")
    }
    if not any(counts.values()):
        return f"Both iterations do the same {plural(len(found.rows), 'operation')} in the same order and time."
    return (
        f"{plural(counts['inserted'], 'operation')} inserted, {counts['removed']} removed, {counts['slower']} slower, "
        f"{counts['faster']} faster."
    )


def _folded(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows with those that are the same, one after the other, as one; sums of their times."""
    folded: list[dict[str, Any]] = []
    for row in rows:
        if folded and row["mark"] == folded[-1]["mark"] == "same":
            last = folded[-1]
            last["operations"] += 1
            last["name"] = f"{last['operations']} operations"
            for key in ("base_ns", "ns", "delta_ns"):
                last[key] += row[key]
        else:
            folded.append({**row, "operations": 1})
    return folded
