"""Writes a run as rocprof, the first of AMD's profilers, does with --hip-trace: `results.json`."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .amd import CPU, GPU, calls, marks
from .records import Copy, Fill
from .run import Run

__all__ = ["write_rocprof"]

ROCTX, COPY, HIP, FIRST_GPU = 0, 1, 2, 6
"""The lanes: process ids of the file, which have nothing to do with the program's."""

SYSTEM = {
    "CMD": "rocminfo",
    "HSASystemAttributes.RuntimeVersion": "1.13",
    "HSASystemAttributes.SystemTimestampFreq.": "1000.000000MHz",
    "Agent1.Name": "AMDEPYC965496-CoreProcessor",
    "Agent1.DeviceType": "CPU",
    "Agent1.Node": str(CPU),
    "Agent2.Name": "gfx942",
    "Agent2.MarketingName": "AMDInstinctMI300X",
    "Agent2.DeviceType": "GPU",
    "Agent2.Node": str(GPU),
    "Agent2.MaxClockFreq.(MHz)": "2100",
    "Agent2.ComputeUnit": "304",
    "Agent2.PoolInfo.Pool1.Segment": "GLOBAL;FLAGS:COARSEGRAINED",
    "Agent2.PoolInfo.Pool1.Size": "201310208(0xbffc000)KB",
}
DIRECTIONS = {"HtoD": "CopyHostToDevice", "DtoH": "CopyDeviceToHost"}


def write_rocprof(run: Run, path: Path) -> None:
    """Writes the run as text: one event a line, ids as text, and the lines of rocminfo behind them."""
    body = "".join(f",{json.dumps(event)}\n" for event in _events(run))
    path.write_text(f'{{ "traceEvents":[{{}}\n{body}],\n"otherData": {json.dumps(SYSTEM, indent=4)}\n}}\n')


def _events(run: Run) -> Iterator[dict[str, Any]]:
    lanes = (HIP, "CPU HIP API"), (COPY, "COPY"), (FIRST_GPU, "GPU0"), (ROCTX, "Markers and Ranges")
    for order, (lane, name) in enumerate(lanes):
        yield {"args": {"name": name}, "ph": "M", "pid": lane, "name": "process_name", "sort_index": order}
    pid = str(run.workload.process)
    arrows: list[dict[str, Any]] = []
    for call in calls(run):
        if call.work is None:
            continue
        work, copied = call.work, isinstance(call.work.spec, Copy)
        name = "FillBuffer" if isinstance(work.spec, Fill) else work.name
        name = DIRECTIONS[work.spec.direction] if isinstance(work.spec, Copy) else name
        queue = 0 if copied else work.queue - 1
        placed = {"dev-id": str(GPU), "queue-id": str(queue), "Name": name, "pid": pid, "tid": str(call.thread)}
        lane = COPY if copied else FIRST_GPU
        said = {**placed, "stream-id": str(work.queue - 1), "Data": ""}
        yield _span(lane, str(queue), name, work.start_ns, work.end_ns, said)
        arrow = {"cat": "DataFlow", "id": len(arrows) // 2, "name": "dep"}
        arrows.append({"ts": call.start_ns // 1000, "ph": "s", **arrow, "pid": HIP, "tid": call.thread})
        arrows.append({"ts": work.start_ns // 1000, "ph": "t", **arrow, "pid": lane, "tid": queue})
    for call in calls(run):
        said = {"pid": pid, "tid": str(call.thread), "Name": call.name, "args": "", "Data": ""}
        yield _span(HIP, str(call.thread), call.name, call.start_ns, call.end_ns, said)
    for mark in marks(run):
        said = {"pid": pid, "tid": str(mark.thread), "Name": mark.name, "Data": ""}
        yield _span(ROCTX, str(mark.thread), mark.name, mark.start_ns, mark.end_ns, said)
    yield from arrows


def _span(lane: int, thread: str, name: str, start: int, end: int, said: dict[str, str]) -> dict[str, Any]:
    times = {"ts": str(start // 1000), "dur": str((end - start) // 1000)}
    exact = {"BeginNs": str(start), "EndNs": str(end)}
    args = {**exact, **said, "DurationNs": str(end - start)}
    return {"ph": "X", "name": name, "pid": str(lane), "tid": thread, **times, "args": args}
