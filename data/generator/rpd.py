"""Writes a run as rocmProfileData does: the RPD database, and the Chrome JSON that rpd2tracing makes of it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .amd import GPU, Call, calls, marks
from .database import write_database
from .records import Copy, Fill, Kernel
from .run import Run

__all__ = ["write_rpd", "write_rpd_json"]

KEY = '"id" integer NOT NULL PRIMARY KEY AUTOINCREMENT'
TABLES = (
    f'CREATE TABLE "rocpd_string" ({KEY}, "string" varchar(4096) NOT NULL)',
    f'CREATE TABLE "rocpd_api" ({KEY}, "pid" integer NOT NULL, "tid" integer NOT NULL, "start" integer NOT NULL, '
    '"end" integer NOT NULL, "apiName_id" integer NOT NULL, "args_id" integer NOT NULL)',
    f'CREATE TABLE "rocpd_op" ({KEY}, "gpuId" integer NOT NULL, "queueId" integer NOT NULL, '
    '"sequenceId" integer NOT NULL, "completionSignal" varchar(18) NOT NULL, "start" integer NOT NULL, '
    '"end" integer NOT NULL, "description_id" integer NOT NULL, "opType_id" integer NOT NULL)',
    f'CREATE TABLE "rocpd_api_ops" ({KEY}, "api_id" integer NOT NULL, "op_id" integer NOT NULL)',
    'CREATE TABLE "rocpd_kernelapi" ("api_ptr_id" integer NOT NULL PRIMARY KEY, "stream" varchar(18) NOT NULL, '
    '"gridX" integer NOT NULL, "gridY" integer NOT NULL, "gridZ" integer NOT NULL, "workgroupX" integer NOT NULL, '
    '"workgroupY" integer NOT NULL, "workgroupZ" integer NOT NULL, "groupSegmentSize" integer NOT NULL, '
    '"privateSegmentSize" integer NOT NULL, "kernelArgAddress" varchar(18) NOT NULL, '
    '"aquireFence" varchar(8) NOT NULL, "releaseFence" varchar(8) NOT NULL, "codeObject_id" integer NOT NULL, '
    '"kernelName_id" integer NOT NULL)',
    'CREATE TABLE "rocpd_copyapi" ("api_ptr_id" integer NOT NULL PRIMARY KEY, "stream" varchar(18) NOT NULL, '
    '"size" integer NOT NULL, "width" integer NOT NULL, "height" integer NOT NULL, "kind" integer NOT NULL, '
    '"dst" varchar(18) NOT NULL, "src" varchar(18) NOT NULL, "dstDevice" integer NOT NULL, '
    '"srcDevice" integer NOT NULL, "sync" bool NOT NULL, "pinned" bool NOT NULL)',
    f'CREATE TABLE "rocpd_metadata" ({KEY}, "tag" varchar(4096) NOT NULL, "value" varchar(4096) NOT NULL)',
)
KINDS = {"HtoD": (1, "CopyHostToDevice"), "DtoH": (2, "CopyDeviceToHost")}
MARKER = "UserMarker"


def write_rpd(run: Run, path: Path) -> None:
    """Writes the run as a new database."""
    write_database(path, TABLES, _rows(run))


def _rows(run: Run) -> dict[str, list[tuple[Any, ...]]]:
    strings: dict[str, int] = {}

    def string(text: str) -> int:
        return strings.setdefault(text, len(strings) + 1)

    pid = run.workload.process
    rows: dict[str, list[tuple[Any, ...]]] = {
        name: [] for name in ("string", "api", "op", "api_ops", "kernelapi", "copyapi")
    }
    string("")
    for call in calls(run):
        id = call.correlation
        rows["api"].append((id, pid, call.thread, call.start_ns, call.end_ns, string(call.name), string("")))
        if call.work is None:
            continue
        work, number = call.work, len(rows["op"]) + 1
        times = work.start_ns, work.end_ns
        described, kind = string(work.name if isinstance(work.spec, Kernel) else ""), string(_kind(call))
        rows["op"].append((number, GPU, work.queue - 1, 0, "", *times, described, kind))
        rows["api_ops"].append((number, id, number))
        if isinstance(work.spec, Kernel):
            rows["kernelapi"].append((id, "0x0", *_grid(call), *work.spec.block, _shared(work.spec), 0, "", "", "",
                                      0, string(work.name)))  # fmt: skip
        elif isinstance(work.spec, Copy):
            code = KINDS[work.spec.direction][0]
            rows["copyapi"].append((id, "0x0", work.spec.bytes, 0, 0, code, "0x7f0000010000", "0x7f0000020000",
                                    0, 0, 0, int(work.spec.source == "Pinned")))  # fmt: skip
    last = max(row[0] for row in rows["api"])
    for number, mark in enumerate(marks(run), start=last + 1):
        rows["api"].append((number, pid, mark.thread, mark.start_ns, mark.end_ns, string(MARKER), string(mark.name)))
    rows["string"] = [(number, text) for text, number in strings.items()]
    rows["metadata"] = [(1, "schema_version", "2"), (2, "session_count", "1")]
    return {f"rocpd_{name}": content for name, content in rows.items()}


def write_rpd_json(run: Run, path: Path) -> None:
    """Writes the run as text: one event a line, times in whole microseconds, all values as text."""
    path.write_text("[ {}\n" + "".join(f",{json.dumps(event)}\n" for event in _events(run)) + "]\n")


def _events(run: Run) -> Iterator[dict[str, Any]]:
    pid = str(run.workload.process)
    yield {"name": "process_name", "ph": "M", "pid": str(GPU), "args": {"name": f"GPU{GPU}"}}
    yield {"name": "process_sort_index", "ph": "M", "pid": str(GPU), "args": {"sort_index": str(1000000 + GPU)}}
    for thread in map(str, run.workload.threads):
        lane = {"ph": "M", "pid": pid, "tid": thread}
        yield {"name": "thread_name", **lane, "args": {"name": f"Hip {thread}"}}
        yield {"name": "thread_sort_index", **lane, "args": {"sort_index": str(2 * int(thread))}}
    caused = [call for call in calls(run) if call.work is not None]
    for call in caused:
        work = call.work
        assert work is not None
        kind = _kind(call)
        name = work.name if isinstance(work.spec, Kernel) else kind
        yield _span(str(GPU), work.queue - 1, name, work.start_ns, work.end_ns, kind)
    for call in calls(run):
        yield _span(pid, call.thread, call.name, call.start_ns, call.end_ns, "")
    for mark in marks(run):
        yield _span(pid, mark.thread, mark.name, mark.start_ns, mark.end_ns, mark.name)
    for number, call in enumerate(caused, start=1):
        work = call.work
        assert work is not None
        arrow = {"cat": "api_op", "name": "api_op"}
        yield {"pid": pid, "tid": str(call.thread), **arrow, "ts": _us(call.start_ns), "id": str(number), "ph": "s"}
        end = {"ts": _us(work.start_ns), "id": str(number), "ph": "f", "bp": "e"}
        yield {"pid": str(GPU), "tid": str(work.queue - 1), **arrow, **end}


def _span(pid: str, thread: int, name: str, start: int, end: int, description: str) -> dict[str, Any]:
    times = {"ts": _us(start), "dur": _us(end - start)}
    return {"pid": pid, "tid": str(thread), "name": name, **times, "ph": "X", "args": {"desc": description}}


def _us(nanoseconds: int) -> str:
    return str(nanoseconds // 1000)


def _kind(call: Call) -> str:
    spec = call.work.spec if call.work else None
    if isinstance(spec, Copy):
        return KINDS[spec.direction][1]
    return "FillBuffer" if isinstance(spec, Fill) else "KernelExecution"


def _grid(call: Call) -> tuple[int, ...]:
    """Returns the grid as the call was given it: in work items where it launches a function of a module."""
    assert call.work is not None and isinstance(call.work.spec, Kernel)
    spec = call.work.spec
    items = "ModuleLaunch" in call.name
    return tuple(a * b if items else a for a, b in zip(spec.grid, spec.block, strict=True))


def _shared(spec: Kernel) -> int:
    return spec.static_shared + spec.dynamic_shared
