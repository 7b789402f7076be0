"""What the time of each iteration is spent on."""

from ...mining.finding import Finding
from ...store.trace import Trace
from ..charts.iterations import stacked_time
from ..report import Block, Column, Section
from ..shown import Ask, pictures, section_of, table

__all__ = ["section"]


def section(trace: Trace, ask: Ask) -> Section:
    """The section."""
    return section_of("breakdown", "Time of each iteration", ask, "breakdown", _blocks)


def _blocks(found: Finding) -> tuple[Block, ...]:
    columns = (
        Column("process", "Process", "id"),
        Column("device", "Device", "id"),
        Column("iteration", "Iteration", "id"),
        Column("state", "State"),
        Column("time_ns", "Time", "ns"),
        Column("iteration_ns", "Iteration", "ns"),
    )
    shows = "Stacked time of each iteration: compute, exposed communication, exposed copy, idle."
    drawn = pictures(found, "Time of each iteration by state", stacked_time, shows)
    return (*drawn, table("Time of each iteration by state", columns, found))
