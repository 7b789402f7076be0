"""Runs a program and records what it does on the GPU."""

import os
import re
import shlex
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..options import archive_option, cache_folder, run_option

if TYPE_CHECKING:
    from ...collect.ingest import Outcome
    from ...store.trace import Trace

HOOKS = ("op", "shape", "module", "phase", "tensor", "stack")
PATIENCE_S = 5.0
"""How long processes that the program left behind are waited for."""

NOTHING = 5
"""The exit code where the program did well but nothing was recorded."""


Bounds = tuple[int | None, int | None]


class Ordinals(click.ParamType[Bounds]):
    """Two ordinals with a colon between them, either of which may be left out: `100:200`, `:50`, `1000:`."""

    name = "first:last"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Bounds:
        """The two numbers, None for one that is left out."""
        found = re.fullmatch(r"([0-9]{1,18})?:([0-9]{1,18})?", str(value))
        first, last = (int(part) if part else None for part in found.groups()) if found else (0, 0)
        if first is not None and last is not None and first >= last:
            self.fail(f"{value!r} is not FIRST:LAST, two whole numbers, the first one less", param, ctx)
        return first, last


@click.command(context_settings={"allow_interspersed_args": False})  # what follows the program is its own
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED)
@archive_option
@run_option("the job's id under a launcher, else the time")
@click.option(
    "--detail",
    type=click.Choice(["rows", "totals"]),
    default="rows",
    show_default=True,
    help="Every kernel, or only sums per kernel name.",
)
@click.option(
    "--graphs",
    type=click.Choice(["graph", "node"]),
    default="graph",
    show_default=True,
    help="CUDA graphs as one event a launch, or each of their kernels, which costs more.",
)
@click.option(
    "--calls", is_flag=True, help="Record the calls of the runtime and the driver, too: the costliest events."
)
@click.option(
    "--uvm", is_flag=True, help="Record page faults and migrations of managed memory: can slow the program down."
)
@click.option("--names", multiple=True, metavar="TEXT", help="Only kernels with that in their names; may be repeated.")
@click.option(
    "--launches", type=Ordinals(), default=":", help="Only kernels from the FIRST to before the LAST, counted from 0."
)
@click.option(
    "--sample", type=click.IntRange(1, 1 << 32), default=1, show_default=True, metavar="N", help="One kernel in N."
)
@click.option("--hooks", metavar="LIST", help=f"What to record of PyTorch: some of {', '.join(HOOKS)}, with commas.")
@click.option("--paused", is_flag=True, help="Begin when the program calls tracelode.collect.agent.start().")
@click.option(
    "--buffers",
    "buffers_mib",
    type=click.IntRange(4, 4096),
    default=64,
    show_default=True,
    metavar="MIB",
    help="Memory in the program for what is not yet written.",
)
@click.option(
    "--device-memory",
    "device_mib",
    type=click.IntRange(16, 1 << 20),
    default=256,
    show_default=True,
    metavar="MIB",
    help="Memory on a device, for each context, that CUPTI may take.",
)
@click.option(
    "--flush",
    "flush_ms",
    type=click.IntRange(10, 60_000),
    default=500,
    show_default=True,
    metavar="MS",
    help="How often it is written: what a killed program can lose.",
)
@click.option(
    "--limit",
    "stop_mib",
    type=click.IntRange(0, 1 << 40),
    default=0,
    metavar="MIB",
    help="Stop recording a process when its files are that large. [default: no limit]",
)
@click.option(
    "--keep",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Keep the recorded files, in a new folder within this one.",
)
def command(program: tuple[str, ...], archive_path: Path, **options: Any) -> None:
    """Runs PROGRAM and records what it, and every process it starts, does on NVIDIA GPUs; its traces go to the archive.

        tracelode record python train.py --epochs 3

    The program's output and its exit status are its own. Each of its processes that uses CUDA becomes a trace, with
    its rank under torchrun, SLURM and MPI. What was recorded before a crash is kept. Only where the program does well
    and nothing was recorded is the exit code 5. Costs, privileges and tools that conflict: docs/recording.md.
    """
    from ...collect import record, supervise

    run, keep = options.pop("run"), options.pop("keep")
    hooks, names = _hooks(options.pop("hooks")), _parts(options.pop("names"))
    chosen = record.Options(hooks=hooks, names=names, **options)
    _check_archive(archive_path)
    folder, environment = record.prepare(chosen, keep or archive_path / "recordings", cache_folder())
    for name in record.overridden(os.environ):
        click.echo(f"warning: {name} is set; in the program it names tracelode's collector", err=True)
    run = run or record.run_name(folder, os.environ)
    (folder / record.RUN).write_text(run + "\n")
    try:
        status = supervise.run(program, environment)
    except BaseException:
        _remove_empty(folder, keep)
        raise
    running = supervise.still_running(PATIENCE_S)
    read = _read(folder, archive_path, run, running, kept=keep is not None)
    _remove_empty(folder, keep)
    sys.exit(status or (0 if read else NOTHING))


def _check_archive(path: Path) -> None:
    """Raises `Error` where the archive cannot be written: before the program has run, not after."""
    from ...store.errors import ArchiveError

    there = path.absolute()
    while not there.exists():
        there = there.parent
    if not os.access(there, os.W_OK | os.X_OK):
        raise ArchiveError(f"{path}: cannot be written", "choose another archive with --archive")


def _read(folder: Path, archive_path: Path, run: str, running: list[int], *, kept: bool) -> bool:
    """Reads the recording into the archive, and says on standard error what there is; whether something was recorded.

    Whatever goes wrong, the files stay, and the user is told where.
    """
    from ...collect import record
    from ...store.archive import Archive
    from ...store.errors import Error
    from ..text import clean

    where = clean(f"tracelode ingest {shlex.quote(str(folder))} --run {shlex.quote(run)}")
    try:
        archive = Archive(archive_path)
        outcomes = record.ingest(folder, archive.path, run, running=running, keep=kept)
        if outcomes:
            archive.catalogue()
    except (Error, KeyboardInterrupt) as error:
        told = error.message if isinstance(error, Error) else "interrupted while reading the recording"
        click.echo(f"error: {clean(told)}\nhint: what was recorded is kept: {where}", err=True)
        return False
    _tell(outcomes)
    if running:
        some = ", ".join(map(str, running[:10]))
        click.echo(f"warning: processes are still running ({some}); when they have ended: {where}", err=True)
    elif any(outcome.error for outcome in outcomes):
        click.echo(f"what could not be read is kept in {clean(str(folder))}", err=True)
    recorded = any(outcome.trace and _events(outcome.trace) for outcome in outcomes)
    if not recorded and not running:
        click.echo(
            "error: nothing was recorded: no process used CUDA, or the collector could not begin\n"
            "hint: see what the collector said above; tracelode doctor",
            err=True,
        )
    return recorded


def _events(trace: "Trace") -> int:
    """How many events a trace has."""
    from ...store.tables import TABLES, Kind

    return sum(count for table, count in trace.rows.items() if TABLES[table].kind is Kind.EVENT)


def _parts(names: tuple[str, ...]) -> tuple[str, ...]:
    if any(not name or "\n" in name for name in names):
        raise click.UsageError("--names is a part of a kernel's name, on one line")
    return names


def _hooks(text: str | None) -> tuple[str, ...]:
    words = tuple(word.strip() for word in (text or "").split(",") if word.strip())
    if unknown := [word for word in words if word not in HOOKS]:
        raise click.UsageError(f"--hooks knows {', '.join(HOOKS)}, not {', '.join(unknown)}")
    if words == ("stack",):
        raise click.UsageError("--hooks stack says where operators and tensors come from: give op or tensor, too")
    return words


def _tell(outcomes: list["Outcome"]) -> None:
    """Says what was recorded, and what was lost."""
    from ..text import clean

    for outcome in outcomes:
        if outcome.error:
            click.echo(f"error: {clean(outcome.error.message)}\nhint: {clean(outcome.error.hint)}", err=True)
        elif outcome.trace:
            trace = outcome.trace
            id = trace.id[:12]
            kernels = trace.rows.get("kernel", 0)
            line = f"recorded {id}: {kernels:,} kernels, {_events(trace):,} events (tracelode report perf {id})"
            click.echo(line, err=True)
            for note in trace.notes:
                example = f" ({clean(note.example)})" if note.example else ""
                click.echo(f"  {note.count:,} {note.kind}: {clean(note.meaning)}{example}", err=True)


def _remove_empty(folder: Path, keep: Path | None) -> None:
    """Removes the folder of a recording where nothing is left in it, and the one around it unless the user gave it."""
    from ...collect import record

    with suppress(OSError):
        if [path.name for path in folder.iterdir()] == [record.RUN]:
            (folder / record.RUN).unlink()
    for empty in (folder, *(() if keep else (folder.parent,))):
        with suppress(OSError):
            empty.rmdir()
