"""The two tasks of a batch, which any process on any machine can do that sees the files: a trace, and a run.

They share nothing but the archive, and are done again after a kill with the same result.
"""

from dataclasses import dataclass, field
from pathlib import Path

from ..collect.ingest import read_one
from ..collect.inputs import Input
from ..mining.mine import mine
from ..store.archive import Archive
from ..store.errors import Error, UnreadableFile
from ..store.health import CUT
from ..store.kinds import rules_mark
from ..store.sources import Membership
from ..store.version import code_hash
from .pipeline import Output
from .rank_group import run_group
from .report_files import report_on, write_formats

__all__ = ["ReadTask", "ReportTask", "Reported", "Setting", "State", "WasRead", "read", "report"]

State = tuple[str, int, int]
"""A file: its path, its bytes, and when it was written last in ns."""

NOTHING: frozenset[str] = frozenset()
"""What is in the history for all that a task knows: only runs that are not there become tasks."""


@dataclass(frozen=True)
class Setting:
    """The code and the rules for categories that results rest on."""

    code: str = field(default_factory=code_hash)
    rules: str = field(default_factory=rules_mark)

    def check(self) -> None:
        """Raises `Error` in a process whose results would be others."""
        if self != Setting():
            raise Error(
                "a worker runs another tracelode than the batch, or has other rules for categories",
                "install the same version on all machines, and set TRACELODE_CATEGORIES alike",
            )


@dataclass(frozen=True)
class ReadTask:
    """An input to read, as it was seen, and the analyses to mine its trace with; None for all."""

    archive: Path
    input: Input
    state: State
    mine: tuple[str, ...] | None
    setting: Setting


@dataclass(frozen=True)
class WasRead:
    """What became of an input. `no_trace`: it is none until it changes. `left_out`: nor did the user name it.

    `cut` says that the trace ends early.
    """

    trace: str | None = None
    new: bool = False
    error: Error | None = None
    no_trace: bool = False
    left_out: bool = False
    cut: tuple[str, ...] = ()


def read(task: ReadTask) -> WasRead:
    """Reads an input into the archive, and mines its trace, unless that was done before."""
    task.setting.check()
    outcome = read_one(task.input, task.archive)
    if outcome.trace is None:
        no_trace = isinstance(outcome.error, UnreadableFile) and task.input.fault is None
        return WasRead(None, False, outcome.error, no_trace, outcome.left_out)
    error = None
    if task.mine != ():
        try:
            mine(outcome.trace, Archive(task.archive), *(task.mine or ()))
        except Error as failed:
            error = failed
    cut = tuple(
        f"{task.input.place}: {note.meaning} ({note.example or ''})" for note in outcome.trace.notes if note.kind in CUT
    )
    return WasRead(outcome.trace.id, outcome.new, error, cut=cut)


@dataclass(frozen=True)
class ReportTask:
    """A run to report on, and to put into the history where it is not; `members` is what the archive has of it."""

    archive: Path
    run: str
    members: tuple[Membership, ...]
    reports: tuple[Output, ...]
    measured: bool
    setting: Setting


@dataclass(frozen=True)
class Reported:
    """The files that were written, and why others were not."""

    written: tuple[str, ...]
    errors: tuple[Error, ...]


def report(task: ReportTask) -> Reported:
    """Writes the reports on a run, each into the run's folder, and measures it for the history."""
    task.setting.check()
    archive = Archive(task.archive)
    written: list[str] = []
    errors: list[Error] = []
    for wanted in task.reports:
        try:
            group = run_group(task.run, task.members, archive)
            written += write_formats(
                report_on(wanted.topic, group), wanted.folder / task.run / wanted.topic, wanted.formats
            )
        except Error as error:
            errors.append(error)
    if task.measured:
        from .watching import record_run

        try:
            record_run(archive, task.run, task.members, NOTHING)
        except Error as error:
            errors.append(error)
    return Reported(tuple(written), tuple(errors))
