"""Pipelines of small traces for tests, and what an archive holds after them."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

from tests.collect.small_traces import trace

__all__ = ["batch", "contents", "finish", "nightly", "write_pipeline"]

MADE_ANEW = (".staging", ".locks", "catalog.duckdb")
"""What an archive holds besides results."""


def nightly(folder: Path, count: int) -> None:
    """Writes so many runs of one kernel into `nightly/`, each of a trace, the first of two ranks."""
    ranks = folder / "nightly" / "run0"
    ranks.mkdir(parents=True)
    for rank in range(2):
        (ranks / f"rank{rank}.json").write_bytes(trace(f"kernel of rank {rank}", rank))
    for number in range(1, count):
        (folder / "nightly" / f"run{number}.json").write_bytes(trace(f"kernel {number}"))


def write_pipeline(folder: Path, more: str = "", *, name: str = "pipeline.toml", paths: str = "nightly/*") -> Path:
    """Writes a pipeline that reads what is in `nightly/` and mines little of it."""
    text = f'archive = "traces"\nmine = ["segments"]\n[[ingest]]\npaths = ["{paths}"]\n{more}'
    (folder / name).write_text(text)
    return folder / name


def batch(pipeline: Path, *arguments: str) -> subprocess.Popen[str]:
    """Starts a batch in a process of its own."""
    command = [sys.executable, "-m", "tracelode", "batch", str(pipeline), *arguments]
    environment = os.environ | {"COLUMNS": "100"}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def finish(process: subprocess.Popen[str], code: int = 0) -> list[str]:
    """Waits for a batch to end with that code; the lines that it wrote to standard error."""
    _, said = process.communicate()
    assert process.returncode == code, said
    return said.splitlines()


def contents(archive: Path) -> dict[str, str]:
    """The files of an archive and their sha256, without what is made anew."""
    files = (path for path in archive.rglob("*") if path.is_file())
    named = {str(path.relative_to(archive)): path for path in files}
    return {
        name: hashlib.sha256(path.read_bytes()).hexdigest()
        for name, path in sorted(named.items())
        if not name.startswith(MADE_ANEW)
    }
