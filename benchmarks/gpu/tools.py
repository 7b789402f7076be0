"""The tools that are compared, and how a program is started under each."""

import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.gpu.running import Clock, LeftOut, Ran, plain, run
from benchmarks.gpu.turns import NO_TOOL

__all__ = ["OF_LAUNCH", "OF_STEPS", "TO_RECORD", "TO_SHOW", "Tool", "Workplace", "missing"]

TO_RECORD = ("click", "numpy", "numba", "pyarrow", "duckdb")
TO_SHOW = (*TO_RECORD, "polars", "rich", "altair", "vl_convert", "suffix_trees")
"""Modules that recording into an archive, and showing what is in one, need."""


@dataclass(frozen=True)
class Tool:
    """Something that records a program: tracelode with options, as of its command line, or PyTorch's profiler.

    `variants` are the modes of the training steps it is measured on.
    """

    name: str
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    profiler: bool = False
    variants: str = "eager,graph"

    @property
    def words(self) -> list[str]:
        """The options of `tracelode record`."""
        words: list[str] = []
        for name, value in self.options.items():
            words += [f"--{name}"] if value is True else [f"--{name}", ",".join(value) if name == "hooks" else value]
        return words


NONE = Tool(NO_TOOL)
EVENTS = Tool("events")
CALLS = Tool("calls", {"calls": True})
NODES = Tool("nodes", {"graphs": "node"}, variants="graph")
HOOKS = Tool("hooks", {"hooks": ("op", "module")}, variants="eager")
PROFILER = Tool("torch.profiler", profiler=True)
OF_LAUNCH = (EVENTS, CALLS, NODES)
OF_STEPS = (EVENTS, PROFILER, CALLS, NODES, HOOKS)
"""In the order in which they are measured: what comes last is what short time leaves out."""


def missing(modules: Sequence[str]) -> list[str]:
    """Those of the modules that this Python does not have."""
    return [name for name in modules if find_spec(name) is None]


@dataclass
class Workplace:
    """Where programs are started: the checkout, a folder for what they write, and the Pythons.

    `torch_python` runs the training steps; None where no Python with PyTorch was found.
    """

    root: Path
    folder: Path
    torch_python: str | None
    environment: dict[str, str] = field(default_factory=lambda: plain(os.environ))

    def __post_init__(self) -> None:
        self.environment.setdefault("XDG_CACHE_HOME", str(self.folder / "cache"))

    def start(self, tool: Tool, command: Sequence[str], clock: Clock) -> tuple[Ran, Path | None]:
        """Runs a program under a tool; how that went, and where the recording is, which the caller is to remove.

        The program runs as `tracelode record` would run it; only the reading into an archive, which follows when the
        program has ended, is left out.
        """
        if tool.profiler or tool == NONE:
            return run([*command, *["--profiler"] * tool.profiler], self.environment, clock), None
        from tracelode.collect import record

        parent = Path(tempfile.mkdtemp(dir=self.folder))
        folder, environment = record.prepare(record.Options(**tool.options), parent, self.folder)
        changed = {name: value for name, value in environment.items() if value != os.environ.get(name)}
        return run(command, {**self.environment, **changed}, clock), folder

    def tracelode(self, words: Sequence[str], clock: Clock) -> Ran:
        """Runs a command of tracelode."""
        path = os.pathsep.join(filter(None, (str(self.root), self.environment.get("PYTHONPATH"))))
        return run([sys.executable, "-m", "tracelode", *words], {**self.environment, "PYTHONPATH": path}, clock)

    def steps(self, *words: str) -> list[str]:
        """The command that runs training steps; `LeftOut` without PyTorch."""
        if self.torch_python is None:
            raise LeftOut("no Python with PyTorch was found: name one with --python")
        return [self.torch_python, str(self.root / "benchmarks" / "gpu" / "steps.py"), *words]

    def forget(self, folder: Path | None) -> None:
        """Removes a recording."""
        if folder:
            shutil.rmtree(folder.parent, ignore_errors=True)
