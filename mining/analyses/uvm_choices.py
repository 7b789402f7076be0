"""Decides for each range of managed memory what to do about it, and what that could save."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...store.tables import TABLES
from ...store.trace import Trace
from ..managed_advice import Advice, Saving, advise, chosen, lines, saving
from ..managed_ahead import Starts, starts
from ..managed_kernels import Kernels, Lane
from ..managed_links import link
from ..managed_needs import Need, needs
from ..managed_vendors import ordinals
from ..uvm_rules import uvm_rules

if TYPE_CHECKING:
    import pyarrow as pa

VERSION = 3
NEEDS = ("uvm_events", "uvm_uses")

ROLES = "select range, role from uvm_use where evidence = 'accesses' and range is not null"
MEMORY = "select process, device, memory_bytes from device"


def mine(trace: Trace) -> Mapping[str, "pa.Table"]:
    """The table `uvm_advice`, the most that could be saved first; nothing where nothing of managed memory was recorded.

    Advice is on whole objects, or on the tensors in them where a prefetch of the object would be mostly waste.
    """
    import pyarrow as pa

    if not trace.has("uvm_range"):
        return {}
    roles = dict(trace.sql(ROLES).rows()) if trace.has("uvm_use") else {}
    memory = {(row[0], row[1]): row[2] for row in trace.sql(MEMORY).rows()} if trace.has("device") else {}
    speeds, kernels, rules = link(trace), starts(Kernels.of(trace)), uvm_rules("advice")
    called = ordinals(trace)
    rows: list[dict[str, Any]] = []
    for need, offset in chosen(needs(trace), memory, uvm_rules("prefetch")):
        lane = (need.process, need.device)
        advice = advise(need, roles.get(need.range), memory.get(lane), rules)
        saved = saving(advice, need, speeds.get((*lane, "HtoD")), speeds.get((*lane, "DtoH")))
        told = lines(advice, replace(need, device=called.get(lane, need.device)), offset)
        rows.append(_row(advice, need, saved, kernels) | dict(zip(("cuda", "hip"), told, strict=True)))
    rows.sort(key=lambda row: (-(row["saves_most_ns"] or 0), row["action"] == "leave", row["range"]))
    numbered = [row | {"advice": number} for number, row in enumerate(rows)]
    return {"uvm_advice": pa.Table.from_pylist(numbered, schema=TABLES["uvm_advice"].schema)}


def _row(advice: Advice, need: Need, saved: Saving, kernels: Mapping[Lane, Starts]) -> dict[str, Any]:
    last = advice.action == "offload"
    row: dict[str, Any] = {
        **{name: getattr(need, name) for name in ("range", "process", "device", "executions")},
        **{name: getattr(advice, name) for name in ("action", "bytes", "rule", "confidence")},
        "cost_ns": need.cost_ns if need.kernel_ns else None,
        "level": need.granularity,
        "kernel": need.last_kernel if last else need.kernel,
        "occurrence": need.last_occurrence if last else need.occurrence,
        "operator": need.last_operator if last else need.operator,
        "transfer_ns": saved.transfer_ns,
        "saves_least_ns": saved.least_ns,
        "saves_most_ns": saved.most_ns,
        "evidence": "accesses" if advice.measured else "faults" if need.faults else "moves",
    }
    if advice.action == "prefetch" and need.kernel is not None and need.device is not None:
        there = kernels[need.process, need.device]
        early = there.ahead((need.kernel, need.occurrence or 0), saved.transfer_ns or 0)
        if early is not None:
            row |= dict(zip(("ahead_kernel", "ahead_occurrence", "ahead_ns"), early, strict=True))
    return row
