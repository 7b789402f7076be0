"""Compares runs with those of a base: regression, improvement, neutral or inconclusive."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..failures import ABOVE, as_one, tell
from ..options import patience, report_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...store.errors import Error
    from ..rank_group import Group, Unread

BETWEEN = "\0between base and candidate"
"""Stands for the first `--` among the arguments, so that options may follow it too: no argument holds a zero byte."""


class Sides(click.Command):
    """A command with two lists of arguments, `--` between them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keeps the place of the first `--`, which click would drop."""
        if "--" in args:
            at = args.index("--")
            args = [*args[:at], BETWEEN, *args[at + 1 :]]
        return super().parse_args(ctx, args)


@click.command(cls=Sides)
@click.argument("runs", nargs=-1, metavar="BASE... -- CANDIDATE...")
@click.option("--base-sql", help="SQL over the archive that gives the runs of the base: a column run, or trace_id.")
@click.option("--candidate-sql", help="The same for the candidate.")
@click.option(
    "--allow-mismatch",
    "allowed",
    multiple=True,
    metavar="ASPECT",
    help="Compare although this differs (all: whatever differs); may be given again. The report names the aspects.",
)
@click.option("--metric", "metrics", multiple=True, help="Check only this metric; may be given again. [default: all]")
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1000, min_open=True),
    default=3.0,
    show_default=True,
    help="Least change that matters, in percent.",
)
@report_options
def command(
    runs: tuple[str, ...],
    base_sql: str | None,
    candidate_sql: str | None,
    allowed: tuple[str, ...],
    metrics: tuple[str, ...],
    threshold: float,
    format: str | None,
    archive_path: Path,
    output: Path | None,
) -> None:
    """Compares runs with those of a base: what changed, by how much, and what makes the difference.

    BASE and CANDIDATE are runs: a trace file, a folder with the traces of the ranks of one run, a run in the archive by
    its name, or the beginning of a trace's id. With one of each, `--` may be left out. Give 3 runs or more of each: one
    run says nothing of what differs from run to run, so nothing is decided.

    Exit code: 0 no regression, 3 a regression, 4 inconclusive (also where the runs are not comparable), 5 a file could
    not be read. The report is written before, whatever it says; beside an HTML file a .json file holds every number.

    \b
    tracelode compare monday/*.json.gz -- tuesday/*.json.gz -o change.html
    tracelode compare before.json.gz after.json.gz
    tracelode compare --base-sql "select run from source where run like 'main-%'" -- pull-request-7
    """
    from ...store.errors import Error
    from ..checks import exit_code
    from ..comparison import METRICS, build, refused
    from ..report_files import format_of, write_report

    name = format or format_of(output)
    _known(allowed, metrics)
    base_names, candidate_names = _split(runs, base_sql, candidate_sql)
    error: Error | None = None
    try:
        base, gone = _side(base_names, base_sql, archive_path)
        candidate, more_gone = _side(candidate_names, candidate_sql, archive_path)
        gone += more_gone
        with patience("mining"):
            report = build(
                base, candidate, allowed=allowed, metrics=metrics or METRICS, effect=threshold / 100, unread=gone
            )
        error = _unread([*gone, *(one for group in (*base, *candidate) for one in group.unread)])
    except Error as fault:
        if output is None:
            raise
        report, error = refused(fault, metrics or METRICS), fault
    write_report(report, name, output)
    if error is not None:
        raise error
    sys.exit(exit_code(report.checks))


def _known(allowed: "Sequence[str]", metrics: "Sequence[str]") -> None:
    """Refuses aspects and metrics that there are not: a check that nobody made is no pass."""
    from ...mining.fingerprint import ASPECTS
    from ..comparison import METRICS

    for given, there, what in ((allowed, ("all", *ASPECTS), "aspect"), (metrics, METRICS, "metric")):
        unknown = [one for one in given if one not in there]
        if unknown:
            raise click.UsageError(f"there is no {what} {unknown[0]}; there are: {', '.join(there)}")


def _split(
    runs: "Sequence[str]", base_sql: str | None, candidate_sql: str | None
) -> "tuple[Sequence[str], Sequence[str]]":
    """The names before and after `--`, each side with either names or a statement."""
    at = runs.index(BETWEEN) if BETWEEN in runs else _between(runs, base_sql, candidate_sql)
    sides = runs[:at], [name for name in runs[at:] if name != BETWEEN]
    for names_, query, what in ((sides[0], base_sql, "base"), (sides[1], candidate_sql, "candidate")):
        if names_ and query is not None:
            raise click.UsageError(f"the {what} is given twice: by names and by SQL")
        if not names_ and query is None:
            raise click.UsageError(f"the {what} is missing: tracelode compare BASE... -- CANDIDATE...")
    return sides


def _between(runs: "Sequence[str]", base_sql: str | None, candidate_sql: str | None) -> int:
    """Where the candidate begins among names without `--`: sure only where a side is SQL, or of two names."""
    if base_sql is not None:
        return 0
    if candidate_sql is not None:
        return len(runs)
    if len(runs) > 2:
        raise click.UsageError("which are the base, and which the candidate? Set -- between them")
    return 1


def _side(names_: "Sequence[str]", query: str | None, archive_path: Path) -> "tuple[list[Group], list[Unread]]":
    """The runs of a side, and what gave none; files that were not read are told of on standard error.

    Raises the error of the first of these where there is no run at all.
    """
    from ..run_groups import named, selected

    groups, gone = named(names_, archive_path) if query is None else (selected(query, archive_path), [])
    told = [*(gone if groups else gone[1:]), *(one for group in groups for one in group.unread)]
    tell(one.error for one in told)
    if not groups:
        raise gone[0].error
    return groups, gone


def _unread(unread: "Sequence[Unread]") -> "Error | None":
    """What there is to raise, when all is done, for files that were not read."""
    from ...mining.words import plural

    if not unread:
        return None
    said = f"{plural(len(unread), 'file')} {'was' if len(unread) == 1 else 'were'} not read"
    return as_one([one.error for one in unread], said, f"{ABOVE}; their runs do not count")
