"""Plans prefetches for the next run, and simulates what they would do."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...store.errors import NotCollected
from ...store.tables import TABLES
from ...store.trace import Trace
from ..managed_pages import LEAF_BYTES
from ..planned import plan_of

if TYPE_CHECKING:
    import pyarrow as pa

VERSION = 1
NEEDS = ("uvm_events",)


def mine(trace: Trace) -> Mapping[str, "pa.Table"]:
    """The table `uvm_plan`, of one row; nothing where neither accesses nor faults say what kernels touch."""
    import pyarrow as pa

    try:
        made = plan_of(trace)
    except NotCollected:
        return {}
    plan = made.plan
    row = {
        "process": made.process,
        "level": plan.level,
        "evidence": plan.evidence,
        "capacity_bytes": plan.capacity_bytes,
        "capacity_source": "device" if made.is_known else "touched",
        "look_ahead": plan.look_ahead,
        "steps": len(plan.steps),
        "bytes": plan.bytes,
        "left_out_bytes": made.left_out * LEAF_BYTES,
        "faults": made.outcome.faults,
        "faults_without": made.without.faults,
        "why_empty": plan.why_empty,
    }
    return {"uvm_plan": pa.Table.from_pylist([row], schema=TABLES["uvm_plan"].schema)}
