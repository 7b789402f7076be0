"""What several verbs share: where the archive is, which trace is meant, where output goes."""

import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..store.archive_words import DEFAULT_ARCHIVE
from ..store.errors import Error
from ..store.parts import names
from .rows import FORMATS
from .text import clean, shorten

if TYPE_CHECKING:
    from ..store.archive import Archive

__all__ = [
    "archive_option",
    "cache_archive",
    "cache_folder",
    "counted",
    "format_option",
    "output_option",
    "patience",
    "progress",
    "report_options",
    "run_option",
    "width_of",
    "write_output",
]

F = TypeVar("F", bound=Callable[..., Any])
PATIENCE_S, PROGRESS_S = 2.0, 1.0


def archive_option(command: F) -> F:
    """Adds --archive, the folder of the archive."""
    return click.option(
        "--archive",
        "archive_path",
        envvar="TRACELODE_ARCHIVE",
        type=click.Path(path_type=Path, file_okay=False),
        default=DEFAULT_ARCHIVE,
        show_default=True,
        show_envvar=True,
        callback=_in_utf8,
        help="Folder of the archive.",
    )(command)


def _in_utf8(_context: click.Context, _parameter: click.Parameter, path: Path) -> Path:
    """The folder, whose name must be UTF-8: the writer of Parquet takes no other."""
    try:
        str(path.absolute()).encode()
    except UnicodeEncodeError:
        raise click.BadParameter(f"{clean(str(path))}: the name of an archive's folder must be UTF-8") from None
    return path


def _as_text(_context: click.Context, _parameter: click.Parameter, name: str | None) -> str | None:
    return name and name.encode("utf-8", "backslashreplace").decode()


def run_option(default: str) -> Callable[[F], F]:
    """Adds --run, the name of a run; bytes of it that are no text become escapes, as in names of files."""
    return click.option(
        "--run",
        callback=_as_text,
        help=f"Run the traces belong to. [default: {default}]",
    )


def output_option(command: F) -> F:
    """Adds -o, the file to write instead of standard output."""
    return click.option(
        "-o",
        "--output",
        type=click.Path(path_type=Path, dir_okay=False),
        help="File to write. [default: standard output]",
    )(command)


def format_option(*formats: str) -> Callable[[F], F]:
    """Adds --format, one of those formats (all row formats when none is named); the first is the default."""
    choices = formats or tuple(FORMATS)
    return click.option(
        "--format",
        "format",
        type=click.Choice(choices),
        default=choices[0],
        show_default=True,
        help="Format of the output.",
    )


def report_options(command: F) -> F:
    """Adds --format, --archive and -o for a report that judges."""
    output = click.option(
        "-o", "--output", type=click.Path(path_type=Path), help="File to write. [default: standard output]"
    )
    format = click.option(
        "--format",
        "format",
        type=click.Choice(list(names("format"))),
        help="Format of the report. [default: by the suffix of -o; terminal on standard output]",
    )
    return format(archive_option(output(command)))


def cache_folder() -> Path:
    """Where tracelode keeps what it can make anew: in the user's cache folder, else in a temporary one.

    Raises `Error` where the temporary one belongs to somebody else, who could put anything there.
    """
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111 - "~" may have no home
    folder = Path(base) / "tracelode"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return folder
    except OSError:
        pass  # no home that can be written: see below
    temporary = Path(tempfile.gettempdir()) / f"tracelode-{os.getuid()}"
    temporary.mkdir(mode=0o700, exist_ok=True)
    if temporary.is_symlink() or temporary.stat().st_uid != os.getuid():
        raise Error(f"{temporary}: belongs to another user", "set XDG_CACHE_HOME to a folder of your own")
    return temporary


def cache_archive() -> "Archive":
    """The archive that trace files given to a verb are read into."""
    from ..store.archive import FORMAT, Archive

    return Archive(cache_folder() / f"archive-{FORMAT}")


def write_output(data: bytes, output: Path | None) -> None:
    """Writes to the file, whole or not at all, or to standard output."""
    if output is None or str(output) == "-":
        if sys.stdout.isatty():  # whatever the format: no name in a trace may command the terminal
            data = clean(data.decode("utf-8", "replace"), keep="\n\t").encode()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    try:
        temporary = output.with_name(f".{output.name}.{os.getpid()}")
        temporary.write_bytes(data)
        temporary.replace(output)
    except OSError as error:
        raise Error(f"{output}: {error.strerror}", "choose another file with -o") from error


def width_of(output: Path | None) -> int:
    """Columns of the terminal that standard output is; 0, for no limit, where the output goes elsewhere."""
    return shutil.get_terminal_size().columns if output is None and sys.stdout.isatty() else 0


@contextmanager
def patience(what: str) -> Generator[None]:
    """Says on a terminal, after some seconds, what is going on, and why the first time takes longer."""
    message = f"{clean(what)} (the first use after an installation compiles some functions once) ..."
    timer = threading.Timer(PATIENCE_S, lambda: click.echo(message, err=True))
    if sys.stderr.isatty():
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def counted(what: str, total: int) -> Generator[Callable[[], None]]:
    """Shows on a terminal how many of several things are done; gives what is to be called for each."""
    if total < 2 or not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda: bar.advance(task)


@contextmanager
def progress(what: str, total: Callable[[], int]) -> Generator[Callable[[int], None] | None]:
    """Shows on a terminal, once the work has taken a second, how far it is, how fast it goes and how long it takes.

    Gives what is told the bytes that were read; `total` says how many there are. None where nobody watches.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    label = TextColumn("{task.description}", markup=False)
    columns = (label, BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task(shorten(clean(what), 40), total=total() or None)
    timer = threading.Timer(PROGRESS_S, bar.start)
    timer.start()
    with patience(what):
        try:
            yield lambda count: bar.advance(task, count)
        finally:
            timer.cancel()
            timer.join()
            bar.stop()
