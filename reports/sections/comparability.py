"""Whether two sides can be compared at all: what they ran on, how they were recorded, which runs count."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from ...mining.fingerprint import ASPECTS, UNKNOWN
from ...mining.headline import HEADLINE, statement
from ...mining.words import count, plural
from ..compared import Compared, Side, files_of
from ..report import Column, Section, Table

__all__ = ["differing", "section"]

MOST_RUNS = 60
RUNS = """
select run, {columns}
from (
{values}
)
group by run
order by run
"""


def differing(both: Compared, allowed: Collection[str]) -> list[str]:
    """The aspects in which the runs that count are not all the same, but for those `allowed` ("all": every one)."""
    return [
        aspect
        for aspect in ASPECTS
        if len(_values(both.fingerprints(), aspect)) > 1 and not {aspect, "all"} & set(allowed)
    ]


def section(both: Compared, allowed: Collection[str]) -> Section:
    """The section that a reader needs before any number."""
    return Section(
        "comparability",
        "Can they be compared?",
        _sentence(both, differing(both, allowed), allowed),
        (_aspects(both, allowed), _runs(both)),
        tuple(_notes(both)),
    )


def _values(fingerprints: Sequence[Any], aspect: str) -> list[str]:
    return sorted({fingerprint[aspect] for fingerprint in fingerprints})


def _of(side: Side, aspect: str) -> str:
    return "; ".join(_values([run.measured.fingerprint for run in side.counted], aspect))


def _sentence(both: Compared, apart: Sequence[str], allowed: Collection[str]) -> str:
    if apart:
        said = "; ".join(
            f"{aspect}: {_of(both.base, aspect)} against {_of(both.candidate, aspect)}" for aspect in apart
        )
        options = " ".join(f"--allow-mismatch '{aspect}'" for aspect in apart)
        return f"Not comparable, so nothing is decided: {said}. To compare all the same: {options}."
    differs = differing(both, ())
    if differs:
        return f"Compared all the same, as you allowed: not all runs have the same {', '.join(differs)}."
    known = [aspect for aspect in ASPECTS if _of(both.base, aspect) != UNKNOWN]
    return (
        f"Comparable: {', '.join(known)} {'are' if len(known) > 1 else 'is'} the same, and nothing is known to differ."
    )


def _aspects(both: Compared, allowed: Collection[str]) -> Table:
    rows = [
        {
            "aspect": aspect,
            "base": _of(both.base, aspect),
            "candidate": _of(both.candidate, aspect),
            "verdict": _told(both, aspect, allowed),
        }
        for aspect in ASPECTS
    ]
    columns = (
        Column("aspect", "Aspect"),
        Column("base", "Base"),
        Column("candidate", "Candidate"),
        Column("verdict", "Verdict"),
    )
    return Table("What the runs ran on, and how they were recorded", columns, rows, "")


def _told(both: Compared, aspect: str, allowed: Collection[str]) -> str:
    values = _values(both.fingerprints(), aspect)
    if len(values) > 1:
        return "differs, allowed" if {aspect, "all"} & set(allowed) else "differs"
    return "not known" if values == [UNKNOWN] else "same"


def _runs(both: Compared) -> Table:
    """The values of each run, and whether it counts."""
    there = [one for one in HEADLINE if one.name in both.collected()]
    rows = [
        {"run": run.label, "counts": run.measured.excluded is None, "why": run.measured.excluded}
        | {one.name: run.measured.values[one.name] for one in there}
        for run in both.runs
    ]
    columns = (
        Column("run", "Run"),
        Column("counts", "Counts"),
        *((Column("why", "Why not"),) if any(row["why"] for row in rows) else ()),
        *(Column(one.name, one.title, one.unit) for one in there),
    )
    values = statement(files_of(both.runs), whole=both.whole)
    picked = ",\n    ".join(f"any_value(value) filter (metric = '{one.name}') as {one.name}" for one in there)
    sql = RUNS.format(columns=picked, values=values).strip() if there else ""
    return Table("Each run", columns, rows, sql, MOST_RUNS)


def _notes(both: Compared) -> Iterator[str]:
    unknown = [aspect for aspect in ASPECTS if _values(both.fingerprints(), aspect) == [UNKNOWN]]
    if unknown:
        yield f"Not recorded in any run, so it may differ unseen: {', '.join(unknown)}."
    for side in both.sides:
        left_out = [run for run in side.runs if run.measured.excluded is not None]
        if left_out and side.counts:
            yield f"{plural(len(left_out), 'run')} of the {side.name} left out: " + "; ".join(
                f"{run.measured.name}: {run.measured.excluded}" for run in left_out
            )
        if side.twice:
            yield f"Given more than once, counted once, of the {side.name}: {', '.join(side.twice)}."
    if both.shared:
        those = f"{count(len(both.shared))} of the candidate's runs {'is' if len(both.shared) == 1 else 'are'}"
        yield f"{those} in the base too: a run is never other than itself, so nothing is decided."
    if both.whole:
        yield "At least one side shows no iterations: all runs are measured as wholes, as if they were one iteration."
