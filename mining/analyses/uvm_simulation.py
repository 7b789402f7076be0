"""What would move if the device held less, and would prefetching objects or tensors help?"""

from typing import Any

from ...store.errors import NotCollected
from ...store.trace import Trace
from ..finding import Finding
from ..managed_vendors import is_amd, touches_hint
from ..words import count, duration, plural, size

NEEDS = ("uvm_simulations",)

SQL = """
select
    process,
    oversubscription,
    policy,
    capacity_bytes,
    footprint_bytes,
    steps,
    kernels,
    all_kernels,
    faults,
    moved_bytes,
    prefetched_bytes,
    again_bytes,
    evicted_bytes,
    wasted_bytes,
    skipped_bytes,
    least_ns,
    most_ns,
    fault_ns,
    fault_source,
    bytes_per_s,
    link_source,
    evidence
from uvm_simulation
order by process, oversubscription, policy
"""

COST = {"measured": "a measured", "assumed": "an assumed"}
FAULT = {
    "measured": "{} a fault (measured: the median of the fault groups of devices that have an end)",
    "assumed": "an assumed {} a fault (thresholds in uvm.toml)",
}
LINK = {
    "measured": "{}/s of the link (measured: the large moves to devices)",
    "assumed": "an assumed {}/s of the link (thresholds in uvm.toml)",
}


def find(trace: Trace) -> Finding:
    """Simulated moves by oversubscription and policy; times from a fault's and the link's, prefetches hidden or not.

    Nothing in these rows was measured but the touches, the time of a fault and the speed of the link, where the trace
    has them. From faults only first touches are known: what a smaller device would fault again is then left out.
    """
    if not trace.has("uvm_simulation"):
        raise NotCollected("what kernels touch of managed memory", touches_hint(trace))
    rows = trace.sql(SQL)
    first = rows.row(0, named=True)
    fault, link = FAULT[first["fault_source"]], LINK[first["link_source"]]
    notes = [
        "Simulated: leaves of 64 KiB, blocks of 2 MiB, least recently used goes. Times come from "
        f"{fault.format(duration(first['fault_ns']))} and {link.format(size(first['bytes_per_s']))}. Plans are "
        "followed blindly, without look-ahead, as PASTA's are.",
    ]
    if is_amd(trace):
        notes.append(
            "The driver's tree is that of NVIDIA's driver. AMD's has none: for a fault it moves the aligned stretch "
            "around it, of 2 MiB where the program sets nothing else."
        )
    if first["evidence"] == "faults":
        notes.append(
            "Touches are those of faults and moves: pages that were there are not seen in use, so faults and bytes are "
            "lower bounds. Times are no bound: each fault is charged alone, while the driver services several at once."
        )
    if first["kernels"] < first["all_kernels"]:
        whole = plural(first["all_kernels"], "kernel")
        notes.append(f"Only the first {count(first['kernels'])} of {whole} are simulated.")
    told = [_said(rows.to_dicts(), factor) for factor in (1.0, 3.0)]
    cost = f"{COST[first['fault_source']]} {duration(first['fault_ns'])} a fault"
    sentence = f"Simulated over {plural(first['steps'], 'step')} at {cost}: {'; '.join(told)}."
    return Finding("uvm_simulation", sentence, rows, SQL.strip(), tuple(notes))


def _said(rows: list[dict[str, Any]], factor: float) -> str:
    """The policy that takes least where no prefetch is hidden, at an oversubscription."""
    there = [row for row in rows if row["oversubscription"] == factor]
    best = min(there, key=lambda row: (row["most_ns"], row["policy"]))
    base = next(row for row in there if row["policy"] == "on demand")
    what = f"{best['policy']} is best, {duration(best['most_ns'])}"
    if best["policy"] != "on demand":
        what += f" against {duration(base['most_ns'])} on demand"
    fits = "the device holds all" if factor <= 1 else f"oversubscribed {factor:g} times"
    return f"where {fits}, {what}"
