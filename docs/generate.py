"""Writes the pages of docs/ that are made from the code: `python -m docs.generate`."""

from collections.abc import Iterator
from pathlib import Path

import click

from docs.notes import health_page
from tracelode.reports.cli import tracelode
from tracelode.store.parts import load, names
from tracelode.store.query import documented
from tracelode.store.sources import SOURCE
from tracelode.store.tables import TABLES, Kind

DOCS = Path(__file__).parent
ORDER = {Kind.IDENTITY: "Identity", Kind.EVENT: "Events", Kind.MINED: "Mined"}


def tables_page() -> str:
    """docs/tables.md: every view with its columns."""
    lines = [
        "# Tables",
        "",
        "The views of `tracelode sql` and of `catalog.duckdb`; made from `store/tables.py` by `make docs`.",
        "Times are nanoseconds on the trace's clock, sizes bytes; null means that the source does not say.",
        "A table that no trace has is not there: it was not collected.",
    ]
    for kind, heading in ORDER.items():
        lines += ["", f"## {heading}"]
        for table in (t for t in (*TABLES.values(), SOURCE) if t.kind is kind):
            lines += ["", f"### `{table.name}`", "", f"One row per {table.meaning}.", ""]
            lines += ["| column | type | unit | meaning |", "|---|---|---|---|"]
            lines += [
                f"| `{row['column']}` | {row['type']} | {row['unit']} | {row['meaning'].replace('|', '/')} |"
                for row in documented(table)
            ]
    return "\n".join(lines) + "\n"


def commands_page() -> str:
    """docs/commands.md: every verb with its help."""
    lines = ["# Commands", "", "Made from the code by `make docs`. Exit codes: 0 ok, 1 a bug, 2 usage or environment,"]
    lines += ["3 regression, 4 inconclusive, 5 bad input, 6 archive problem, 130 interrupted."]
    for name in names("command"):
        for path, text in _helps(load("command", name).command, name):
            lines += ["", f"{'#' * (2 + path.count(' '))} {path}", "", "```", text, "```"]
    assert set(tracelode.list_commands(click.Context(tracelode))) == set(names("command"))
    return "\n".join(lines) + "\n"


def _helps(command: click.Command, path: str) -> Iterator[tuple[str, str]]:
    """The help of a verb, and of each verb in it."""
    settings = {"max_content_width": 100, "terminal_width": 100, "help_option_names": ["-h", "--help"]}
    context = click.Context(command, info_name=f"tracelode {path}", **settings)
    yield path, command.get_help(context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            yield from _helps(command.commands[name], f"{path} {name}")


PAGES = {"tables.md": tables_page, "commands.md": commands_page, "health.md": health_page}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (DOCS / name).write_text(page())
