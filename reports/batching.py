"""What a batch does: reads what is new, mines it, reports on the runs that have changed, and checks the history."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ..collect.archives import address
from ..collect.ingest import status_of
from ..collect.inputs import Input, inputs, nothing_in, place_of
from ..collect.ranks import place_in_order, remarks
from ..collect.workers import do_all
from ..mining.recorded import is_recorded, recorded
from ..store.archive import Archive
from ..store.errors import Error, UnreadableFile
from ..store.history import Damage
from ..store.locks import held
from ..store.parts import load
from ..store.sources import Membership
from .batch_records import Record, Records, Refused, key_of
from .batch_tasks import ReadTask, ReportTask, Setting, State, WasRead, read, report
from .options import counted
from .pipeline import Found, Output, Pipeline, found_by
from .rank_group import Unread
from .report_files import write_formats

if TYPE_CHECKING:
    from .report import Report

__all__ = ["Batch", "Run", "Shard", "do_batch"]

T = TypeVar("T")
R = TypeVar("R")
Worker = Callable[[Callable[[T], R], Sequence[T]], Iterator[tuple[int, Future[R]]]]
"""Does work on tasks, see `collect.workers`."""

Shard = tuple[int, int]
"""A part of the runs, counted from 0, and how many parts there are."""


@dataclass
class Run:
    """What became of a run. `unchanged`: there was nothing to do; `new` are those of its traces that were read now.

    `traces` are those that were read, and with reports or a check all that the archive has of the run, be their files
    there or not. `cut` says which of them end early. `errors` say what could not be done and is tried again, `refused`
    what is no trace until it changes.
    """

    name: str
    unchanged: bool = False
    traces: list[str] = field(default_factory=list[str])
    new: list[str] = field(default_factory=list[str])
    refused: list[Refused] = field(default_factory=list[Refused])
    cut: list[str] = field(default_factory=list[str])
    written: list[str] = field(default_factory=list[str])
    errors: list[Error] = field(default_factory=list[Error])

    @property
    def failures(self) -> list[Error]:
        """All that could not be done, with what was named and is no trace."""
        return [*(one.error for one in self.refused if not one.left_out), *self.errors]


@dataclass(frozen=True)
class Batch:
    """What became of a batch: its runs, what failed besides, what to know, and the report of the check.

    `checked` is None where nothing was to be checked; `written` are the files of the check.
    """

    runs: Sequence[Run]
    failed: Sequence[Error]
    warnings: Sequence[str]
    checked: "Report | None" = None
    written: Sequence[str] = ()

    @property
    def errors(self) -> list[Error]:
        """All that could not be done."""
        return [*self.failed, *(error for run in self.runs for error in run.failures)]


def do_batch(pipeline: Pipeline, *, jobs: int = 1, dask: str | None = None, shard: Shard | None = None) -> Batch:
    """Does what the pipeline says; what can be done is, whatever fails.

    A shard is not checked: that takes all runs. Raises `Error` where nothing can be done at all, and when all else is
    done the first bug that a task met.
    """
    found, missing = found_by(pipeline)
    work = _Work(pipeline, partial(do_all, jobs=jobs, dask=dask))
    for one in found:
        if shard is None or _part(one.run, shard[1]) == shard[0]:
            work.take(one)
    work.read()
    work.put_in_order()
    work.report()
    if work.bugs:
        raise work.bugs[0]
    runs, failed = list(work.runs.values()), [*(one.error for one in missing), *work.failed]
    warnings = [*(line for run in runs for line in run.cut), *work.warnings]
    if pipeline.check is None or shard is not None:
        return Batch(runs, failed, warnings)
    from .watching import check

    archive, damage = Archive(pipeline.archive), Damage()
    try:
        checked = check(archive, missing=missing, unmeasured=_unmeasured(runs, archive), damage=damage)
    except Error as error:
        return Batch(runs, [*failed, error], warnings)
    written, unwritten = _written(checked, pipeline.check)
    return Batch(runs, [*failed, *damage.values(), *unwritten], warnings, checked, written)


def _part(run: str, parts: int) -> int:
    """Which of the parts a run is in: the same on every machine, and whatever other runs there are."""
    return int(hashlib.sha256(run.encode()).hexdigest()[:16], 16) % parts


def _unmeasured(runs: Sequence[Run], archive: Archive) -> list[Unread]:
    """The runs that are not in the history as they are: files of them were not read, or they could not be measured."""
    there = recorded(archive.history())
    return [
        Unread(run.name, run.failures[0])
        for run in runs
        if any(isinstance(error, UnreadableFile) for error in run.failures)
        or (run.failures and not is_recorded(tuple(set(run.traces)), there))
    ]


def _written(checked: "Report", wanted: Output) -> tuple[list[str], list[Error]]:
    """Writes the report of the check in each format; where that fails, the file of an earlier check is not left."""
    written: list[str] = []
    errors: list[Error] = []
    for format in wanted.formats:
        try:
            written += write_formats(checked, wanted.folder / "check", [format])
        except Error as error:
            (wanted.folder / f"check{load('format', format).SUFFIX}").unlink(missing_ok=True)
            errors.append(error)
    return list(dict.fromkeys(written)), errors


class _Work:
    """The runs of a batch on their way. `failed` are errors of no one run, `bugs` what is no `Error` and was raised."""

    def __init__(self, pipeline: Pipeline, do: "Worker[Any, Any]") -> None:
        self._pipeline, self._do = pipeline, do
        self._archive = Archive(pipeline.archive)
        self._records = Records(self._archive, pipeline.path)
        self._setting = Setting()
        self._history = None if pipeline.check is None else recorded(self._archive.history())
        self._due: dict[str, tuple[Found, str | None]] = {}
        self.runs: dict[str, Run] = {}
        self.warnings: list[str] = []
        self.failed: list[Error] = []
        self.bugs: list[BaseException] = []

    def take(self, found: Found) -> None:
        """Takes a run: as it was left, if nothing has changed since, else as one that is due."""
        key, there = key_of(found, self._pipeline), self._records.of(found.run)
        if there is not None and key is not None and there.key == key and self._holds(there):
            self.runs[found.run] = Run(
                found.run, True, list(there.traces), [], list(there.refused), list(there.cut), list(there.written)
            )
        else:
            self.runs[found.run] = Run(found.run)
            self._due[found.run] = found, key

    def _holds(self, record: Record) -> bool:
        """Whether all that was done of a run is still there."""
        return record.holds(self._archive) and (not record.traces or not self._is_new(record.traces))

    def _is_new(self, traces: Iterable[str]) -> bool:
        """Whether a run of those traces is to be put into the history."""
        return self._history is not None and not is_recorded(tuple(set(traces)), self._history)

    def read(self) -> None:
        """Reads and mines the inputs of the runs that are due, but those that were no traces and have not changed."""
        tasks: list[ReadTask] = []
        for name, (found, _) in self._due.items():
            known = self._refused(name)
            for one in self._inputs(found):
                status = status_of(one.place)
                state = address(one.place), status.st_size, status.st_mtime_ns
                if state in known:
                    self.runs[name].refused.append(known[state])
                else:
                    tasks.append(ReadTask(self._archive.path, one, state, self._pipeline.mine, self._setting))
        for task, answer in self._answers("reading and mining", read, tasks):
            run = self.runs[str(task.input.run)]
            if isinstance(answer, Error):
                run.errors.append(UnreadableFile(f"{task.input.place}: {answer.message}", answer.hint))
            else:
                _take_in(run, task.state, answer)
        for name, (found, _) in self._due.items():
            run = self.runs[name]
            if not run.traces and not run.errors and all(one.left_out for one in run.refused):
                run.errors.append(nothing_in(place_of(found.paths[0])))

    def put_in_order(self) -> None:
        """Gives ranks to the traces of runs that are due, and shows them to SQL clients."""
        names = [name for name in self._due if self.runs[name].traces]
        if not names:
            return
        try:
            with held(self._archive.path, "catalogue"):  # whoever writes it last has seen what all have read
                place_in_order(self._archive, *names)
                self._archive.catalogue()
        except Error as error:
            self.failed.append(error)
        self.warnings += remarks(self._archive, frozenset(names))

    def report(self) -> None:
        """Makes the reports on the runs that are due, measures them, and records what was done of each."""
        due = {name: self.runs[name] for name in self._due}
        members = self._members([run for run in due.values() if run.traces])
        for name, those in members.items():
            due[name].traces = list(dict.fromkeys([*due[name].traces, *(one.trace_id for one in those)]))
        tasks = self._reports(members)
        for task, answer in self._answers("reporting", report, tasks):
            run = due[task.run]
            if isinstance(answer, Error):
                run.errors.append(answer)
            else:
                run.written += answer.written
                run.errors += answer.errors
        for name, run in due.items():
            key = None if run.errors or self.failed else self._due[name][1]
            done = Record(
                key, self._setting.code, tuple(run.traces), tuple(run.refused), tuple(run.cut), tuple(run.written)
            )
            try:
                self._records.put(name, done)
            except Error as error:
                run.errors.append(error)

    def _members(self, runs: Sequence[Run]) -> dict[str, tuple[Membership, ...]]:
        """What the archive has of each of the runs, where anything is to be done with it."""
        if not runs or not (self._pipeline.reports or self._pipeline.check):
            return {}
        found: dict[str | None, list[Membership]] = {run.name: [] for run in runs}
        for one in self._archive.memberships():
            if one.run in found:
                found[one.run].append(one)
        return {run.name: tuple(found[run.name]) for run in runs}

    def _reports(self, members: Mapping[str, tuple[Membership, ...]]) -> list[ReportTask]:
        reports = self._pipeline.reports
        new = {name: self._is_new(one.trace_id for one in those) for name, those in members.items()}
        return [
            ReportTask(self._archive.path, name, those, reports, new[name], self._setting)
            for name, those in members.items()
            if reports or new[name]
        ]

    def _inputs(self, found: Found) -> Iterator[Input]:
        """The inputs of a run, as the arguments of `ingest` are."""
        for path in found.paths:
            try:
                there = list(inputs(place_of(path), found.run, self._leave_out))
            except Error as error:
                there = [Input(Path(path), Path(path), found.run, error)]
            yield from (replace(one, run=found.run, labels=found.labels[path]) for one in there)

    def _leave_out(self, why: str) -> None:
        self.warnings.append(f"left out: {why}")

    def _refused(self, run: str) -> dict[State, Refused]:
        """What was no trace when the same code tried it."""
        there = self._records.of(run)
        if there is None or there.code != self._setting.code:
            return {}
        return {(one.path, one.bytes, one.modified_ns): one for one in there.refused}

    def _answers(self, what: str, work: Callable[[T], R], tasks: Sequence[T]) -> Iterator[tuple[T, R | Error]]:
        """The tasks in their order, each with its answer or the error that it ended with."""
        answers: dict[int, Future[R]] = {}
        with counted(what, len(tasks)) as step:
            for number, answer in self._do(work, tasks):
                answers[number] = answer
                step()
        for number, task in enumerate(tasks):
            error = answers[number].exception()
            if error is not None and not isinstance(error, Error):
                self.bugs.append(error)
                error = Error("it met a bug in tracelode", "see the end of this output")
            yield task, answers[number].result() if error is None else error


def _take_in(run: Run, state: State, answer: WasRead) -> None:
    """Adds to a run what became of one of its inputs, which was in that state before it was read."""
    if answer.trace is not None:
        run.traces.append(answer.trace)
        run.new += [answer.trace] if answer.new else []
        run.cut += answer.cut
    if answer.error is not None and answer.no_trace:
        run.refused.append(Refused(*state, answer.error.message, answer.error.hint, answer.left_out))
    elif answer.error is not None:
        run.errors.append(_of_input(answer.error))


def _of_input(error: Error) -> Error:
    """The error as one of the input: also where it is not there, or may not be read."""
    return error if error.exit_code != Error.exit_code else UnreadableFile(error.message, error.hint)
