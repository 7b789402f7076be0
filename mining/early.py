"""The time before iterations are steady: which iteration is the first steady one, and what is told as warm-up."""

from dataclasses import dataclass

from ..store.parts import load
from ..store.trace import Trace
from .levels import MAIN
from .slow import JUDGED

__all__ = ["Early", "early"]

JUDGED_STEADY = f"""
    with {JUDGED.strip()}
    select process, min(iteration) as first
    from judged
    where phase <> 'warm-up' and iteration >= coalesce(first_usual, 0)
    group by process
"""
STEADY = f"""
    select process, min(iteration) as first
    from iteration
    semi join ({MAIN}) as main using (process, level)
    where phase <> 'warm-up'
    group by process
"""


@dataclass(frozen=True)
class Early:
    """SQL of two tables: `steady` has the first steady iteration of each process, `warm` the stretch told as warm-up.

    The columns are `process` and `first`, and `process`, `device`, `from_ns` and `until_ns`.
    """

    steady: str
    warm: str


def early(trace: Trace, *, warm: bool) -> Early:
    """The two tables for a trace with iterations; with `warm` false nothing is told as warm-up.

    What the diagnosis of warm-up counts on a device, no other should count there again.
    """
    steady = JUDGED_STEADY if trace.has("unit") else STEADY
    return Early(steady, _warm(trace) if warm else _stretches([]))


def _warm(trace: Trace) -> str:
    import polars as pl

    rows: list[tuple[int, ...]] = []
    for told in load("diagnosis", "warm_up").diagnose(trace):
        places = told.rows.group_by("process", "device")
        ends = places.agg(pl.col("at_ns").min(), (pl.col("at_ns") + pl.col("time_ns")).max().alias("until_ns"))
        rows += ends.sort("process", "device").rows()
    return _stretches(rows)


def _stretches(rows: list[tuple[int, ...]]) -> str:
    columns = "null::bigint as process, null::integer as device, null::bigint as from_ns, null::bigint as until_ns"
    return " union all ".join(
        [f"select {columns} where false", *(f"select {', '.join(map(str, row))}" for row in rows)]
    )
