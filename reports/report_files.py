"""Reports as files: on what a topic is asked about, in which format, written to where."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..store.errors import Error
from ..store.parts import load, names
from .options import write_output
from .text import clean

if TYPE_CHECKING:
    from ..mining.finding import Finding
    from ..store.trace import Trace
    from .rank_group import Group
    from .report import Report

__all__ = [
    "NUMBERS",
    "REPORT",
    "VERDICT",
    "format_of",
    "is_folder",
    "report_on",
    "texts_of",
    "write_files",
    "write_formats",
    "write_report",
    "write_tables",
    "write_texts",
]

REPORT, VERDICT, NUMBERS = "report", "verdict", "numbers"
"""The texts of a report: itself, its verdict, and beside HTML its numbers."""


def report_on(topic: str, group: "Group") -> "Report":
    """The report on the trace, with what there is of its ranks; on the ranks, if there are several traces."""
    from ..mining.mine import find
    from ..mining.rank_run import mine_run
    from . import ranks

    def ask(trace: "Trace", analysis: str) -> "Finding":
        return find(trace, group.archive, analysis)

    if len(group.members) > 1:
        if topic == "workload":
            from .workload_group import build

            return build(group, ask)
        if topic != "perf":
            raise Error(f"{topic} is a report on one trace, these are {len(group.members)}", "give one of them")
        return ranks.build(group, ask)
    trace = group.members[0].trace
    report: Report = load("topic", topic).build(trace, partial(ask, trace))
    if topic != "perf" or not ranks.several_ranks(trace):
        return report
    sections = ranks.rank_sections(mine_run(group.members, group.archive))
    return replace(report, sections=(*report.sections, *sections), glossary={**report.glossary, **ranks.GLOSSARY})


def texts_of(report: "Report", format: str) -> Mapping[str, str]:
    """The report in that format, its verdict, and beside HTML its numbers."""
    texts = {REPORT: load("format", format).render(report), VERDICT: report.verdict}
    return texts | ({NUMBERS: load("format", "json").render(report)} if format == "html" else {})


def write_report(report: "Report", format: str | None, output: Path | None) -> None:
    """Writes a report as a command was asked to; of a file, says the verdict and where it is on standard error."""
    name = format or format_of(output)
    if output is not None and is_folder(output, name):
        write_tables(report, name, output)
    else:
        write_texts(texts_of(report, name), output)
    if output is not None:
        click.echo(f"{clean(report.verdict)}\nwritten: {output}", err=True)


def write_tables(report: "Report", format: str, folder: Path) -> None:
    """Writes a file for each table of the report."""
    tables = load("format", format).files(report)
    write_files(folder, {file: text.encode("utf-8", "replace") for file, text in tables.items()})


def write_texts(texts: Mapping[str, str], output: Path | None) -> list[Path]:
    """Writes the texts of a report: to the file and, where there are numbers, one beside it, or to standard output.

    Gives the files that were written.
    """
    write_output(texts[REPORT].encode("utf-8", "replace"), output)
    if output is None or NUMBERS not in texts:
        return [] if output is None else [output]
    beside = output.with_suffix(".json")
    write_output(texts[NUMBERS].encode("utf-8", "replace"), beside)
    return [output, beside]


def write_formats(report: "Report", beginning: Path, formats: Sequence[str]) -> list[str]:
    """Writes the report in several formats, to files of that path with each one's suffix; the files, each once."""
    write_files(beginning.parent, {})
    written: list[str] = []
    for format in formats:
        output = beginning.with_name(beginning.name + load("format", format).SUFFIX)
        written += map(str, write_texts(texts_of(report, format), output))
    return list(dict.fromkeys(written))


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Writes files into a folder, which is made where it is not there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Error(f"{folder}: {error.strerror}", "choose another folder") from error
    for name, content in files.items():
        write_output(content, folder / name)


def is_folder(output: Path | None, format: str) -> bool:
    """Whether the output is to be a folder with a file for each table."""
    return output is not None and not output.suffix and str(output) != "-" and hasattr(load("format", format), "files")


def format_of(output: Path | None) -> str:
    """The format that the suffix of the file means."""
    if output is None or str(output) == "-":
        return "terminal"
    fitting = [name for name in names("format") if output.suffix == load("format", name).SUFFIX]
    if not fitting:
        raise click.UsageError(f"no report format writes {output.suffix or 'files without a suffix'}: give --format")
    return fitting[0]
