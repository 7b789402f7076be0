"""Finds iterations, patterns and idle time in traces."""

import json
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..one_trace import open_trace
from ..options import (
    archive_option,
    counted,
    format_option,
    output_option,
    patience,
    width_of,
    write_output,
)

if TYPE_CHECKING:
    import polars as pl

    from ...mining.finding import Finding
    from ...mining.mine import Keeper
    from ...store.archive import Archive
    from ...store.errors import Error
    from ...store.trace import Trace

TABLES = ("level", "iteration", "unit", "tree", "edit", "pattern", "occurrence", "segment")
SUMMARY = ("cadences", "iteration_times", "repeats", "states")
ENCODINGS = ("name", "grid", "block", "stream")


@dataclass(frozen=True)
class Wanted:
    """What was asked for: analyses, comparisons, tables, and the options of mining. `whole`: no table is missed."""

    analyses: tuple[str, ...]
    comparisons: tuple[str, ...]
    tables: tuple[str, ...]
    options: Mapping[str, Any]
    whole: bool

    @property
    def only_compares(self) -> bool:
        """Whether the base of the comparisons has no answer of its own."""
        return bool(self.comparisons) and not self.analyses and not self.tables

    @property
    def summary(self) -> bool:
        """Whether nothing in particular is asked for."""
        return not (self.analyses or self.comparisons or self.tables)


@dataclass
class Answer:
    """What was found in a trace: findings, and tables by name."""

    trace: "Trace"
    findings: list["Finding"] = field(default_factory=list["Finding"])
    tables: dict[str, "pl.DataFrame"] = field(default_factory=dict[str, "pl.DataFrame"])


@click.command()
@click.argument("traces", nargs=-1, required=True)
@click.option(
    "--analysis",
    "analyses",
    multiple=True,
    help="Only this analysis, or comparison of the other traces with the first; may be given again. `tracelode parts` "
    "lists them. [default: all of one trace]",
)
@click.option(
    "--table",
    "tables",
    multiple=True,
    type=click.Choice((*TABLES, "member")),
    help="Only this mined table; may be given again. [default: a summary; in JSON all but member]",
)
@click.option(
    "--symbols",
    type=click.Choice(ENCODINGS),
    help="What equal operations have in common, each with all before it. Results with another than the usual one are "
    "not kept. [default: stream; name in a comparison]",
)
@archive_option
@format_option()
@output_option
def command(
    traces: tuple[str, ...],
    analyses: tuple[str, ...],
    tables: tuple[str, ...],
    symbols: str | None,
    archive_path: Path,
    format: str,
    output: Path | None,
) -> None:
    """Mines traces: iterations at every cadence, repeated patterns by time, the states of the devices.

    Needs no markers, no names and no counts. The tables are kept in the archive, made anew only when an analysis has
    changed, and can be asked for with sql. The formats csv, jsonl, parquet and md hold one analysis or table; of
    several traces each row begins with the trace's id, and JSON is one document a line. A trace that cannot be read
    is named on standard error and does not stop the others.

    TRACES are trace files, or beginnings of ids of traces in the archive.

    \b
    tracelode mine run.json.gz
    tracelode mine before.json.gz after.json.gz --analysis differences
    """
    wanted = _wanted(traces, analyses, tables, symbols, format)
    several = len(traces) - wanted.only_compares > 1
    errors: list[Error] = []
    with (
        tempfile.TemporaryDirectory(prefix="tracelode-") as folder,
        closing(_mined(traces, archive_path, wanted, Path(folder), errors)) as answers,
        counted("mining", len(traces)) as step,
    ):
        pieces = _shown(answers, several, format, output, step)
        if output is None and not sys.stdout.isatty():
            for piece in pieces:  # not all of them in memory
                write_output(piece, output)
        elif whole := list(pieces):  # in one, under no progress bar
            write_output(b"".join(whole), output)
    _judge(errors, len(traces))


def _wanted(
    traces: tuple[str, ...], parts: tuple[str, ...], tables: tuple[str, ...], symbols: str | None, format: str
) -> Wanted:
    from ...store.parts import load, names

    if format not in ("table", "json") and len(parts) + len(tables) != 1:
        raise click.UsageError(f"--format {format} holds one table: name it with --table or --analysis")
    comparisons = tuple(name for name in parts if name in names("comparison"))
    if comparisons and len(traces) < 2:
        raise click.UsageError(f"--analysis {comparisons[0]} compares traces: give the base first, then the others")
    analyses = tuple(name for name in parts if name not in comparisons)
    for name in analyses:
        load("analysis", name)
    whole = format == "json" and not parts and not tables
    return Wanted(analyses, comparisons, TABLES if whole else tables, {"symbols": symbols} if symbols else {}, whole)


def _mined(
    traces: tuple[str, ...], archive_path: Path, wanted: Wanted, folder: Path, errors: list["Error"]
) -> Generator[Answer]:
    """The answers about each trace, in order; what cannot be read is added to the errors, and said if others follow."""
    from ...mining.mine import Scratch
    from ...store.errors import Error

    scratch = Scratch(folder) if wanted.options else None
    base: tuple[Trace, Keeper] | None = None
    changed: dict[Path, Archive] = {}
    try:
        for at, name in enumerate(traces):
            try:
                trace, archive = open_trace(name, archive_path)
                side = (trace, archive) if scratch is None else (scratch.bare(trace), scratch)
                with _noted(trace, archive, changed):
                    answer = _answer(side, base, wanted)
            except Error as error:
                if at == 0 and wanted.comparisons:
                    raise  # there is nothing to compare the others with
                errors.append(error)
                _say(error, len(traces))
                continue
            if at > 0 or not wanted.only_compares:
                yield answer
            base = base or side
    finally:
        _renew(changed, errors, len(traces))


def _answer(side: "tuple[Trace, Keeper]", base: "tuple[Trace, Keeper] | None", wanted: Wanted) -> Answer:
    """Mines what is wanted of a trace, and compares it with the base."""
    import polars as pl

    from ...mining.mine import compare, find, mine
    from ...store.parts import load

    trace, keeper = side
    answer = Answer(trace)
    with patience("mining"):
        if wanted.summary or wanted.tables:
            mine(trace, keeper, **wanted.options)
        for name in wanted.analyses:
            analysis = load("analysis", name)
            if hasattr(analysis, "find"):
                answer.findings.append(find(trace, keeper, name, **wanted.options))
            if hasattr(analysis, "mine"):
                mined = mine(trace, keeper, name, **wanted.options)
                answer.tables |= {table: mined.table(table).collect() for table in _made_by(mined, name)}
        if base is not None:
            answer.findings += [compare(base, side, name, **wanted.options) for name in wanted.comparisons]
        answer.trace = keeper.open(trace.id)
        if wanted.summary and answer.trace.has("member"):
            answer.findings += [find(answer.trace, keeper, name, **wanted.options) for name in SUMMARY]
    for name in wanted.tables:
        missing = wanted.whole and not answer.trace.has(name)
        answer.tables[name] = pl.DataFrame() if missing else answer.trace.table(name).collect()
    return answer


def _made_by(trace: "Trace", analysis: str) -> list[str]:
    """The tables that lie where that analysis puts them."""
    return [name for name, path in trace.files.items() if path.parent.parent.name.partition("@")[0] == analysis]


@contextmanager
def _noted(trace: "Trace", archive: "Archive", changed: "dict[Path, Archive]") -> Generator[None]:
    """Notes the archive if it has other tables of the trace afterwards, whether all went well or not."""
    try:
        yield
    finally:
        if archive.open(trace.id).files != trace.files:
            changed[archive.path] = archive


def _renew(changed: "Mapping[Path, Archive]", errors: list["Error"], count: int) -> None:
    """Shows the new tables to SQL clients, where the archive has a catalogue for them: it lists all traces, so once."""
    from ...store.errors import Error

    for archive in changed.values():
        try:
            if (archive.path / "catalog.duckdb").is_file():
                archive.catalogue()
        except Error as error:
            errors.append(error)
            _say(error, count)


def _shown(
    answers: Iterator[Answer], several: bool, format: str, output: Path | None, step: Callable[[], None]
) -> Iterator[bytes]:
    """The answers as they are written: text and JSON as each is there, the rows of one table in the end."""
    import polars as pl

    from ..rows import render

    parts: list[pl.DataFrame] = []
    for at, answer in enumerate(answers):
        if format == "table":
            yield (b"\n" if at else b"") + _text(answer, several, output)
        elif format == "json":
            yield _document(answer)
        else:
            parts.append(_part(answer, several, format))
        step()
    if parts:
        yield render(pl.concat(parts), format)


def _text(answer: Answer, several: bool, output: Path | None) -> bytes:
    """An answer for a reader: sentences and tables."""
    from ..rows import render
    from ..text import clean

    width = width_of(output)
    blocks = [
        "".join(f"{clean(line)}\n" for line in (one.sentence, *one.notes)).encode()
        + render(one.rows, "table", width=width)
        for one in answer.findings
    ]
    blocks += [render(table, "table", width=width) for table in answer.tables.values()]
    blocks = blocks or [b"no kernel, copy or fill: nothing to mine\n"]
    heading = f"{clean(answer.trace.source)}\n\n" if several else ""
    return heading.encode() + b"\n".join(blocks)


def _part(answer: Answer, several: bool, format: str) -> "pl.DataFrame":
    """An answer as the rows of one analysis or table, of several traces with the trace's id before them."""
    import polars as pl

    found = [*(finding.rows for finding in answer.findings), *answer.tables.values()]
    if len(found) != 1:
        there = ", ".join(answer.tables) or "none"
        raise click.UsageError(f"--format {format} holds one table: name it with --table (there are: {there})")
    owner = pl.Series("trace_id", [answer.trace.id] * len(found[0]), pl.String)
    return found[0].insert_column(0, owner) if several else found[0]


def _document(answer: Answer) -> bytes:
    """An answer as a JSON document on a line."""
    from ...store.version import VERSION
    from ..rows import finite

    trace = answer.trace
    document: dict[str, Any] = {
        "schema": "tracelode.mine/1",
        "tool": VERSION,
        "trace_id": trace.id,
        "data": {name: finite(rows.to_dicts()) for name, rows in answer.tables.items()},
        "findings": [
            {
                "name": one.name,
                "sentence": one.sentence,
                "rows": finite(one.rows.to_dicts()),
                "sql": one.sql,
                "notes": list(one.notes),
            }
            for one in answer.findings
        ],
        "notes": [{"kind": note.kind, "count": note.count, "meaning": note.meaning} for note in trace.notes],
    }
    return (json.dumps(document, ensure_ascii=False) + "\n").encode("utf-8", "replace")


def _say(error: "Error", count: int) -> None:
    from ..text import clean

    if count > 1:
        click.echo(f"error: {clean(error.message)}\nhint: {clean(error.hint)}", err=True)


def _judge(errors: list["Error"], count: int) -> None:
    """Raises what there is to raise for what was not mined."""
    if errors and count == 1:
        raise errors[0]
    if errors:
        worst = max(errors, key=lambda error: error.exit_code)
        raise type(worst)(f"{len(errors)} of {count} not mined", "the errors above say why")
