"""Which places of the iteration take longer than usual, and in which iterations."""

from dataclasses import replace

from ...mining.finding import Finding
from ...mining.slow import DEVIATIONS, LEAST_EXCESS, ROBUST
from ...store.trace import Trace
from ..charts.heat import heat
from ..report import Block, Column, Section, Table, Text
from ..shown import Ask, pictures, section_of

__all__ = ["section"]

COLUMNS = (
    Column("process", "Process", "id"),
    Column("longest_iteration", "Iteration", "id"),
    Column("first_position", "From operation", "id"),
    Column("last_position", "To operation", "id"),
    Column("name", "Most of its time in"),
    Column("time_ns", "Time", "ns"),
    Column("usual_ns", "Median", "ns"),
    Column("ratio", "Times the median", "ratio"),
)

MOST = 25
FAR = f"""
select * from (
{{sql}}
)
qualify time_ns - usual_ns > greatest(
    {DEVIATIONS} * {ROBUST} * median(abs(time_ns - usual_ns)) over (partition by process, place),
    {LEAST_EXCESS} * usual_ns
)
order by time_ns - usual_ns desc, process, place, iteration
limit {MOST}
"""


def section(trace: Trace, ask: Ask) -> Section:
    """The section."""
    return section_of("positions", "Iterations place by place", ask, "positions", _blocks)


def _blocks(found: Finding) -> tuple[Block, ...]:
    shows = (
        "Iterations from left to right, the operations of an iteration from top to bottom; coloured by the time they "
        "take, divided by the median of that place over the iterations."
    )
    drawn = pictures(found, "Time of each place in each iteration, divided by its median", heat, shows)
    far = _far(found)
    if not len(far.rows):
        return (*drawn, Text("No place takes longer than its median by more than noise."))
    return (*drawn, Table("Places with the largest excess over their median", COLUMNS, far.rows.to_dicts(), far.sql))


def _far(found: Finding) -> Finding:
    """The places and iterations beyond noise, by the rule for slow iterations, the largest excess first."""
    import polars as pl

    more = pl.col("time_ns") - pl.col("usual_ns")
    noise = DEVIATIONS * ROBUST * more.abs().median().over("process", "place")
    far = found.rows.filter(more > pl.max_horizontal(noise, LEAST_EXCESS * pl.col("usual_ns")))
    order = [more, pl.col("process"), pl.col("place"), pl.col("iteration")]
    rows = far.sort(order, descending=[True, False, False, False]).head(MOST)
    return replace(found, rows=rows, sql=FAR.format(sql=found.sql).strip())
