"""Judges how each memory object and tensor is used over the run: its class, and whether to pin or to offload it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...store.tables import TABLES
from ...store.trace import Trace
from ..managed_use import as_use, by_accesses, by_faults, uses
from ..use import judged, use_rules

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

VERSION = 2
NEEDS = ("uvm_events",)

LIFE = ("process", "granularity", "address", "bytes", "birth_ns")
"""What tells an allocation in two tables."""


def mine(trace: Trace) -> Mapping[str, "pa.Table"]:
    """The table `uvm_use`: by measured accesses where there are any, else by what came to a device; else nothing.

    What came to a device does not tell when it was last used, so that nothing says then what to pin or to offload.
    """
    import pyarrow as pa

    found, evidence = by_accesses(trace), "accesses"
    if found is None:
        found, evidence = by_faults(trace), "faults"
    if found is None:
        return {}
    objects, parts = found
    if evidence == "accesses" and trace.has("uvm_range"):
        objects = _with_ranges(trace, objects)
    measured = uses(objects, parts).to_dicts()
    said = [as_use(row) for row in measured]
    known = objects.to_dicts()
    rows = [
        {
            **{name: known[row["object"]].get(name) for name in ("process", "granularity", "kind", "owner", "range")},
            "address": known[row["object"]]["address"],
            "bytes": use.bytes,
            "evidence": evidence,
            "accesses": use.accesses,
            "windows": use.windows,
            "used_windows": use.used,
            "first_window": use.first,
            "last_window": use.last,
            "covered_bytes": use.covered_bytes,
            "persistence": use.persistence,
            "span": use.span,
            "density": use.density,
            "class": verdict.kind,
            "role": verdict.role if evidence == "accesses" else None,
        }
        for row, use, verdict in zip(measured, said, judged(said, use_rules()), strict=True)
    ]
    return {"uvm_use": pa.Table.from_pylist(rows, schema=TABLES["uvm_use"].schema)}


def _with_ranges(trace: Trace, objects: "pl.DataFrame") -> "pl.DataFrame":
    """The objects with the `range` of each, where faults or moves fell on it; in their order."""
    if "birth_ns" not in objects.columns:
        return objects  # blocks without an allocation
    ranges = trace.sql(f"select {', '.join(LIFE)}, min(range) as range from uvm_range group by all")
    return objects.join(ranges, on=LIFE, how="left", nulls_equal=True, maintain_order="left")
