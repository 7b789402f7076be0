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
    """Lists the traces of the archive: id, run, rank, format, kernels, kinds of data-quality notes, sources.

    `rank_from` says how the rank is known: from the file itself, from its name, or from its place in the order of the
    run. A trace that several files gave shows the first of them, and how many there are.
    """
    import polars as pl

    from ...store.archive import Archive
    from ...store.errors import Error
    from ..rows import render

    if not archive_path.is_dir():
        raise Error(f"{archive_path}: no archive there", "make one: tracelode ingest FILE")
    archive = Archive(archive_path)
    members: dict[str, list[Membership]] = {}
    for one in archive.memberships():
        members.setdefault(one.trace_id, []).append(one)
    rows = [_row(manifest, members.get(manifest.id, [])) for manifest in archive.manifests()]
    schema = {"trace_id": pl.String, "run": pl.String, "rank": pl.Int64, "rank_from": pl.String, "format": pl.String}
    schema |= {"kernels": pl.Int64, "notes": pl.Int64, "sources": pl.Int64, "source": pl.String}
    write_output(render(pl.DataFrame(rows, schema=schema), format, width=width_of(output)), output)


def _row(manifest: "Manifest", members: list["Membership"]) -> dict[str, Any]:
    own = next((one for one in members if one.source.path == manifest.source.path), members[0] if members else None)
    return {
        "trace_id": manifest.id[:12],
        "run": own.run if own else manifest.run,
        "rank": own.rank if own else None,
        "rank_from": own.rank_from if own else None,
        "format": manifest.facts.format,
        "kernels": int(manifest.files["kernel"]["rows"]) if "kernel" in manifest.files else 0,
        "notes": len(manifest.notes),
        "sources": max(1, len(members)),
        "source": utf8(own.source.path if own else manifest.source.path),
    }
