"""Runs the analyses of `mining/analyses/` on a trace of an archive, each once, what it needs first."""

from collections.abc import Iterator
from types import ModuleType

from ..store.archive import Archive
from ..store.parts import load, names
from ..store.trace import Trace
from .finding import Finding

__all__ = ["find", "mine", "miners"]


def miners() -> Iterator[str]:
    """The names of the analyses that derive tables."""
    return (name for name in names("analysis") if hasattr(load("analysis", name), "mine"))


def mine(trace: Trace, archive: Archive, *analyses: str) -> Trace:
    """The trace with the tables of those analyses (all miners when none is named) and of what they need.

    An analysis that has run on the trace in its present version does not run again. An analysis whose input the
    source did not collect gives no table.
    """
    for name in analyses or tuple(miners()):
        trace = _mined(trace, archive, load("analysis", name), name)
    return trace


def find(trace: Trace, archive: Archive, name: str) -> Finding:
    """The answer of that analysis; `NotCollected` when the trace lacks what it needs."""
    analysis = load("analysis", name)
    return analysis.find(mine(trace, archive, *analysis.NEEDS) if analysis.NEEDS else trace)


def _mined(trace: Trace, archive: Archive, analysis: ModuleType, name: str) -> Trace:
    if archive.has_derived(trace, name, analysis.VERSION):
        return archive.open(trace.id)
    for needed in analysis.NEEDS:
        trace = _mined(trace, archive, load("analysis", needed), needed)
    return archive.put_derived(trace, name, analysis.VERSION, analysis.mine(trace))
