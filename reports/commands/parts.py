"""Lists the parts: readers, analyses, topics, formats and verbs, built in and installed."""

from pathlib import Path

import click

from ..options import format_option, output_option, width_of, write_output


@click.command()
@format_option()
@output_option
def command(format: str, output: Path | None) -> None:
    """Lists the readers, analyses, report topics, formats and verbs there are, and which package each comes from."""
    import polars as pl

    from ...store.parts import GROUPS, names
    from ..rows import render

    rows = [
        {"kind": kind, "name": name, "from": part.origin, "help": (part.load().__doc__ or "").strip().split("\n")[0]}
        for kind in GROUPS
        for name, part in names(kind).items()
    ]
    write_output(render(pl.DataFrame(rows), format, width=width_of(output)), output)
