"""Runs a program and records what it does on the GPU."""

import os
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..options import archive_option, cache_archive

if TYPE_CHECKING:
    from ...collect.ingest import Outcome

HOOKS = ("op", "shape", "module", "phase", "tensor", "stack")
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


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED)
@archive_option
@click.option("--run", "run", help="Run the traces belong to. [default: the job's id under a launcher, else the time]")
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
@click.option("--launches", type=Ordinals(), help="Only kernels from the FIRST to before the LAST, counted from 0.")
@click.option("--sample", type=click.IntRange(1), default=1, show_default=True, metavar="N", help="One kernel in N.")
@click.option("--hooks", metavar="LIST", help=f"What to record of PyTorch: some of {', '.join(HOOKS)}, with commas.")
@click.option("--paused", is_flag=True, help="Begin when the program calls tracelode.collect.agent.start().")
@click.option(
    "--buffers",
    type=click.IntRange(4, 4096),
    default=64,
    show_default=True,
    metavar="MIB",
    help="Memory in the program for what is not yet written.",
)
@click.option(
    "--flush",
    type=click.IntRange(10, 60_000),
    default=500,
    show_default=True,
    metavar="MS",
    help="How often it is written: what a killed program can lose.",
)
@click.option(
    "--limit",
    type=click.IntRange(0),
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

        tracelode record -- python train.py

    The program's output and its exit status are its own. Each of its processes that uses CUDA becomes a trace, with
    its rank under torchrun, SLURM and MPI. What was recorded before a crash is kept. Only where the program does well
    and nothing was recorded is the exit code 5. Costs, privileges and tools that conflict: docs/recording.md.
    """
    from ...collect import record
    from ...store.archive import Archive

    hooks = _hooks(options.pop("hooks"))
    run, keep, limit, launches = (options.pop(name) for name in ("run", "keep", "limit", "launches"))
    archive = Archive(archive_path)
    buffers, flush = options.pop("buffers"), options.pop("flush")
    chosen = record.Options(
        hooks=hooks, launches=launches or (None, None), stop_mib=limit, buffers_mib=buffers, flush_ms=flush, **options
    )
    folder, environment = record.prepare(chosen, keep or archive.path / "recordings", cache_archive().path.parent)
    try:
        status = record.run(program, environment)
    except BaseException:
        _remove_empty(folder)
        raise
    outcomes = record.ingest(folder, archive.path, run or record.run_name(folder, os.environ), keep=keep is not None)
    if outcomes:
        archive.catalogue()
    _tell(outcomes, folder)
    _remove_empty(folder)
    sys.exit(status or (0 if any(outcome.trace for outcome in outcomes) else NOTHING))


def _hooks(text: str | None) -> tuple[str, ...]:
    words = tuple(word.strip() for word in (text or "").split(",") if word.strip())
    if unknown := [word for word in words if word not in HOOKS]:
        raise click.UsageError(f"--hooks knows {', '.join(HOOKS)}, not {', '.join(unknown)}")
    return words


def _tell(outcomes: list["Outcome"], folder: Path) -> None:
    """Says on standard error what was recorded, and what was lost."""
    from ..text import clean

    for outcome in outcomes:
        if outcome.error:
            click.echo(f"error: {clean(outcome.error.message)}\nhint: {clean(outcome.error.hint)}", err=True)
        elif outcome.trace:
            trace = outcome.trace
            kernels = trace.rows.get("kernel", 0)
            click.echo(
                f"recorded {trace.id[:12]}: {kernels:,} kernels, {sum(trace.rows.values()):,} rows"
                f" (tracelode report perf {trace.id[:12]})",
                err=True,
            )
            for note in trace.notes:
                click.echo(f"  {note.count:,} {note.kind}: {clean(note.meaning)}", err=True)
    if not outcomes:
        click.echo(
            "error: nothing was recorded: no process used CUDA, or the driver did not load the collector\n"
            "hint: see what the collector said above; tracelode doctor",
            err=True,
        )
    elif folder.is_dir() and any(outcome.error for outcome in outcomes):
        click.echo(f"what was recorded is kept in {clean(str(folder))}", err=True)


def _remove_empty(folder: Path) -> None:
    """Removes the folder of a recording and the one around it, as far as nothing is left in them."""
    for empty in (folder, folder.parent):
        with suppress(OSError):
            empty.rmdir()
