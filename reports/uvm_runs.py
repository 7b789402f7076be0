"""What `report uvm` does with more than its trace: a second run to compare with, a plan to write."""

from dataclasses import replace
from pathlib import Path

from ..mining.mine import compare, find, mine
from ..mining.plan import write_plan
from ..mining.planned import plan_of
from ..store.archive import Archive
from ..store.trace import Trace
from .one_trace import open_trace
from .report import Report
from .sections import uvm_effect

__all__ = ["planned", "with_effect"]


def with_effect(report: Report, trace: Trace, archive: Archive, after: str, archive_path: Path) -> Report:
    """The report with what changed in a second run before all else; `after` names its trace as commands do."""
    other = open_trace(after, archive_path)
    section = uvm_effect.section(compare((trace, archive), other, "uvm_effect"))
    return replace(report, verdict=f"{section.sentence} Before: {report.verdict}", sections=(section, *report.sections))


def planned(trace: Trace, archive: Archive) -> tuple[bytes, str]:
    """The plan of prefetches for the trace as a file, and what the report says of it."""
    told = find(trace, archive, "uvm_plan")
    plan = plan_of(mine(trace, archive, "uvm_events")).plan
    return write_plan(plan).encode(), " ".join([told.sentence, *told.notes])
