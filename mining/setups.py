"""What a set-up (device, number of processes, settings) does with a program, and which of several is the quickest."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from ..store.trace import Trace
from .levels import MAIN
from .slow import ROBUST
from .words import duration, percent

__all__ = ["INSUFFICIENT", "Setup", "best", "setup_of"]

INSUFFICIENT = "insufficient data"
"""What is said where fewer than two set-ups were measured: no advice without measurements."""

FEWEST = 5
"""Steady iterations that a measurement consists of, at least."""
LEAST, DEVIATIONS = 0.03, 3
"""A set-up is quicker if its iterations take less by this share and by so many standard errors of the medians."""
EFFICIENCY = 1.2533
"""Standard error of a median, of normally distributed values: 1.2533 times the deviation over the root of the count."""

SQL = f"""
with main as ({MAIN}),
steady as (
    select iteration.process, time_ns, operations
    from iteration
    join main using (process, level)
    where phase = 'steady'
),
usual as (
    select process, median(time_ns) as median_ns from steady group by process
)
select
    steady.process,
    count(*) as iterations,
    any_value(median_ns)::bigint as median_ns,
    median(abs(time_ns - median_ns))::bigint as mad_ns,
    median(operations)::bigint as operations
from steady
join usual using (process)
group by steady.process
order by median_ns desc, steady.process
"""
"""SQL: the steady iterations of each process, the slowest process first: the others wait for it."""

DEVICES = """
select string_agg(distinct coalesce(name, 'name not recorded'), ', ') as names
from device
semi join (select distinct process, device from segment) as used using (process, device)
"""


@dataclass(frozen=True)
class Setup:
    """A measured set-up: its name, the devices used, and the steady iterations of its slowest process."""

    name: str
    device: str
    processes: int
    iterations: int
    median_ns: int
    mad_ns: int
    operations: int

    @property
    def error_ns(self) -> float:
        """The standard error of the median, from the median absolute deviation."""
        return EFFICIENCY * ROBUST * self.mad_ns / sqrt(self.iterations)


def setup_of(trace: Trace, name: str) -> Setup | None:
    """The set-up that a trace measured; None where it has too few steady iterations to be a measurement."""
    if not trace.has("iteration"):
        return None
    rows = trace.sql(SQL)
    if not len(rows) or rows["iterations"][0] < FEWEST:
        return None
    device = trace.sql(DEVICES)["names"][0] if trace.has("device") and trace.has("segment") else None
    first = rows.row(0, named=True)
    return Setup(
        name,
        device or "name not recorded",
        len(rows),
        first["iterations"],
        first["median_ns"],
        first["mad_ns"],
        first["operations"],
    )


def best(setups: Sequence[Setup]) -> str:
    """Which set-up is the quickest and by how much, or that none is: never more than was measured."""
    if len(setups) < 2:
        return INSUFFICIENT
    ordered = sorted(setups, key=lambda one: (one.median_ns, one.name))
    first, second = ordered[:2]
    gain = second.median_ns - first.median_ns
    error = sqrt(first.error_ns**2 + second.error_ns**2)
    told = "; ".join(
        f"{one.name} ({one.device}): {duration(one.median_ns)} ± {duration(one.error_ns)}" for one in ordered
    )
    if gain <= max(LEAST * second.median_ns, DEVIATIONS * error):
        return f"No set-up is quicker by more than chance and {LEAST:.0%}: the median iteration takes {told}."
    return (
        f"{first.name} is the quickest set-up: the median iteration takes {duration(gain)} "
        f"({percent(gain, second.median_ns)}) less than with {second.name}; {told}."
    )
