"""Lists the traces of an archive."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..options import archive_option, format_option, output_option, width_of, write_output
from ..text import utf8

if TYPE_CHECKING:
    from ...store.archive import Manifest
    from ...store.sources import Membership


@click.command()
@archive_option
@format_option()
@output_option
def command(archive_path: Path, format: str, output: Path | None) -> None:
    """Lists the traces of the archive by run and rank: id, format, kernels, kinds of data-quality notes, source.

    `rank_from` says how the rank is known: from the file itself, from its name, or from its place in the order of the
    run. A trace that several files gave has a row for each. The formats for machines have whole ids.
    """
    import polars as pl

    from ...store.archive import Archive
    from ..rows import render

    archive = Archive(archive_path).existing()
    members: dict[str, list[Membership]] = {}
    for one in archive.memberships():
        members.setdefault(one.trace_id, []).append(one)
    rows = [_row(manifest, one) for manifest in archive.manifests() for one in members.get(manifest.id, [None])]
    rows.sort(key=lambda row: (row["run"] or "", row["rank"] is None, row["rank"] or 0, row["source"]))
    if format == "table":
        rows = [{**row, "trace_id": row["trace_id"][:12]} for row in rows]
    schema = {"trace_id": pl.String, "run": pl.String, "rank": pl.Int64, "rank_from": pl.String, "format": pl.String}
    schema |= {"kernels": pl.Int64, "notes": pl.Int64, "source": pl.String}
    write_output(render(pl.DataFrame(rows, schema=schema), format, width=width_of(output)), output)


def _row(manifest: "Manifest", own: "Membership | None") -> dict[str, Any]:
    return {
        "trace_id": manifest.id,
        "run": own.run if own else manifest.run,
        "rank": own.rank if own else None,
        "rank_from": own.rank_from if own else None,
        "format": manifest.facts.format,
        "kernels": int(manifest.files["kernel"]["rows"]) if "kernel" in manifest.files else 0,
        "notes": len(manifest.notes),
        "source": utf8(own.source.path if own else manifest.source.path),
    }
