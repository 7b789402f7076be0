"""Runs a program and prefetches its managed memory by a plan."""

import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..options import cache_folder
from ..text import clean

if TYPE_CHECKING:
    from ...collect.replay import Orders
    from ...mining.plan import Plan


@click.command(context_settings={"allow_interspersed_args": False})  # what follows the program is its own
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option(
    "--plan",
    "plan_path",
    required=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="The plan, from tracelode report uvm TRACE --plan FILE.",
)
@click.option(
    "--counts",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    metavar="FILE",
    help="Write what came of the plan, one line of JSON for each process; - is standard error.",
)
def command(program: tuple[str, ...], plan_path: Path, counts: Path | None) -> None:
    """Runs PROGRAM and, before the kernels that a plan names, prefetches the managed memory that they will touch.

        tracelode replay --plan plan.json -- python train.py

    The program's output and its exit status are its own. Never is more asked for than the device has free, and what
    was asked for is not asked for again. To see what it is worth, record a run with and one without, and compare them:
    docs/replay.md.
    """
    from ...collect import replay, supervise

    plan = _plan(plan_path)
    orders = _orders(plan)
    with tempfile.TemporaryDirectory(prefix="tracelode-replay-") as name:
        folder = Path(name)
        environment = replay.prepare(orders, folder, cache_folder())
        status = supervise.run(program, environment)
        lines = replay.counts(folder)
    if counts is not None:
        _write(lines, counts)
    if warning := _nothing(replay.summed(lines), plan):
        click.echo(f"warning: {warning}", err=True)
    sys.exit(status)


def _plan(path: Path) -> "Plan":
    """The plan in the file; `UnreadableFile` where it is none of ours, or of another version."""
    from ...mining.plan import MOST_BYTES, read_plan
    from ...store.errors import Error, UnreadableFile

    try:
        with path.open("rb") as file:
            return read_plan(file.read(MOST_BYTES + 1))
    except OSError as error:
        raise Error(f"{path}: {error.strerror}", "name the plan's file with --plan") from error
    except Error as error:
        raise UnreadableFile(f"{path}: {error.message}", error.hint) from error


def _orders(plan: "Plan") -> "Orders":
    """What the replayer can do of the plan: it knows allocations by their size, so variables are left out, and said."""
    from ...collect.replay import Orders

    known = [at for at, key in enumerate(plan.memory) if key.kind == "managed" and key.owner is None]
    place = {at: number for number, at in enumerate(known)}
    kernels = {name: number for number, name in enumerate(dict.fromkeys(step.kernel for step in plan.steps))}
    if lost := len(plan.memory) - len(known):
        click.echo(f"warning: {lost} of the plan's {len(plan.memory)} objects are no allocations: left out", err=True)
    return Orders(
        [(plan.memory[at].bytes, plan.memory[at].occurrence) for at in known],
        list(kernels),
        [
            (
                kernels[step.kernel],
                step.occurrence,
                [(place[part.memory], part.offset, part.bytes) for part in step.prefetch if part.memory in place],
            )
            for step in plan.steps
        ],
    )


def _write(lines: str, counts: Path) -> None:
    """Writes the counts; where that fails the program's exit status still counts."""
    if str(counts) == "-":
        click.echo(lines, nl=False, err=True)
        return
    try:
        counts.write_text(lines)
    except OSError as error:
        click.echo(f"warning: {counts}: {error.strerror}", err=True)


def _nothing(sums: Mapping[str, int], plan: "Plan") -> str | None:
    """Why nothing was asked for, where nothing was."""
    if not plan.steps:
        why = f", since {clean(plan.why_empty)}" if plan.why_empty is not None else ""
        return f"nothing was prefetched: the plan has no steps{why}"
    if not sums:
        return "nothing was prefetched, or nothing counted: no process used CUDA and ended in order"
    if sums["asked"]:
        return None
    if sums["unusable"]:
        return "nothing was prefetched: the device or its driver does not prefetch managed memory"
    if sums["reached"]:
        return "nothing was prefetched: the plan's memory was not there, had no room or was refused: see --counts -"
    why = "is the plan another program's?"
    if sums["unnamed"]:
        why = "the driver tells no names of kernels (it does since CUDA 12.3)"
    elif sums["graphs"]:
        why = "kernels in CUDA graphs are not followed"
    return f"nothing was prefetched: none of the kernels that the plan names ran; {why}"
