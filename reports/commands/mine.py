"""Finds iterations, patterns and idle time in traces."""

import json
from pathlib import Path
from typing import Any

import click

from ..options import archive_option, format_option, open_trace, output_option, write_output

TABLES = ("level", "iteration", "pattern", "occurrence", "segment")


@click.command()
@click.argument("trace")
@click.option(
    "--table",
    "tables",
    multiple=True,
    type=click.Choice((*TABLES, "member")),
    help="Only this table; may be given again. [default: level, iteration and pattern; in JSON all but member]",
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
    from ...mining.mine import mine
    from ...store.version import VERSION
    from ..rows import finite, render
    from ..text import clean

    if format not in ("table", "json") and len(tables) != 1:
        raise click.UsageError(f"--format {format} holds one table: name it with --table")
    found, archive = open_trace(trace, archive_path)
    found = mine(found, archive)
    chosen = tables or (TABLES if format == "json" else TABLES[:3])
    frames = {name: found.table(name).collect() for name in chosen if found.has(name)}
    if format == "json":
        answer: dict[str, Any] = {
            "schema": "tracelode.mine/1",
            "tool": VERSION,
            "trace_id": found.id,
            "data": {name: finite(frames[name].to_dicts()) if name in frames else [] for name in chosen},
            "notes": [{"kind": note.kind, "count": note.count, "meaning": note.meaning} for note in found.notes],
        }
        write_output((json.dumps(answer, ensure_ascii=False) + "\n").encode("utf-8", "replace"), output)
    elif len(tables) == 1 and frames:
        write_output(render(frames[tables[0]], format), output)
    else:
        parts = [f"{name}: {len(frame):,} rows\n".encode() + render(frame, format) for name, frame in frames.items()]
        nothing = f"{clean(found.source)}: no device work to mine\n".encode()
        write_output(b"\n".join(parts) or nothing, output)
