"""What a report that judges comes to: the exit code, one sentence, the worst first, and a table of all."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import inf

from ..store.errors import Error
from .report import Check, Column, Report, Section, Table, Verdict
from .units import show

__all__ = [
    "UNREAD",
    "change",
    "demanded",
    "exit_code",
    "moved",
    "sections",
    "unread",
    "verdict_line",
    "worst_first",
]

UNREAD: Mapping[str, str] = {
    "input": "Input of the pipeline",
    "measurement": "Measurement of the run",
    "history_file": "File of the history",
}
"""Metrics, with their titles, of checks that say what could not be read: an error, where others are a verdict."""

_ORDER: tuple[Verdict, ...] = ("regression", "inconclusive", "improvement", "neutral")
_MOST_NAMED = 3
_MOST_EXPLAINED = 25
_COLUMNS = (
    Column("verdict", "Verdict"),
    Column("metric", "Metric"),
    Column("change", "Change"),
    Column("value", "Value"),
    Column("baseline", "Baseline"),
    Column("low", "Low limit"),
    Column("high", "High limit"),
    Column("series", "Series", "id"),
)


def exit_code(checks: Sequence[Check]) -> int:
    """3 where anything is a regression; else 4 where anything is inconclusive, or where nothing was checked; else 0."""
    verdicts = {check.verdict for check in checks}
    if "regression" in verdicts:
        return 3
    return 4 if not verdicts or "inconclusive" in verdicts else 0


def verdict_line(checks: Sequence[Check]) -> str:
    """One sentence: what is worst, how many there are of it, and the worst of those by name."""
    if not checks:
        return "Inconclusive: nothing was checked."
    counts = Counter(check.verdict for check in checks)
    whole = f"{len(checks)} check{'s' * (len(checks) != 1)}"
    undecided = f"; {counts['inconclusive']} inconclusive" if counts["inconclusive"] else ""
    if counts["regression"]:
        return f"Regression in {counts['regression']} of {whole}: {_named(checks, 'regression')}{undecided}."
    if undecided:
        return f"Inconclusive: {counts['inconclusive']} of {whole} undecided: {_named(checks, 'inconclusive')}."
    if counts["improvement"]:
        return f"No regression in {whole}; {counts['improvement']} improved: {_named(checks, 'improvement')}."
    return f"No regression in {whole}."


def unread(check: Check) -> bool:
    """Whether the check says that something could not be read, which is an error: any verdict may be behind it."""
    return check.metric in UNREAD


def worst_first(checks: Sequence[Check]) -> list[Check]:
    """Regressions, then what could not be read, what is inconclusive, improvements and the rest.

    Of equals the largest change first.
    """

    def place(check: Check) -> tuple[int, bool, float, str, str]:
        size = change(check)
        return _ORDER.index(check.verdict), not unread(check), -abs(size or 0.0), check.series, check.metric

    return sorted(checks, key=place)


def change(check: Check) -> float | None:
    """The value's distance from the baseline as a share of it; infinite from a baseline of nothing.

    None where one of them is not known.
    """
    if check.value is None or check.baseline is None:
        return None
    if check.baseline == 0:
        return 0.0 if check.value == 0 else inf if check.value > 0 else -inf
    return (check.value - check.baseline) / abs(check.baseline)


def moved(check: Check) -> str:
    """The change in words: a signed percentage, or both values where there is none; empty where one is not known."""
    size = change(check)
    if size is None:
        return ""
    if abs(size) == inf:
        return f"{show(check.baseline, check.unit)} → {show(check.value, check.unit)}"
    return ("+" if size > 0 else "") + show(size, "share")


def sections(report: Report) -> tuple[Section, ...]:
    """The report's sections for a reader: before them one on its checks, in a report that judges."""
    return (_section(report.checks), *report.sections) if report.checks else report.sections


def demanded(report: Report, format: str) -> list[Check]:
    """The report's checks, the worst first; an `Error` where it has none, since that is no pass."""
    if not report.checks:
        raise Error(
            f"the format {format} holds checks, and the report {report.topic} has none",
            "compare and watch make checks; of this report take html, md, json, csv or terminal",
        )
    return worst_first(report.checks)


def _named(checks: Sequence[Check], verdict: Verdict) -> str:
    """The worst of one verdict by name; by their series too where there are several."""
    several = len({check.series for check in checks}) > 1
    those = [check for check in worst_first(checks) if check.verdict == verdict]
    words = [
        check.title + (f" of {check.series}" if several else "") + (f" ({moved(check)})" if moved(check) else "")
        for check in those[:_MOST_NAMED]
    ]
    return ", ".join(words) + (f" and {len(those) - _MOST_NAMED} more" if len(those) > _MOST_NAMED else "")


def _section(checks: Sequence[Check]) -> Section:
    """All checks as a table, and why the worst are what they are.

    A check rests on many runs, so no one statement gives the table again.
    """
    counts = Counter(check.verdict for check in checks)
    ordered = worst_first(checks)
    rows = [
        {
            "verdict": check.verdict,
            "metric": check.title,
            "change": moved(check) or show(None, "text"),
            "value": show(check.value, check.unit),
            "baseline": show(check.baseline, check.unit),
            "low": show(check.low, check.unit),
            "high": show(check.high, check.unit),
            "series": check.series,
        }
        for check in ordered
    ]
    return Section(
        "checks",
        "Checks",
        ", ".join(f"{counts[verdict]} {verdict}" for verdict in _ORDER if counts[verdict]) + ".",
        (Table("Checks, the worst first", _COLUMNS, rows, ""),),
        tuple(_explained(ordered))[:_MOST_EXPLAINED],
    )


def _explained(ordered: Sequence[Check]) -> Iterator[str]:
    """What the checks that are no pass say: what several say alike, once."""
    titles: dict[str, list[str]] = {}
    for check in ordered:
        if check.verdict in ("regression", "inconclusive"):
            titles.setdefault(check.sentence, []).append(check.title)
    for sentence, those in titles.items():
        yield f"{', '.join(dict.fromkeys(those))}: {sentence}"
