"""Opens a trace in the browser."""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..one_trace import open_trace
from ..options import archive_option, cache_archive, patience, write_output

if TYPE_CHECKING:
    from ...store.archive import Archive
    from ...store.trace import Trace

PERFETTO = "https://ui.perfetto.dev"
PORT = 9001
"""The only port of this machine that Perfetto's page may fetch from: its content security policy names it."""


@click.command()
@click.argument("trace")
@click.option("--perfetto", is_flag=True, help="Open the timeline in ui.perfetto.dev instead of the report.")
@click.option("--no-browser", is_flag=True, help="Print the address instead of opening it.")
@archive_option
def command(trace: str, perfetto: bool, no_browser: bool, archive_path: Path) -> None:
    """Opens a trace in the browser: the performance report, or with --perfetto its timeline.

    The report is one file in the cache folder and needs no network. With --perfetto, the page of ui.perfetto.dev comes
    from the network, and the trace goes to it from 127.0.0.1 and to nobody else: it is shown by your browser, not
    uploaded. The command ends when the page has fetched it, or with Ctrl-C.

    TRACE is a trace file, or the beginning of a trace's id in the archive.
    """
    found, archive = open_trace(trace, archive_path)
    if perfetto:
        _timeline(found, archive, browser=not no_browser)
    else:
        _show(_report(found, archive).as_uri(), browser=not no_browser)


def _report(trace: "Trace", archive: "Archive") -> Path:
    """Writes the report into the cache folder, where opening it again replaces it."""
    from ...mining.finding import Finding
    from ...mining.mine import find
    from ...store.parts import load

    folder = cache_archive().path.parent / "reports"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"perf-{trace.id[:12]}.html"

    def ask(analysis: str) -> Finding:
        return find(trace, archive, analysis)

    with patience("mining"):
        report = load("topic", "perf").build(trace, ask)
    write_output(load("format", "html").render(report).encode("utf-8", "replace"), path)
    return path


def _timeline(trace: "Trace", archive: "Archive", *, browser: bool) -> None:
    """Serves the timeline until the page has fetched it."""
    from ...store.parts import load
    from ..export_file import mined
    from ..one_file_server import serving

    form = load("export", "perfetto")
    with tempfile.TemporaryDirectory(prefix="tracelode-") as folder:
        file = Path(folder) / "trace.pftrace"
        with patience("exporting"):
            form.write(mined(trace, archive, form.NEEDS), file, ())
        with serving(file, origin=PERFETTO, port=PORT) as served:
            _show(f"{PERFETTO}/#!/?url={served.url}", browser=browser)
            click.echo("waiting for the page to fetch the trace; Ctrl-C ends this", err=True)
            while not served.wait(1.0):  # a wait without an end could not be interrupted on every system
                pass


def _show(address: str, *, browser: bool) -> None:
    """Opens the address, and prints it where that is not wanted or no browser is there."""
    import webbrowser

    if browser and webbrowser.open(address):
        click.echo(f"opened: {address}", err=True)
    else:
        click.echo(address)
