"""Reads trace files into the archive."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..options import archive_option, format_option, output_option, patience, width_of, write_output

if TYPE_CHECKING:
    from ...collect.ingest import Outcome
    from ...store.errors import Error
    from ...store.trace import Trace


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--run", help="Name of the run the traces belong to. [default: the folder's name, for a folder]")
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="Processes that read at once.")
@archive_option
@format_option()
@output_option
def command(
    paths: tuple[Path, ...], run: str | None, jobs: int, archive_path: Path, format: str, output: Path | None
) -> None:
    """Reads trace files, or all traces of a folder, into the archive. Reading a file again changes nothing.

    A file that cannot be read is named on standard error and does not stop the others.
    """
    import polars as pl

    from ...collect.ingest import read_all
    from ...store.archive import Archive
    from ..rows import render

    archive = Archive(archive_path)
    outcomes: list[Outcome] = []
    with patience(f"reading {paths[0].name}{' and more' if len(paths) > 1 else ''}"):
        for outcome in read_all(list(_files(paths, run)), archive_path, jobs=jobs):
            outcomes.append(outcome)
            if outcome.error and not (len(paths) == 1 and outcome.path == paths[0]):
                _say(outcome.error)
    rows = [_row(outcome.path, outcome.trace, outcome.new) for outcome in outcomes if outcome.trace]
    if rows:
        archive.catalogue()
        write_output(render(pl.DataFrame(rows), format, width=width_of(output)), output)
    failures = [outcome.error for outcome in outcomes if outcome.error]
    if len(outcomes) == 1 and failures:
        raise failures[0]
    if failures:
        worst = max(failures, key=lambda error: error.exit_code)
        raise type(worst)(f"{len(failures)} of {len(outcomes)} files not read", "the errors above say why")


def _row(path: Path, trace: "Trace", new: bool) -> dict[str, Any]:
    return {
        "trace_id": trace.id[:12],
        "state": "new" if new else "known",
        "format": trace.facts.format,
        "kernels": trace.rows.get("kernel", 0),
        "notes": len(trace.notes),
        "source": str(path),
    }


def _say(error: "Error") -> None:
    from ..text import clean

    click.echo(f"error: {clean(error.message)}\nhint: {clean(error.hint)}", err=True)


def _files(paths: tuple[Path, ...], run: str | None) -> Iterator[tuple[Path, str | None]]:
    """The files to read and the run of each: a folder gives the traces directly in it, and its name as the run."""
    from ...collect.files import open_file, reader_of
    from ...store.errors import UnreadableFile

    for path in paths:
        if not path.is_dir():
            yield path, run
            continue
        recognised = 0
        for file in sorted(p for p in path.iterdir() if p.is_file() and not p.name.startswith(".")):
            try:
                reader_of(open_file(file))
            except UnreadableFile as error:
                click.echo(f"left out: {error.message}", err=True)
                continue
            recognised += 1
            yield file, run or path.resolve().name
        if not recognised:
            raise UnreadableFile(f"{path}: no trace in this folder", "give the folder that holds the trace files")
