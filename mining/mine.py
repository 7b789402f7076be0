"""Runs the analyses of `mining/analyses/` on a trace of an archive, each once, what it needs first.

What an analysis derives is kept under one number for its version and those of all it needs: whichever of them
changes, it runs again. What is mined with other options than the usual is kept in no archive, but in a `Scratch`.
"""

import inspect
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

from ..store.parts import load, names
from ..store.staging import Staging
from ..store.tables import TABLES, Kind
from ..store.trace import Trace
from .finding import Finding

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Keeper", "Scratch", "compare", "find", "mine", "miners", "version"]


class Keeper(Protocol):
    """Where derived tables are kept: an archive, or a scratch folder."""

    def open(self, prefix: str, /) -> Trace:
        """The trace of that id with all tables derived so far."""
        ...

    def has_derived(self, trace: Trace, analysis: str, version: int, /) -> bool:
        """Whether that version of the analysis has run on the trace."""
        ...

    def put_derived(
        self, trace: Trace, analysis: str, version: int, tables: Mapping[str, Any], /, *, over: bool = True
    ) -> Trace:
        """Keeps the tables an analysis derived; the trace with them. Without `over` those that are there stay."""
        ...


class Scratch:
    """A folder for what is mined with unusual options: only the traces it gives know of it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._traces: dict[str, Trace] = {}
        self._done: set[tuple[str, str]] = set()

    def bare(self, trace: Trace) -> Trace:
        """The trace with nothing mined but what is in this folder; from now on it is mined here."""
        if trace.id not in self._traces:
            files = {name: path for name, path in trace.files.items() if TABLES[name].kind is not Kind.MINED}
            self._traces[trace.id] = replace(trace, files=files)
        return self._traces[trace.id]

    def open(self, prefix: str, /) -> Trace:
        """The trace of that id with all tables derived so far."""
        return self._traces[prefix]

    def has_derived(self, trace: Trace, analysis: str, version: int, /) -> bool:
        """Whether the analysis has run on the trace."""
        return (trace.id, analysis) in self._done

    def put_derived(
        self, trace: Trace, analysis: str, version: int, tables: Mapping[str, Any], /, *, over: bool = True
    ) -> Trace:
        """Keeps the tables an analysis derived, over earlier ones; the trace with them."""
        self._folder.mkdir(parents=True, exist_ok=True)
        fresh = tempfile.mkdtemp(dir=self._folder)  # what was put there before may be in use
        folder = Path(fresh) / analysis / trace.id  # the views take the trace's id from the folder
        folder.parent.mkdir()
        staging = Staging(folder)
        for name, table in tables.items():
            staging.write(name, table)
        files = {name: folder / str(file["file"]) for name, file in staging.finish().items()}
        self._done.add((trace.id, analysis))
        self._traces[trace.id] = replace(trace, files={**trace.files, **files})
        return self._traces[trace.id]


def miners() -> Iterator[str]:
    """The names of the analyses that derive tables."""
    return (name for name in names("analysis") if hasattr(load("analysis", name), "mine"))


def mine(trace: Trace, keeper: Keeper, *analyses: str, **options: Any) -> Trace:
    """The trace with the tables of those analyses (all miners when none is named) and of what they need.

    An analysis that has run on the trace in its present version does not run again. An analysis whose input the
    source did not collect gives no table. Each analysis takes those of the `options` that it has; unless they are the
    usual ones the keeper must be a `Scratch`.
    """
    for name in analyses or tuple(miners()):
        trace = _mined(trace, keeper, load("analysis", name), name, options)
    return trace


def find(trace: Trace, keeper: Keeper, name: str, **options: Any) -> Finding:
    """The answer of that analysis; `NotCollected` when the trace lacks what it needs."""
    analysis = load("analysis", name)
    return analysis.find(mine(trace, keeper, *analysis.NEEDS, **options) if analysis.NEEDS else trace)


def compare(base: tuple[Trace, Keeper], other: tuple[Trace, Keeper], name: str, **options: Any) -> Finding:
    """What that comparison says of the other trace against the base; its tables are kept with the other trace.

    A table has the rows of all bases that the trace was compared with, told apart by the column `base`.
    """
    comparison = load("comparison", name)
    one, two = (mine(*side, *comparison.NEEDS, **options) for side in (base, other))
    number, keeper = _version(comparison), other[1]
    there = keeper.has_derived(two, name, number)
    if not there or not _holds(two, comparison.TABLE, one.id):
        tables = comparison.compare(one, two, **_taken(comparison.compare, options))
        if there:
            tables = {table: _joined(two, table, rows, one.id) for table, rows in tables.items()}
        two = keeper.put_derived(two, name, number, tables)
    return comparison.find(one, two)


def version(name: str) -> int:
    """The number under which the results of an analysis are kept: no other versions, of it and its needs, give it.

    It rises when any of them does.
    """
    return _version(load("analysis", name))


def _version(module: ModuleType) -> int:
    number: int = module.VERSION
    for needed in sorted(module.NEEDS):
        number = _paired(number, version(needed))
    return number


def _paired(one: int, other: int) -> int:
    """The pair as one number that no other pair gives, and that rises with either: Cantor's pairing function."""
    return (one + other) * (one + other + 1) // 2 + other


def _mined(trace: Trace, keeper: Keeper, analysis: ModuleType, name: str, options: Mapping[str, Any]) -> Trace:
    number = _version(analysis)
    if keeper.has_derived(trace, name, number):
        return keeper.open(trace.id)
    for needed in analysis.NEEDS:
        trace = _mined(trace, keeper, load("analysis", needed), needed, options)
    tables = analysis.mine(trace, **_taken(analysis.mine, options))
    return keeper.put_derived(trace, name, number, tables, over=False)  # another process may have been first


def _taken(function: Callable[..., Any], options: Mapping[str, Any]) -> dict[str, Any]:
    there = inspect.signature(function).parameters
    return {name: value for name, value in options.items() if name in there}


def _holds(trace: Trace, table: str, base: str) -> bool:
    """Whether a table of a comparison has rows of that base."""
    return base in trace.sql(f"select distinct base from {table}")["base"]


def _joined(trace: Trace, table: str, rows: "pa.Table", base: str) -> "pa.Table":
    """The rows with those of other bases before them."""
    import pyarrow as pa
    import pyarrow.compute

    compute: Any = pyarrow.compute  # its functions are made at import, so its types say nothing
    old = trace.arrow(table)
    return pa.concat_tables([old.filter(compute.not_equal(old["base"], base)).cast(rows.schema), rows])
