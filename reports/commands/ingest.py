"""Reads trace files into the archive."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..options import archive_option, format_option, output_option, progress, run_option, width_of, write_output

if TYPE_CHECKING:
    from ...collect.ingest import Outcome
    from ...collect.inputs import Input
    from ...store.archive import Archive
    from ...store.errors import Error


@click.command()
@click.argument("paths", nargs=-1, required=True)
@run_option("the name of a folder or an archive")
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="Processes that read at once.")
@archive_option
@format_option()
@output_option
def command(
    paths: tuple[str, ...], run: str | None, jobs: int, archive_path: Path, format: str, output: Path | None
) -> None:
    """Reads traces into the archive. Reading one again changes nothing.

    PATHS are trace files, folders (with all traces below), tar and zip archives, single files of these
    (`run.tar!/rank0.json`), and URLs (`s3://bucket/key`, `gs://bucket/key`). A folder or an archive is one run: each
    trace gets its rank from what it says itself, else from its name, else from its place in the order. A file that
    cannot be read is named on standard error and does not stop the others.
    """
    import polars as pl

    from ...collect.ingest import read_all, size_of
    from ...store.archive import Archive
    from ..rows import render

    archive = Archive(archive_path)
    found = _inputs(paths, run)
    outcomes: list[Outcome] = []
    what = f"reading {paths[0]}{' and more' if len(paths) > 1 else ''}"
    with progress(what, lambda: sum(size_of(one.place) for one in found)) as heard:
        for outcome in read_all(found, archive_path, jobs=jobs, heard=heard):
            outcomes.append(outcome)
            if outcome.left_out and outcome.error:
                _leave_out(outcome.error.message)
            elif outcome.error and len(found) > 1:
                _say(outcome.error)
            elif outcome.trace:
                _warn_of_cut(outcome)
    if any(outcome.trace for outcome in outcomes):
        _rank(archive, outcomes)
        rows = _rows(archive, outcomes)
        if format == "table":
            rows = [{**row, "trace_id": row["trace_id"][:12]} for row in rows]
        archive.catalogue()
        write_output(render(pl.DataFrame(rows, schema=_schema()), format, width=width_of(output)), output)
    _judge(outcomes)


def _inputs(paths: tuple[str, ...], run: str | None) -> list["Input"]:
    from ...collect.inputs import Input, inputs, place_of
    from ...store.errors import Error

    found: list[Input] = []
    for path in paths:
        try:
            found += inputs(place_of(path), run, _leave_out)
        except Error as error:  # said, as what cannot be read is, when its turn comes
            found.append(Input(Path(path), Path(path), run, error))
    return found


def _warn_of_cut(outcome: "Outcome") -> None:
    """Says of a file that was cut short or damaged that it was: its trace looks like one of a program that did less."""
    from ...store.health import CUT
    from ..text import clean

    for note in outcome.trace.notes if outcome.trace else ():
        if note.kind in CUT:
            place = clean(str(outcome.input.place))
            click.echo(f"warning: {place}: {clean(note.meaning)} ({clean(note.example or '')})", err=True)


def _rank(archive: "Archive", outcomes: list["Outcome"]) -> None:
    """Ranks by order in the runs that were read, and what is to say of the ranks."""
    from ...collect.ranks import place_in_order, remarks
    from ..text import clean

    runs = sorted({o.input.run for o in outcomes if o.trace and o.input.run is not None})
    place_in_order(archive, *runs)
    for line in remarks(archive, runs):
        click.echo(f"warning: {clean(line)}", err=True)


def _rows(archive: "Archive", outcomes: list["Outcome"]) -> list[dict[str, Any]]:
    from ...collect.archives import address
    from ..text import utf8

    ranks = {member.source.path: member for member in archive.memberships()}
    rows: list[dict[str, Any]] = []
    for outcome in outcomes:
        if outcome.trace is None:
            continue
        member = ranks.get(address(outcome.input.place))
        rows.append(
            {
                "trace_id": outcome.trace.id,
                "state": "new" if outcome.new else "known",
                "format": outcome.trace.facts.format,
                "rank": member.rank if member else None,
                "kernels": outcome.trace.rows.get("kernel", 0),
                "notes": len(outcome.trace.notes),
                "source": utf8(str(outcome.input.place)),
            }
        )
    return rows


def _schema() -> dict[str, Any]:
    import polars as pl

    text, number = pl.String, pl.Int64
    return {
        "trace_id": text,
        "state": text,
        "format": text,
        "rank": number,
        "kernels": number,
        "notes": number,
        "source": text,
    }


def _judge(outcomes: list["Outcome"]) -> None:
    """Raises what there is to raise: for what was not read, and for a folder without any trace."""
    from ...collect.inputs import nothing_in

    failures = [outcome.error for outcome in outcomes if outcome.error and not outcome.left_out]
    full = {outcome.input.given for outcome in outcomes if not outcome.left_out}
    barren = [nothing_in(given) for given in dict.fromkeys(o.input.given for o in outcomes) if given not in full]
    if len(barren) + len(failures) == 1 and (barren or len(outcomes) == 1):
        raise [*barren, *failures][0]
    for error in barren:
        _say(error)
    if failures or barren:
        worst = max(failures + barren, key=lambda error: error.exit_code)
        count = len(failures) + len(barren)
        raise type(worst)(f"{count} of {len(outcomes)} not read", "the errors above say why")


def _leave_out(why: str) -> None:
    from ..text import clean

    click.echo(f"left out: {clean(why)}", err=True)


def _say(error: "Error") -> None:
    from ..text import clean

    click.echo(f"error: {clean(error.message)}\nhint: {clean(error.hint)}", err=True)
