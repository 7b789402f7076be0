"""Judges the runs of the archive by their history: regressions that can be trusted, on a schedule."""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..options import (
    archive_option,
    format_option,
    output_option,
    patience,
    report_options,
    width_of,
    write_output,
)
from ..text import clean

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...store.archive import Archive
    from ...store.history import Damage
    from ..rank_group import Unread

F = TypeVar("F", bound=Callable[..., Any])


@click.group()
def command() -> None:
    """Judges the runs of the archive by their history.

    A series is what runs can be compared: the same devices, driver, framework, model, ranks and collector. A metric of
    a series has changed when three runs on end lie outside what the 20 runs before them predict, and by 3 % at least.
    With fewer than 8 runs before it, or until the third run is there, it is inconclusive. How often that is wrong:
    docs/watch.md.

    \b
    tracelode watch check --archive traces -o check.html     # every night, after the runs were ingested
    tracelode watch report a37138 -o history.html            # one series from its beginning
    tracelode watch accept a37138 --reason "new tokenizer"   # a change that is meant to be
    """


def metric_option(command: F) -> F:
    """Adds --metric, which may be given again."""
    return click.option(
        "--metric", "metrics", multiple=True, help="Only this metric; may be given again. [default: all]"
    )(command)


@command.command()
@click.option("--series", help="Check only the series whose id begins with this. [default: all that still have runs]")
@report_options
def check(series: str | None, format: str | None, archive_path: Path, output: Path | None) -> None:
    """Measures new runs, and judges every series.

    Exit code: 0 no regression, 3 a regression that is confirmed, 4 inconclusive: the report says how many runs of which
    series would decide; also where there was nothing to check. 5 or 6: runs could not be measured, or files of
    the history not be read. The report is written before, whatever it says. The same command twice says the same.
    """
    from ..checks import exit_code
    from ..report_files import write_report
    from ..watching import check as judged
    from ..watching import record

    archive = _archive(archive_path)
    with patience("measuring runs"):
        recorded = record(archive)
    for one in recorded.failed:
        click.echo(f"error: {clean(one.name)}: {clean(one.error.message)}\nhint: {clean(one.error.hint)}", err=True)
    damage: Damage = {}
    report = judged(archive, series=series, unmeasured=recorded.failed, damage=damage)
    write_report(report, format, output)
    _raise(recorded.failed, damage)
    sys.exit(exit_code(report.checks))


@command.command()
@click.argument("series")
@report_options
def report(series: str, format: str | None, archive_path: Path, output: Path | None) -> None:
    """Shows the whole history of a series.

    Each metric over all runs, when it changed, which kernels explain it, what was decided and left out. SERIES is the
    beginning of its id: tracelode watch list. Only runs that `watch check` has measured are in it.
    """
    from ..report_files import write_report
    from ..watching import history_of

    damage: Damage = {}
    write_report(history_of(_archive(archive_path), series, damage=damage), format, output)
    _raise((), damage)


@command.command("list")
@archive_option
@format_option()
@output_option
def list_(archive_path: Path, format: str, output: Path | None) -> None:
    """Lists the series and what they can tell.

    Of each metric of a series: its runs, the smallest change that is found in four of five cases, the last verdict.
    `replaced` is a series that a later one of the same model took over from, as where the driver was changed.
    """
    import polars as pl

    from ..rows import render
    from ..sections.watched_series import rows_of
    from ..watching import known_series

    found = known_series(_archive(archive_path))
    rows = [row | {"runs_on": _runs_on(one.fingerprint)} for one in found for row in rows_of(one)]
    schema = {"series": pl.String, "metric": pl.String, "verdict": pl.String, "runs": pl.Int64}
    schema |= {"since_decision": pl.Int64, "pinned": pl.Boolean, "median": pl.Float64, "unit": pl.String}
    schema |= {"noise": pl.Float64, "detectable": pl.Float64, "last_run": pl.String, "last_day": pl.String}
    frame = pl.DataFrame(rows, schema=schema | {"runs_on": pl.String}, orient="row")
    if format == "table":
        share = pl.format("{} %", (pl.col("detectable") * 100).round(1)).alias("smallest_change")
        frame = frame.select("series", "metric", "verdict", "pinned", "runs", share, "last_run", "last_day", "runs_on")
    write_output(render(frame, format, width=width_of(output)), output)


@command.command()
@click.argument("series")
@click.option("--reason", required=True, help="Why the change is as it should be; kept with the history.")
@metric_option
@click.option("--since", help="The run that begins the new baseline. [default: the first that shows the change]")
@archive_option
def accept(series: str, reason: str, metrics: tuple[str, ...], since: str | None, archive_path: Path) -> None:
    """Accepts a change that is meant to be.

    The baseline of the series begins anew where the change began, and is pinned no longer. SERIES is the beginning of
    its id. What ran before is kept and shown, and judges nothing any more.
    """
    from ..watch_decisions import accept as accepted

    archive = _archive(archive_path)
    said = accepted(archive, series, reason=reason, now_ns=time.time_ns(), metrics=metrics, since=since)
    click.echo(clean(said), err=True)  # it names a run


@command.group()
def baseline() -> None:
    """Keeps a baseline where it is, or lets it move."""


@baseline.command()
@click.argument("series")
@click.option("--reason", default="", help="Why; kept with the history.")
@metric_option
@archive_option
def pin(series: str, reason: str, metrics: tuple[str, ...], archive_path: Path) -> None:
    """Pins the runs that set the limits now, so that no slow drift becomes the new normal.

    SERIES is the beginning of its id.
    """
    from ..watch_decisions import pin as pinned

    click.echo(pinned(_archive(archive_path), series, reason=reason, now_ns=time.time_ns(), metrics=metrics), err=True)


@baseline.command()
@click.argument("series")
@click.option("--reason", default="", help="Why; kept with the history.")
@metric_option
@archive_option
def unpin(series: str, reason: str, metrics: tuple[str, ...], archive_path: Path) -> None:
    """Lets the limits follow the last 20 runs again.

    SERIES is the beginning of its id.
    """
    from ..watch_decisions import unpin as unpinned

    click.echo(
        unpinned(_archive(archive_path), series, reason=reason, now_ns=time.time_ns(), metrics=metrics), err=True
    )


def _archive(path: Path) -> "Archive":
    from ...store.archive import Archive

    return Archive(path).existing()


def _raise(failed: "Sequence[Unread]", damage: "Damage") -> None:
    """Raises what there is to raise for what could not be measured or read, when all the others are done."""
    from ...mining.words import plural

    for error in damage.values():
        click.echo(f"error: {clean(error.message)}\nhint: {clean(error.hint)}", err=True)
    errors = [*(one.error for one in failed), *damage.values()]
    if errors:
        worst = max(errors, key=lambda error: error.exit_code)
        what = [f"{plural(len(failed), 'run')} could not be measured"] if failed else []
        what += [f"{plural(len(damage), 'file')} of the history could not be read"] if damage else []
        raise type(worst)(" and ".join(what), "the errors above say why")


def _runs_on(fingerprint: "Mapping[str, str]") -> str:
    from ...mining.fingerprint import UNKNOWN

    known = (fingerprint[name] for name in ("model", "config", "batch", "ranks", "gpu", "driver", "framework"))
    return ", ".join(value for value in known if value != UNKNOWN)
