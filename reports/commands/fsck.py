"""Checks an archive."""

from pathlib import Path

import click

from ..options import archive_option
from ..text import clean


@click.command()
@archive_option
def command(archive_path: Path) -> None:
    """Compares every file of the archive with the sha256 in its manifest, and names what is missing or altered."""
    from ...mining.words import plural
    from ...store.archive import Archive
    from ...store.errors import ArchiveError

    archive = Archive(archive_path).existing()
    damaged = list(archive.fsck())
    for damage in damaged:
        click.echo(clean(f"{damage.file}: {damage.fault}"))
    if damaged:
        raise ArchiveError(
            f"{archive_path}: {plural(len(damaged), 'damaged file')}",
            "remove the folder of the trace and ingest its source again; of the history, remove the file",
        )
    click.echo(f"{len(archive.manifests())} traces, every file as its manifest says")
