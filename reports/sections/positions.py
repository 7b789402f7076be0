"""Which places of the iteration take longer than usual, and in which iterations."""

from ...mining.finding import Finding
from ...store.trace import Trace
from ..charts.heat import heat
from ..report import Block, Column, Section, Table
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


def section(trace: Trace, ask: Ask) -> Section:
    """The section."""
    return section_of("positions", "Iterations place by place", ask, "positions", _blocks)


def _blocks(found: Finding) -> tuple[Block, ...]:
    shows = (
        "Iterations from left to right, the operations of an iteration from top to bottom; coloured by the time they "
        "take, divided by the median of that place over the iterations."
    )
    drawn = pictures(found, "Time of each place in each iteration, divided by its median", heat, shows)
    sql = f"select * from ({found.sql})\norder by time_ns - usual_ns desc, process, place, iteration limit 25"
    far = found.rows.with_columns(more_ns=found.rows["time_ns"] - found.rows["usual_ns"])
    far = far.sort(["more_ns", "process", "place", "iteration"], descending=[True, False, False, False]).head(25)
    return (
        *drawn,
        Table("Places with the largest excess over their median", COLUMNS, far.drop("more_ns").to_dicts(), sql),
    )
