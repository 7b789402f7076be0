"""The category of each kernel of a trace by its name: judged once for all analyses, which share it."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from ..store.kinds import categories_of, rules_mark
from ..store.query import run
from ..store.trace import Trace
from .columns import state_of

__all__ = ["LEAVES", "judged", "kernel_categories"]

LEAVES = {"communication": 1, "copy": 2, "fill": 2}
"""What a kernel does by its category: 1 communicates, 2 copies, all others compute (0)."""


def kernel_categories(trace: Trace) -> Mapping[str | None, str]:
    """The category of each name that kernels have, by the rules in force; empty without kernels."""
    if not trace.has("kernel"):
        return {}
    file = trace.files["kernel"]
    return judged(trace.id, file, state_of(file), rules_mark())


@lru_cache(maxsize=1)  # one analysis after the other asks for those of the same trace
def judged(trace_id: str, file: Path, state: tuple[int, ...], mark: str) -> Mapping[str | None, str]:
    """The category of each name in a file of kernels in that state, under the rules with that mark."""
    return categories_of(run({trace_id: {"kernel": file}}, "select distinct name from kernel")["name"])
