"""Does all of a pipeline: reads what is new, mines, reports and checks, as often as it is called."""

import hashlib
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..failures import tell
from ..options import write_output
from ..text import clean, utf8

if TYPE_CHECKING:
    from ..batching import Batch, Run, Shard
    from ..pipeline import Pipeline

ORDER = (6, 2, 5, 3, 4, 0)
"""Exit codes, the worst first."""
WAITING, DONE = 4, 0


def _shard(_context: click.Context, _parameter: click.Parameter, text: str | None) -> "Shard | None":
    if text is None:
        return None
    found = re.fullmatch(r"(\d{1,9})/(\d{1,9})", text)
    if found is None or int(found[1]) >= int(found[2]):
        raise click.BadParameter(f"{clean(text)}: give a part, counted from 0, and how many there are, as in 0/8")
    return int(found[1]), int(found[2])


@click.command()
@click.argument("pipeline_path", metavar="PIPELINE", type=click.Path(path_type=Path))
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="Processes that work at once.")
@click.option("--shard", callback=_shard, metavar="I/N", help="Only part I of N, counted from 0. It checks nothing.")
@click.option("--dask", metavar="ADDRESS", help="Scheduler of a Dask cluster that does the work, as tcp://host:8786.")
@click.option("--no-wait", is_flag=True, help="End with 4 if another batch of this pipeline is under way.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File to write what was done to, as JSON, also when something failed; - is standard output.",
)
def command(
    pipeline_path: Path, jobs: int, shard: "Shard | None", dask: str | None, no_wait: bool, output: Path | None
) -> None:
    """Does what a pipeline file says: reads traces that are new, mines, reports and checks.

    Called again it does what is left, after a kill or with more traces. One batch of a pipeline works at a time, others
    wait; those of different shards work at once. Each thing that failed is an error on standard error, the last line
    sums up. docs/batch.md has an example and recipes for schedulers.

    The exit code is the worst of: 6 an archive problem, 2 a report that could not be made or written, 5 an input that
    is missing or no trace, 3 a regression, 4 inconclusive, 0.

    \b
    tracelode batch pipeline.toml --jobs 8
    tracelode batch pipeline.toml --shard $SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT
    """
    from ...store.locks import held
    from ..batching import do_batch
    from ..pipeline import read_pipeline

    if dask is not None and jobs != 1:
        raise click.UsageError("--jobs is for this machine, --dask for a cluster: give one of them")
    pipeline = read_pipeline(pipeline_path)
    name = hashlib.sha256(f"{pipeline.path} {shard}".encode("utf-8", "surrogateescape")).hexdigest()
    with held(pipeline.archive, name, lambda: _waits(no_wait)) as mine:
        if not mine:
            raise SystemExit(WAITING)
        batch = do_batch(pipeline, jobs=jobs, dask=dask, shard=shard)
    tell(batch.errors)
    for warning in batch.warnings:
        click.echo(f"warning: {clean(warning)}", err=True)
    code = _code(batch)
    if output is not None:
        write_output(_document(pipeline, shard, batch, code), output)
    click.echo(_summary(pipeline, batch, code), err=True)
    raise SystemExit(code)


def _waits(no_wait: bool) -> bool:
    line = "another batch of this pipeline is under way"
    click.echo(f"{line}: nothing was done" if no_wait else f"waiting: {line}", err=True)
    return not no_wait


def _code(batch: "Batch") -> int:
    from ..checks import exit_code

    codes = {error.exit_code for error in batch.errors}
    codes |= {DONE if batch.checked is None else exit_code(batch.checked.checks)}
    return min(codes, key=ORDER.index)


def _summary(pipeline: "Pipeline", batch: "Batch", code: int) -> str:
    """One line: how much there was, how much of it was new, what failed, what the check says, where all of it is."""
    from ...mining.words import plural
    from ..checks import verdict_line

    runs = batch.runs
    traces, new = sum(len(run.traces) for run in runs), sum(len(run.new) for run in runs)
    left_out = sum(one.left_out for run in runs for one in run.refused)
    parts = [
        f"{plural(len(runs), 'run')} ({sum(run.unchanged for run in runs)} unchanged)",
        f"{plural(traces, 'trace')} ({new} new)",
        f"{plural(sum(len(run.written) for run in runs if not run.unchanged), 'report file')} written",
        f"{plural(left_out, 'file')} left out" if left_out else "",
        plural(len(batch.errors), "error") if batch.errors else "no error",
    ]
    said = [] if batch.checked is None else [verdict_line(batch.checked.checks)]
    if any(run.written for run in runs):
        said.append(f"Reports: {', '.join(dict.fromkeys(str(one.folder) for one in pipeline.reports))}.")
    said += [f"Check: {', '.join(batch.written)}."] if batch.written else []
    said.append(f"Archive: {pipeline.archive}.")
    return f"batch: {', '.join(filter(None, parts))}. {clean(' '.join(said))} Exit code {code}."


def _document(pipeline: "Pipeline", shard: "Shard | None", batch: "Batch", code: int) -> bytes:
    from dataclasses import asdict

    from ...store.version import VERSION
    from ..checks import verdict_line
    from ..rows import finite

    checked = batch.checked
    document: dict[str, Any] = {
        "schema": "tracelode.batch/1",
        "tool": VERSION,
        "pipeline": utf8(str(pipeline.path)),
        "archive": utf8(str(pipeline.archive)),
        "shard": shard and f"{shard[0]}/{shard[1]}",
        "exit_code": code,
        "summary": _summary(pipeline, batch, code),
        "errors": [
            {"message": utf8(one.message), "hint": utf8(one.hint), "exit_code": one.exit_code} for one in batch.errors
        ],
        "warnings": [utf8(one) for one in batch.warnings],
        "runs": [_run(run) for run in batch.runs],
        "check": None
        if checked is None
        else {
            "verdict": verdict_line(checked.checks),
            "checks": finite([asdict(one) for one in checked.checks]),
            "written": [utf8(one) for one in batch.written],
        },
    }
    return (json.dumps(document, ensure_ascii=False, indent=1) + "\n").encode("utf-8", "replace")


def _run(run: "Run") -> dict[str, Any]:
    return {
        "run": run.name,
        "unchanged": run.unchanged,
        "traces": run.traces,
        "new": run.new,
        "reports": [utf8(one) for one in run.written],
        "left_out": [utf8(one.path) for one in run.refused if one.left_out],
        "unread": [utf8(one.path) for one in run.refused if not one.left_out],
        "errors": len(run.failures),
    }
