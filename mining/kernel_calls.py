"""The calls of kernels, and which of them lie in iterations: as SQL, and as a table that is read once."""

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..store.columns import NO_START
from ..store.kinds import rules_mark
from ..store.query import run
from ..store.trace import Trace
from .categories import judged
from .columns import numbers, state_of, words
from .levels import MAIN
from .sorting import Ints

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

__all__ = ["PER_ITERATION", "calls", "of_calls"]

CALLS = """
select
    coalesce(name, '(no name)') as name,
    category,
    duration_ns,
    {inside} as inside,
    {steps} as steps
from kernel{joined}
"""
STEP = f"""
select process, from_ns, end_ns from iteration join ({MAIN}) as main using (process, level)
"""
JOINED = f"""
asof left join ({STEP}) as step
    on kernel.process = step.process and kernel.start_ns >= step.from_ns"""

PER_ITERATION = """count(*) filter (inside) / nullif(any_value(steps), 0) as calls_per_iteration,
    sum(duration_ns) filter (inside) / nullif(any_value(steps), 0) as time_per_iteration_ns"""
"""SQL: what a group of calls costs an iteration; null where there are none."""


def calls(trace: Trace) -> str:
    """A query of all kernels: name, category, duration, whether one starts in a main iteration, and how many are these.

    An iteration is taken with the wait before it, as `iteration.from_ns` says; `steps` is the number of all main
    iterations of the trace.
    """
    if not trace.has("iteration"):
        return CALLS.format(inside="false", steps="0", joined="").strip()
    inside = "coalesce(kernel.start_ns < step.end_ns and flaw is distinct from 'no start', false)"
    return CALLS.format(inside=inside, steps=f"(select count(*) from ({STEP.strip()}))", joined=JOINED).strip()


def of_calls(trace: Trace, query: str) -> "pl.DataFrame":
    """The rows of a query with `{calls}` in it, for which what `calls` gives is read without a join."""
    if not trace.has("kernel"):
        return trace.sql(query.format(calls=calls(trace)))  # says what is missing
    files = {name: file for name, file in trace.files.items() if name in ("iteration", "kernel", "level")}
    state = tuple(state_of(file) for file in files.values())
    there, steps = _table(trace.id, tuple(files.items()), state, rules_mark())
    return run({}, query.format(calls=f"select *, {steps} as steps from call"), beside={"call": there})


@lru_cache(maxsize=1)  # one analysis after the other asks for those of the same trace
def _table(
    trace_id: str, files: tuple[tuple[str, Path], ...], state: tuple[tuple[int, ...], ...], mark: str
) -> "tuple[pa.Table, int]":
    """What the query of `calls` gives, but for `steps`, and these."""
    import pyarrow as pa

    file = dict(files)["kernel"]
    columns = numbers(file, ("process", "start_ns", "duration_ns"))
    flaw, called = words(file, "flaw"), words(file, "name")
    kinds = judged(trace_id, file, state_of(file), mark)
    inside, steps = np.zeros(len(called.code), bool), 0
    if "iteration" in dict(files):
        step = run({trace_id: dict(files)}, STEP)
        inside, steps = _inside(columns, step) & ~flaw.are(NO_START), len(step)
    code = pa.array(called.code)
    names = ["(no name)" if text is None else text for text in called.texts]
    categories = [kinds.get(text, "") for text in called.texts]
    rows = {
        "name": pa.DictionaryArray.from_arrays(code, names),
        "category": pa.DictionaryArray.from_arrays(code, categories),
        "duration_ns": pa.array(columns["duration_ns"], mask=~flaw.are(None)),
        "inside": inside,
    }
    return pa.table(rows), steps


def _inside(kernels: dict[str, Ints], step: "pl.DataFrame") -> npt.NDArray[np.bool_]:
    """Which kernels start in a step of their process."""
    process, start = kernels["process"], kernels["start_ns"]
    found = np.zeros(len(start), bool)
    for (owner,), part in step.sort("process", "from_ns").partition_by("process", as_dict=True).items():
        begin, end = part["from_ns"].to_numpy(), part["end_ns"].to_numpy()
        own = np.flatnonzero(process == owner)
        at = np.searchsorted(begin, start[own], "right") - 1
        found[own] = (at >= 0) & (start[own] < end[at])
    return found
