"""Simulates what would move on devices of several sizes, on demand and with plans that prefetch."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...store.tables import TABLES
from ...store.trace import Trace
from ..managed_links import link
from ..managed_pages import LEAF_BYTES
from ..managed_steps import program
from ..simulated import Costs, simulated
from ..uvm_rules import uvm_rules

if TYPE_CHECKING:
    import pyarrow as pa

VERSION = 2
NEEDS = ("uvm_events",)

SERVICE = """
select quantile_disc(end_ns - start_ns, 0.5) from uvm_event where kind = 'gpu_fault' and end_ns is not null
"""


def mine(trace: Trace) -> Mapping[str, "pa.Table"]:
    """The table `uvm_simulation`; nothing where neither accesses nor faults say what kernels touch."""
    import pyarrow as pa

    rules = uvm_rules("residency")
    told = program(trace)
    if told is None:
        return {}
    costs = _costs(trace)
    rows = [
        {
            "process": told.process,
            "policy": run.policy,
            "oversubscription": run.factor,
            "footprint_bytes": told.footprint,
            "capacity_bytes": run.capacity * LEAF_BYTES,
            "steps": len(told.steps),
            "kernels": told.kernels,
            "all_kernels": told.whole,
            "faults": run.outcome.faults,
            "moved_bytes": run.outcome.moved * LEAF_BYTES,
            "prefetched_bytes": run.outcome.prefetched * LEAF_BYTES,
            "again_bytes": run.outcome.again * LEAF_BYTES,
            "evicted_bytes": run.outcome.evicted * LEAF_BYTES,
            "wasted_bytes": run.outcome.wasted * LEAF_BYTES,
            "skipped_bytes": run.outcome.skipped * LEAF_BYTES,
            **dict(zip(("least_ns", "most_ns"), run.times(costs), strict=True)),
            **vars(costs),
            "evidence": told.evidence,
        }
        for run in simulated(
            told, tree_share=rules["tree_share"], tensor_bytes=int(uvm_rules("prefetch")["tensor_bytes"])
        )
    ]
    return {"uvm_simulation": pa.Table.from_pylist(rows, schema=TABLES["uvm_simulation"].schema)}


def _costs(trace: Trace) -> Costs:
    """What faults and moves of the trace take, where they were recorded; else what the file assumes."""
    rules = uvm_rules("residency")
    service = trace.sql(SERVICE).item() if trace.has("uvm_event") else None
    there = link(trace) if trace.has("uvm_event") else {}
    speed = max((speed for (_, _, kind), speed in there.items() if kind == "HtoD"), default=None)
    return Costs(
        int(service or rules["fault_ns"]),
        int(speed or rules["link_bytes"]),
        "measured" if service else "assumed",
        "measured" if speed else "assumed",
    )
