"""Runs SQL over the archive."""

import sys
from pathlib import Path

import click

from ..one_trace import open_trace
from ..options import archive_option, format_option, output_option, width_of, write_output


@click.command()
@click.argument("query", required=False)
@click.option("--trace", help="Only this trace: a trace file, or the beginning of an id. [default: the whole archive]")
@click.option("--schema", is_flag=True, help="Show the tables and columns instead of running a query.")
@archive_option
@format_option()
@output_option
def command(
    query: str | None, trace: str | None, schema: bool, archive_path: Path, format: str, output: Path | None
) -> None:
    """Runs one SQL statement (DuckDB) over the views of the archive, or of one trace.

    QUERY is the statement; - reads it from standard input. It runs with your own rights: do not run what you do not
    trust.

    \b
    tracelode sql "select name, sum(duration_ns) from kernel group by name order by 2 desc limit 10"
    tracelode sql --trace run.json.gz "select count(*) from kernel"
    """
    from ...store.archive import Archive
    from ...store.errors import Error
    from ...store.query import schema_rows
    from ..rows import render

    if schema:
        write_output(render(schema_rows(), format, width=width_of(output)), output)
        return
    if query is None:
        raise click.UsageError("give a query, or --schema")
    statement = sys.stdin.read() if query == "-" else query
    if trace is not None:
        rows = open_trace(trace, archive_path)[0].sql(statement)
    else:
        if not archive_path.is_dir():
            raise Error(f"{archive_path}: no archive there", "make one: tracelode ingest FILE; or give --trace FILE")
        rows = Archive(archive_path).sql(statement)
    write_output(render(rows, format, width=width_of(output)), output)
