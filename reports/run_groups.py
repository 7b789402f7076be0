"""The runs that the arguments of a comparison mean, or that a statement of SQL selects."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..store.archive import Archive
from ..store.archive_words import archive_words
from ..store.errors import Error, UnreadableFile
from ..store.sources import Membership
from .rank_group import Group, Unread, open_group, run_group

if TYPE_CHECKING:
    import polars as pl

__all__ = ["named", "selected"]

COLUMNS = ("run", "trace_id")


def named(names: Sequence[str], archive_path: Path) -> tuple[list[Group], list[Unread]]:
    """A run for each name: a file, a folder with the ranks of a run, a run of the archive, or one of its traces.

    Beside these the names of which nothing could be read.
    """
    groups: list[Group] = []
    unread: list[Unread] = []
    for name in names:
        try:
            groups.append(open_group([name], archive_path))
        except UnreadableFile as error:
            unread.append(Unread(name, error))
    return groups, unread


def selected(query: str, archive_path: Path) -> list[Group]:
    """The runs of the archive that a statement gives, by its columns `run` or `trace_id`, in its order.

    Traces of one run are its ranks. Traces without a run, or without a column `run`, are a run each; a run without a
    trace is all of its traces. Raises `Error` where there is no such column, no row, a row with neither, or no such run
    or trace.
    """
    archive = Archive(archive_path).existing()
    rows = archive.sql(query)
    there = [column for column in COLUMNS if column in rows.columns]
    if not there:
        given = ", ".join(rows.columns)
        raise Error(f"the statement gives no column run or trace_id, but {given}", "select run, or trace_id")
    keys = _keys(rows, there)
    if not keys:
        raise Error(
            f"{archive_path}: the statement selects no run",
            f"look at what there is: tracelode sql {shlex.quote(query)}{archive_words(archive.path)}",
        )
    members = archive.memberships()
    return [_group(run, ids, members, archive) for run, ids in keys.items()]


def _keys(rows: "pl.DataFrame", there: Sequence[str]) -> dict[str, set[str] | None]:
    """The runs by name, each with the traces selected of it; None: all."""
    keys: dict[str, set[str] | None] = {}
    for row in rows.select(there).unique(maintain_order=True).iter_rows(named=True):
        run, trace = row.get("run"), row.get("trace_id")
        if run is None and trace is None:
            what = "the statement gives a row without a run" + (" and a trace" if "trace_id" in there else "")
            raise Error(what, "select trace_id, too, which each trace has, or add: where run is not null")
        if trace is None:
            keys[str(run)] = None
        else:
            of_run = keys.setdefault(str(trace if run is None else run), set())
            if of_run is not None:
                of_run.add(str(trace))
    return keys


def _group(run: str, ids: set[str] | None, members: Sequence[Membership], archive: Archive) -> Group:
    """That run of the archive, or those of its traces."""
    found = [one for one in members if (one.run == run if ids is None else one.trace_id in ids)]
    if not found:
        raise Error(f"{archive.path}: no run or trace {run}", "list the runs: tracelode ls")
    return run_group(run, found, archive)
