"""Lists the traces of an archive."""

from pathlib import Path

import click

from ..options import archive_option, format_option, output_option, width_of, write_output


@click.command()
@archive_option
@format_option()
@output_option
def command(archive_path: Path, format: str, output: Path | None) -> None:
    """Lists the traces of the archive: id, run, format, kernels, kinds of data-quality notes, source."""
    import polars as pl

    from ...store.archive import Archive
    from ...store.errors import Error
    from ..rows import render

    if not archive_path.is_dir():
        raise Error(f"{archive_path}: no archive there", "make one: tracelode ingest FILE")
    rows = [
        {
            "trace_id": manifest.id[:12],
            "run": manifest.run,
            "format": manifest.facts.format,
            "kernels": int(manifest.files["kernel"]["rows"]) if "kernel" in manifest.files else 0,
            "notes": len(manifest.notes),
            "source": manifest.source.path,
        }
        for manifest in Archive(archive_path).manifests()
    ]
    schema = {"trace_id": pl.String, "run": pl.String, "format": pl.String}
    schema |= {"kernels": pl.Int64, "notes": pl.Int64, "source": pl.String}
    write_output(render(pl.DataFrame(rows, schema=schema), format, width=width_of(output)), output)
