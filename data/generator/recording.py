"""Writes a run as `tracelode record --calls --graphs node` does: the folder of a process with `events.spool`."""

from collections import defaultdict
from pathlib import Path
from typing import Any

from .nvprof import CALLS, DIRECTIONS, KINDS, WAITS
from .records import Copy, Kernel, Span, Work
from .run import START_NS, Run
from .spool import NONE, Spool

__all__ = ["write_recording"]

BOOT_NS = 271_828_182_845_904
"""How long the machine had been up when the recording began."""

CARD = {
    "what": "device",
    "device": 0,
    "name": "NVIDIA H200",
    "compute_capability": "9.0",
    "multiprocessors": 132,
    "memory_bytes": 150_754_820_096,
    "bandwidth_kB_s": 4_814_080_000,
    "clock_kHz": 1_980_000,
}
TABLES = ("call", "kernel", "copy", "fill", "sync", "marker")
THREAD_OBJECT, BEGIN, END = 2, 2, 4
RUNTIME, DRIVER = 0, 1
CALLED = "_v7000"
"""What CUPTI adds to the names of the runtime's calls."""


def write_recording(run: Run, folder: Path) -> None:
    """Writes the run as a new folder; its clock is the raw monotonic one."""
    spool = _begun(run)
    configs: dict[tuple[Any, ...], int] = {}
    rows = defaultdict[str, list[dict[str, int]]](list)
    for segment in run.segments():
        for call in segment.calls:
            runtime = call.name.startswith("cuda")
            told = {"start": BOOT_NS + call.start_ns, "end": BOOT_NS + call.end_ns, "correlation": call.correlation}
            told |= {"thread": run.workload.threads[call.thread], "function": CALLS[call.name]}
            rows["call"].append(told | {"interface": RUNTIME if runtime else DRIVER})
        for work in segment.works:
            table, row = _row(spool, run, work, configs)
            rows[table].append(row)
        for wait in segment.waits:
            told = {"start": BOOT_NS + wait.start_ns, "end": BOOT_NS + wait.end_ns, "correlation": wait.correlation}
            stream, event = (NONE if one is None else one for one in (wait.stream, wait.event))
            rows["sync"].append(told | {"context": 1, "stream": stream, "kind": WAITS[wait.kind], "event": event})
        for event in segment.host:
            if isinstance(event, Span) and event.operator.category == "user_annotation":
                rows["marker"] += _marks(spool, run, event)
    for table in TABLES:
        spool.rows(table, *rows[table])
    records = {table: len(rows[table]) for table in TABLES}
    spool.text({"what": "state", "final": True, "records": records, "kept": records, "dropped": 0, "stopped": "exit"})
    spool.write(folder / "events.spool")


def _begun(run: Run) -> Spool:
    """A file with what stands at the beginning: the process, its clocks and device, and the names of its calls."""
    spool = Spool()
    process = {
        "what": "process",
        "pid": run.workload.process,
        "host": "node0",
        "executable": "python3",
        "command": ["python3", "small.py"],
        "collector": "cupti",
        "version": "0.1.0",
        "cupti": 130000,
        "clock": "monotonic_raw",
        "options": {"graphs": "node", "detail": "rows"},
        "environment": {},
    }
    clocks = {"what": "clocks", "realtime": START_NS, "monotonic_raw": BOOT_NS, "boottime": BOOT_NS, "spread": 60}
    spool.text(process).text(clocks).text({**CARD, "device": run.workload.device})
    for name, number in CALLS.items():
        runtime = name.startswith("cuda")
        text = spool.name(name + CALLED if runtime else name)
        spool.rows("call_name", {"interface": RUNTIME if runtime else DRIVER, "function": number, "name": text})
    return spool


def _row(spool: Spool, run: Run, work: Work, configs: dict[tuple[Any, ...], int]) -> tuple[str, dict[str, int]]:
    """The table of device work, and its row there."""
    spec = work.spec
    told = {
        "start": BOOT_NS + work.start_ns,
        "end": BOOT_NS + work.end_ns,
        "correlation": work.correlation,
        "device": run.workload.device,
        "context": 1,
        "stream": work.stream,
    }
    if isinstance(spec, Kernel):
        return "kernel", told | {"config": _config(spool, spec, configs)}
    if isinstance(spec, Copy):
        ends = {"kind": DIRECTIONS[spec.direction], "source": KINDS[spec.source], "target": KINDS[spec.target]}
        nobody = {"source_device": NONE, "target_device": NONE}
        return "copy", told | ends | nobody | {"flags": 1, "bytes": spec.bytes, "count": 1}
    return "fill", told | {"bytes": spec.bytes, "memory": KINDS["Device"]}


def _config(spool: Spool, kernel: Kernel, configs: dict[tuple[Any, ...], int]) -> int:
    """The number of what all launches like this one share, which is written with the first of them."""
    key = kernel.name, kernel.grid, kernel.block, kernel.registers, kernel.static_shared, kernel.dynamic_shared
    if key not in configs:
        configs[key] = len(configs)
        axes = {
            f"{what}_{axis}": size
            for what in ("grid", "block")
            for axis, size in zip("xyz", getattr(kernel, what), strict=True)
        }
        memory = {"static_shared": kernel.static_shared, "dynamic_shared": kernel.dynamic_shared}
        row = {"id": configs[key], "name": spool.name(kernel.name), **axes, "registers": kernel.registers, **memory}
        spool.rows("config", row)
    return configs[key]


def _marks(spool: Spool, run: Run, span: Span) -> list[dict[str, int]]:
    """The begin and the end of an annotation."""
    shared = {"id": span.id, "object_kind": THREAD_OBJECT, "process": run.workload.process, "domain": NONE}
    shared |= {"thread": run.workload.threads[span.thread]}
    name = spool.name(span.operator.name)
    return [
        shared | {"time": BOOT_NS + span.start_ns, "flags": BEGIN, "name": name},
        shared | {"time": BOOT_NS + span.end_ns, "flags": END, "name": NONE},
    ]
