"""Finds iterations, patterns and idle time in traces."""

import json
from pathlib import Path
from typing import Any

import click

from ..options import archive_option, format_option, open_trace, output_option, patience, width_of, write_output

TABLES = ("level", "iteration", "pattern", "occurrence", "segment")
SUMMARY = ("cadences", "iteration_times", "repeats", "states")


@click.command()
@click.argument("trace")
@click.option(
    "--table",
    "tables",
    multiple=True,
    type=click.Choice((*TABLES, "member")),
    help="Only this mined table; may be given again. [default: a summary; in JSON all but member]",
)
@archive_option
@format_option()
@output_option
def command(trace: str, tables: tuple[str, ...], archive_path: Path, format: str, output: Path | None) -> None:
    """Mines a trace: its iterations at every cadence, its repeated patterns by time, the states of its devices.

    Needs no markers, no names and no counts. The tables are kept in the archive and can be asked for with sql. The
    formats csv, jsonl, parquet and md hold one table.

    TRACE is a trace file, or the beginning of a trace's id in the archive.
    """
    from ...mining.mine import find, mine
    from ..rows import render

    if format not in ("table", "json") and len(tables) != 1:
        raise click.UsageError(f"--format {format} holds one table: name it with --table")
    found, archive = open_trace(trace, archive_path)
    with patience("mining"):
        found = mine(found, archive)
    width = width_of(output)
    if format == "json":
        data = _as_json(found, tables or TABLES)
    elif tables:
        parts = [render(found.table(name).collect(), format, width=width) for name in tables]
        data = b"\n".join(parts)
    elif found.has("member"):
        answers = [find(found, archive, name) for name in SUMMARY]
        data = b"\n".join(f"{a.sentence}\n".encode() + render(a.rows, format, width=width) for a in answers)
    else:
        data = b"no kernel, copy or fill: nothing to mine\n"
    write_output(data, output)


def _as_json(trace: Any, tables: tuple[str, ...]) -> bytes:
    from ...store.version import VERSION
    from ..rows import finite

    answer: dict[str, Any] = {
        "schema": "tracelode.mine/1",
        "tool": VERSION,
        "trace_id": trace.id,
        "data": {name: finite(trace.table(name).collect().to_dicts()) if trace.has(name) else [] for name in tables},
        "notes": [{"kind": note.kind, "count": note.count, "meaning": note.meaning} for note in trace.notes],
    }
    return (json.dumps(answer, ensure_ascii=False) + "\n").encode("utf-8", "replace")
