"""Judges the runs of the archive by their history: regressions that can be trusted, on a schedule."""

import sys
import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..failures import as_one, tell
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
    from collections.abc import Generator, Mapping, Sequence

    from ...mining.series import Series
    from ...store.archive import Archive
    from ...store.errors import Error
    from ...store.history import Damage

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
        failed = record(archive).failed
    errors = [type(one.error)(f"{one.name}: {one.error.message}", one.error.hint) for one in failed]
    tell(errors)
    with _damage_told(errors) as damage:
        report = judged(archive, series=series, unmeasured=failed, damage=damage)
        write_report(report, format, output)
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

    with _damage_told() as damage:
        write_report(history_of(_archive(archive_path), series, damage=damage), format, output)


@command.command("list")
@archive_option
@format_option()
@output_option
def list_(archive_path: Path, format: str, output: Path | None) -> None:
    """Lists the series and what they can tell.

    Of each metric of a series: its runs, the smallest change that is found in four of five cases, the last verdict.
    `replaced` is a series that a later one of the same model took over from, as where the driver was changed.
    """
    from ..watching import known_series

    with _damage_told() as damage:
        found = known_series(_archive(archive_path), damage=damage)
        write_output(_listed(found, format, width_of(output)), output)


def _listed(found: "Sequence[Series]", format: str, width: int) -> bytes:
    """A row for each metric of the series."""
    import polars as pl

    from ..rows import render
    from ..sections.watched_series import rows_of

    rows = [row | {"runs_on": _runs_on(one.fingerprint)} for one in found for row in rows_of(one)]
    schema = {"series": pl.String, "metric": pl.String, "verdict": pl.String, "runs": pl.Int64}
    schema |= {"since_decision": pl.Int64, "pinned": pl.Boolean, "median": pl.Float64, "unit": pl.String}
    schema |= {"noise": pl.Float64, "detectable": pl.Float64, "last_run": pl.String, "last_day": pl.String}
    frame = pl.DataFrame(rows, schema=schema | {"runs_on": pl.String}, orient="row")
    if format == "table":
        share = pl.format("{} %", (pl.col("detectable") * 100).round(1)).alias("smallest_change")
        frame = frame.select("series", "metric", "verdict", "pinned", "runs", share, "last_run", "last_day", "runs_on")
    return render(frame, format, width=width)


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

    _decide(accepted, series, archive_path, reason=reason, metrics=metrics, since=since)


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

    _decide(pinned, series, archive_path, reason=reason, metrics=metrics)


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

    _decide(unpinned, series, archive_path, reason=reason, metrics=metrics)


def _decide(decide: Callable[..., str], series: str, archive_path: Path, **how: Any) -> None:
    """Makes a decision about the series whose id begins with that, now, and says what was done."""
    from ..watching import found_series

    archive = _archive(archive_path)
    with _damage_told() as damage:
        said = decide(archive, found_series(archive, series, damage=damage), now_ns=time.time_ns(), **how)
        click.echo(clean(said), err=True)  # it names a run


def _archive(path: Path) -> "Archive":
    from ...store.archive import Archive

    return Archive(path).existing()


@contextmanager
def _damage_told(unmeasured: "Sequence[Error]" = ()) -> "Generator[Damage]":
    """Gives where damaged files of the history go, which are told of in the end, whatever is raised.

    Else it raises what there is to raise for these, and for runs that could not be measured.
    """
    from ...mining.words import plural

    damage: Damage = {}
    try:
        yield damage
    finally:
        tell(damage.values())
    if unmeasured or damage:
        what = [f"{plural(len(unmeasured), 'run')} could not be measured"] if unmeasured else []
        what += [f"{plural(len(damage), 'file')} of the history could not be read"] if damage else []
        raise as_one([*unmeasured, *damage.values()], " and ".join(what))


def _runs_on(fingerprint: "Mapping[str, str]") -> str:
    from ...mining.fingerprint import UNKNOWN

    known = (fingerprint[name] for name in ("model", "config", "batch", "ranks", "gpu", "driver", "framework"))
    return ", ".join(value for value in known if value != UNKNOWN)
