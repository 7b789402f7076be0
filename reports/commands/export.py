"""Writes a trace for other tools."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...store.parts import names
from ..one_trace import open_trace
from ..options import archive_option, patience

if TYPE_CHECKING:
    from types import ModuleType

    from ...store.trace import Trace


@click.command()
@click.argument("trace")
@click.option(
    "--to", "form", type=click.Choice(list(names("export"))), required=True, help="What the trace is written as."
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), required=True, help="File to write; csv and parquet: a folder."
)
@click.option("--table", "tables", multiple=True, help="Only this table; may be given again. [default: all]")
@click.option("--force", is_flag=True, help="Replace what is there.")
@archive_option
def command(trace: str, form: str, output: Path, tables: tuple[str, ...], force: bool, archive_path: Path) -> None:
    """Writes a trace for other tools: perfetto, chrome (JSON), parquet, csv.

    perfetto (.pftrace, .pftrace.gz) is for ui.perfetto.dev: streams, threads and counters, and above them the
    iterations and patterns that were mined. chrome (.json, .json.gz) is read by chrome://tracing, TensorBoard and
    HTA, and by tracelode again. parquet and csv are a folder with a file for each table that `tracelode sql` shows;
    -o with their ending is one table, named with --table.

    TRACE is a trace file, or the beginning of a trace's id in the archive. What is at the place already stays, unless
    --force is given; nothing is left half-written.

    \b
    tracelode export run.json.gz --to perfetto -o run.pftrace.gz
    tracelode export run.sqlite --to csv --table kernel -o kernels.csv
    """
    from ...store.parts import load
    from ..export_file import mined, whole
    from ..text import clean

    module = load("export", form)
    folder = _is_folder(module, output, tables)
    with whole(output, force=force, folder=folder) as path:
        found, archive = open_trace(trace, archive_path)
        _check(found, tables)
        with patience("exporting"):
            found = mined(found, archive, module.NEEDS)
            remarks = module.write(found, path, tables)
    for remark in remarks:
        click.echo(f"note: {clean(remark)}", err=True)
    click.echo(f"written: {output}", err=True)


def _is_folder(form: "ModuleType", output: Path, tables: tuple[str, ...]) -> bool:
    """Whether a folder is written; a `UsageError` where the place does not fit the form."""
    endings = ", ".join(form.SUFFIXES)
    fits = any(output.name.endswith(suffix) for suffix in form.SUFFIXES)
    if form.FOLDER and fits and len(tables) != 1:
        raise click.UsageError(f"{endings} holds one table: name it with --table, or give a folder with -o")
    if not form.FOLDER and not fits:
        raise click.UsageError(f"the file is to end in {endings}: name it so with -o")
    return form.FOLDER and not fits


def _check(trace: "Trace", tables: tuple[str, ...]) -> None:
    for table in tables:
        trace.table(table)  # which says that it is missing, and what there is
