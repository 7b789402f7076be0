"""Writes a report about a trace, or about the ranks of a run."""

from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...store.parts import names
from ..failures import as_one, tell
from ..options import archive_option, patience, write_output
from ..report_files import VERDICT, format_of, is_folder, report_on, texts_of, write_files, write_tables, write_texts
from ..text import clean, utf8

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..rank_group import Group
    from ..report import Report


@click.command()
@click.argument("topic", type=click.Choice(list(names("topic"))))
@click.argument("traces", nargs=-1, required=True)
@click.option(
    "--format",
    "format",
    type=click.Choice(list(names("format"))),
    help="Format of the report. [default: by the suffix of -o; terminal on standard output]",
)
@click.option("--figures", type=click.Path(path_type=Path, file_okay=False), help="Folder to write every chart to.")
@click.option(
    "--figure-format", type=click.Choice(["svg", "png"]), default="svg", show_default=True, help="Format of the charts."
)
@click.option("--after", help="With uvm: the trace of a second run, with advice taken, to say what that changed.")
@click.option(
    "--plan",
    type=click.Path(path_type=Path, dir_okay=False),
    help="With uvm: file to write a plan of prefetches to, as JSON.",
)
@archive_option
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="File to write; with --format csv and no suffix, a folder with a file for each table. "
    "[default: standard output]",
)
def command(
    topic: str,
    traces: tuple[str, ...],
    format: str | None,
    figures: Path | None,
    figure_format: str,
    after: str | None,
    plan: Path | None,
    archive_path: Path,
    output: Path | None,
) -> None:
    """Writes a report: perf says where the time goes, which iteration is slow, and what the device waits for.

    TRACES is a trace file, or the beginning of a trace's id in the archive. Of several, of a folder of files, or of a
    run in the archive by its name or the beginning of it, perf is one report on the ranks: which of them is slow, and
    who waits for whom. A file that cannot be read is named on standard error and does not stop the others. Beside an
    HTML file, a .json file of the same name holds every number of the report and the SQL that gives it.

    uvm says of managed memory which pages fault and move, what kernels wait for them, and what to do about it.

    workload says what time, launches and memory belong to, how often kernels run, and how memory is used. Of several
    traces it is one table, with the curves of memory of two, and what those of ranks hint at.

    The formats md and json hold the report too; csv holds its tables, all in one file, or a file for each in a folder.
    --figures writes every chart as a picture.

    \b
    tracelode report perf rank0.pt.trace.json.gz -o report.html
    tracelode report perf traces-of-a-run/ -o report.html
    """
    from ..rank_group import open_group

    name = format or format_of(output)
    if topic != "uvm" and (after, plan) != (None, None):
        raise click.UsageError(f"--after and --plan are for the report uvm, not for {topic}")
    if plan is not None and not plan.absolute().parent.is_dir():
        raise click.UsageError(f"{plan}: there is no folder {plan.parent}")
    group = open_group(traces, archive_path)
    tell(one.error for one in group.unread)
    with patience("mining"):
        if figures is not None or after is not None or is_folder(output, name):
            report = report_on(topic, group)
            report = report if after is None else _after(report, group, after, archive_path)
            texts = texts_of(report, name)
        else:
            report, texts = None, _kept(topic, group, name)
    if report is not None and output is not None and is_folder(output, name):
        write_tables(report, name, output)
    else:
        write_texts(texts, output)
    if report is not None and figures is not None:
        _draw(report, figures, figure_format)
    if output is not None:
        click.echo(f"{clean(texts[VERDICT])}\nwritten: {output}", err=True)
    if plan is not None:
        _plan(group, plan)
    _judge(group)


def _after(report: "Report", group: "Group", after: str, archive_path: Path) -> "Report":
    """The report on managed memory with what a second run changed."""
    from ..uvm_runs import with_effect

    return with_effect(report, group.members[0].trace, group.archive, after, archive_path)


def _plan(group: "Group", path: Path) -> None:
    """Writes a plan of prefetches, and says what it is worth."""
    from ..uvm_runs import planned

    content, said = planned(group.members[0].trace, group.archive)
    write_output(content, path)
    click.echo(f"{said}\nwritten: {path}", err=True)


def _kept(topic: str, group: "Group", name: str) -> "Mapping[str, str]":
    """The texts of the report on one trace as they were kept when they were made last, by the same code; else new ones.

    What there is to say of several ranks depends on all of them, so it is not kept.
    """
    from ...store.kinds import rules_mark
    from ...store.parts import load
    from ...store.version import code_mark

    if len(group.members) > 1:
        return texts_of(report_on(topic, group), name)
    form = load("format", name)
    fitted = f"-{form.fitted()}" if hasattr(form, "fitted") else ""
    trace = group.members[0].trace
    kind = f"report-{topic}-{name}{fitted}"
    version = f"{code_mark()}{rules_mark()}-{sha256(utf8(trace.source).encode()).hexdigest()[:12]}"  # it names the file
    there = group.archive.kept(trace.id, kind, version)
    if there is None:
        there = texts_of(report_on(topic, group), name)
        group.archive.keep(trace.id, kind, version, there)
    return there


def _draw(report: "Report", folder: Path, form: str) -> None:
    """Writes every chart of the report into the folder."""
    from ..figures import figures

    drawn = dict(figures(report, "png" if form == "png" else "svg"))
    if not drawn:
        click.echo(f"no charts: there is nothing to draw in this report, and nothing was written to {folder}", err=True)
        return
    write_files(folder, drawn)
    click.echo(f"charts: {len(drawn)} in {folder}", err=True)


def _judge(group: "Group") -> None:
    """Raises what there is to raise for files that were not read, when all the others are done."""
    if group.unread:
        there = len(group.unread) + len(group.members)
        raise as_one([one.error for one in group.unread], f"{len(group.unread)} of {there} not read")
