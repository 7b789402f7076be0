"""What `report uvm` does with more than its trace: a second run to compare with, a plan to write."""

from dataclasses import replace
from pathlib import Path

from ..mining.managed_pages import LEAF_BYTES
from ..mining.mine import compare, mine
from ..mining.plan import write_plan
from ..mining.planned import plan_of
from ..mining.words import plural
from ..store.archive import Archive
from ..store.trace import Trace
from .one_trace import open_trace
from .report import Report
from .sections import uvm_effect
from .units import show

__all__ = ["planned", "with_effect"]


def with_effect(report: Report, trace: Trace, archive: Archive, after: str, archive_path: Path) -> Report:
    """The report with what changed in a second run before all else; `after` names its trace as commands do."""
    other = open_trace(after, archive_path)
    section = uvm_effect.section(compare((trace, archive), other, "uvm_effect"))
    return replace(report, verdict=f"{section.sentence} Before: {report.verdict}", sections=(section, *report.sections))


def planned(trace: Trace, archive: Archive) -> tuple[bytes, str]:
    """The plan of prefetches for the trace as a file, and what to say of it."""
    made = plan_of(mine(trace, archive, "uvm_events"))
    plan, outcome = made.plan, made.outcome
    if plan.why_empty is not None:
        return write_plan(plan).encode(), f"plan: empty, since {plan.why_empty}"
    said = (
        f"plan: {plural(len(plan.steps), 'step')}, {show(plan.bytes, 'bytes')} by {plan.level}; simulated: "
        f"{outcome.faults} faults of 64 KiB against {made.without.faults} without it"
    )
    lost = f"; {show(made.left_out * LEAF_BYTES, 'bytes')} left out: no name tells them in another run"
    return write_plan(plan).encode(), said + lost if made.left_out else said
