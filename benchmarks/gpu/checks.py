"""Compares what was recorded with what the program says it did."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.gpu.recorded import Recorded
from benchmarks.gpu.running import Ran

__all__ = ["of_clock", "of_launches", "of_steps", "same"]

Check = dict[str, Any]


def _equal(what: str, launched: object, recorded: object) -> Check:
    return {"check": what, "launched": launched, "recorded": recorded, "ok": launched == recorded}


def _between(what: str, least: float, value: float, most: float) -> Check:
    return {"check": what, "least": least, "recorded": round(value, 3), "most": most, "ok": least <= value <= most}


def of_launches(told: Mapping[str, Any], recorded: Recorded, *, nodes: bool) -> list[Check]:
    """Whether all that launch.cu launched is there, and no more, and whether the spans can be true."""
    launched, counts = told["launched"], recorded.counts()
    copies, copied = recorded.copies_in()
    found = [_equal(f"kernels {name}", number, counts.pop(name, 0)) for name, number in launched["kernels"].items()]
    for name, number in launched["graph_nodes"].items():
        found.append(_equal(f"kernels {name} of graphs", number if nodes else 0, counts.pop(name, 0)))
    found += [
        _equal("kernels that it did not launch", {}, counts),
        _equal("graph launches", 0 if nodes else launched["graph_launches"], recorded.rows("graph_launch")),
        _equal("copies to the device", launched["copies"], copies),
        _equal("bytes of these", launched["copied_bytes"], copied),
    ]
    spin, step = recorded.kernels.get("tracelode_spin"), told["timer_step_ns"]
    section = next((one for one in told["sections"] if one["name"] == "10 us kernels"), None)
    if spin and section:
        asked, begin, end = told["spin_ns"], section["begin_ns"], section["end_ns"]
        within = len(spin.within(begin, end))
        found += [
            _between("mean ns of a 10 us kernel", asked - step, spin.total_ns / len(spin), 1.5 * asked),
            _equal("of these in the time in which they ran", len(spin), within),
            _between("ns of all of these", len(spin) * (asked - step), spin.total_ns, end - begin),
        ]
    return found


def of_clock(told: Mapping[str, Any], recorded: Recorded) -> dict[str, Any]:
    """How far the recorded times of the markers are off, in ns.

    With an error e in the recorded times, a marker's recorded begin is at most the time of its first instruction plus
    e, and its recorded end at least that of its last plus e. So e lies between `begin - first` and `end - last`, and
    the one farther from 0 bounds it: that is a marker's residual. `constant_offset` is what e would have to be to fit
    all markers, had it always been the same; null where no one offset does.
    """
    markers = told["markers"]
    spans = recorded.kernels.get("tracelode_marker")
    if spans is None or len(spans) != len(markers) + 1:  # one more, which loads the module
        return {"markers": len(markers), "recorded": len(spans) if spans else 0}
    begins, ends = spans.start[1:].tolist(), spans.end[1:].tolist()
    lower = [begin - first for begin, (_, first, _, _) in zip(begins, markers, strict=True)]
    upper = [end - last for end, (_, _, last, _) in zip(ends, markers, strict=True)]
    residuals = sorted(max(abs(low), abs(high)) for low, high in zip(lower, upper, strict=True))
    outside = sum(
        not launched <= begin <= end <= ended
        for begin, end, (launched, _, _, ended) in zip(begins, ends, markers, strict=True)
    )
    uncertainty, worst = told["uncertainty_ns"], residuals[-1]
    return {
        "markers": len(markers),
        "recorded": len(markers),
        "begin_less_first_instruction_ns": _spread(lower),
        "end_less_last_instruction_ns": _spread(upper),
        "constant_offset_ns": [max(lower), min(upper)] if max(lower) <= min(upper) else None,
        "outside_launch_and_wait": outside,
        "residual_ns": {"median": residuals[len(residuals) // 2], "worst": worst},
        "uncertainty_ns": uncertainty,
        "claim_ns": max(uncertainty, worst),
    }


def _spread(values: Sequence[int]) -> dict[str, float]:
    return {"least": min(values), "median": statistics.median(values), "most": max(values)}


def of_steps(told: Mapping[str, Any], recorded: Recorded) -> dict[str, dict[str, float]]:
    """Of each section the kernels and the graph launches of a step, and which part of the time a kernel ran."""
    begins = recorded.column("graph_launch", "start")
    found: dict[str, dict[str, float]] = {}
    for section in told["sections"]:
        begin, end, steps = section["begin_ns"], section["end_ns"], section["steps"]
        spans = recorded.every_kernel.within(begin, end)
        found[section["name"]] = {
            "kernels": len(spans) / steps,
            "graph_launches": int(((begin <= begins) & (begins <= end)).sum()) / steps,
            "busy": round(spans.busy_ns / (end - begin), 4),
        }
    return found


def same(without: Ran, under: Ran, *, errors: bool = True) -> list[Check]:
    """Whether a program ended as ever and wrote what it ever writes, also on standard error if that is asked."""
    found: list[Check] = [
        {"check": "exit status", "without": without.status, "with": under.status, "ok": without.status == under.status},
        {"check": "output", "bytes": len(without.output), "ok": without.output == under.output},
    ]
    if errors:
        more = [line for line in under.told.splitlines() if line not in without.told.splitlines()]
        found.append({"check": "standard error", "lines_more": more[:10], "ok": without.told == under.told})
    return found
