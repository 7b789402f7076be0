"""Writes a report about a trace."""

from pathlib import Path

import click

from ...store.parts import names
from ..options import archive_option, open_trace, output_option, patience, write_output


@click.command()
@click.argument("topic", type=click.Choice(list(names("topic"))))
@click.argument("trace")
@click.option(
    "--format",
    "format",
    type=click.Choice(list(names("format"))),
    help="Format of the report. [default: by the suffix of -o; terminal on standard output]",
)
@archive_option
@output_option
def command(topic: str, trace: str, format: str | None, archive_path: Path, output: Path | None) -> None:
    """Writes a report: perf says where the time goes, which iteration is slow, and what the device waits for.

    TRACE is a trace file, or the beginning of a trace's id in the archive. Beside an HTML file, a .json file of the
    same name holds every number of the report and the SQL that gives it.

    \b
    tracelode report perf rank0.pt.trace.json.gz -o report.html
    """
    from ...mining.finding import Finding
    from ...mining.mine import find
    from ...store.parts import load

    name = format or _by_suffix(output)
    writer = load("format", name)
    found, archive = open_trace(trace, archive_path)

    def ask(analysis: str) -> Finding:
        return find(found, archive, analysis)

    with patience("mining"):
        report = load("topic", topic).build(found, ask)
    write_output(writer.render(report).encode("utf-8", "replace"), output)
    if output is not None and name == "html":
        write_output(load("format", "json").render(report).encode("utf-8", "replace"), output.with_suffix(".json"))
    if output is not None:
        click.echo(f"{report.verdict}\nwritten: {output}", err=True)


def _by_suffix(output: Path | None) -> str:
    from ...store.parts import load

    if output is None or str(output) == "-":
        return "terminal"
    fitting = [name for name in names("format") if output.suffix == load("format", name).SUFFIX]
    if not fitting:
        raise click.UsageError(f"no report format writes {output.suffix or 'files without a suffix'}: give --format")
    return fitting[0]
