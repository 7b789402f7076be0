"""Writes a run as rocprofv3 does: a set of CSV files, or one JSON file."""

import csv
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from .amd import BOOT_NS, CPU, GPU, Operation, calls, marks, operations
from .managed import PAGE_BYTES, Fault, Move, Stop, Unmap, driver_events
from .records import Copy, Kernel
from .run import Run

__all__ = ["write_rocprofv3_csv", "write_rocprofv3_json"]

AXES = "xyz"
COPIES = {"HtoD": "MEMORY_COPY_HOST_TO_DEVICE", "DtoH": "MEMORY_COPY_DEVICE_TO_HOST"}
AGENTS = (
    {
        "node_id": CPU, "type": 1, "name": "AMD EPYC 9654 96-Core Processor",
        "product_name": "AMD EPYC 9654 96-Core Processor", "cu_count": 192, "max_engine_clk_fcompute": 0,
    },
    {
        "node_id": GPU, "type": 2, "name": "gfx942", "product_name": "AMD Instinct MI300X", "cu_count": 304,
        "max_engine_clk_fcompute": 2100,
    },
)  # fmt: skip
HANDLE = 9278
"""What the runtime calls the first agent; the others follow."""

DRIVER = {
    "KFD_EVENT_UNMAP_FROM_GPU": ("MMU_NOTIFY", "MMU_NOTIFY_MIGRATE", "UNMAP_FROM_CPU"),
    "KFD_PAGE_MIGRATE": ("PREFETCH", "PAGEFAULT_GPU", "PAGEFAULT_CPU", "TTM_EVICTION"),
    "KFD_PAGE_FAULT": (
        "READ_FAULT_MIGRATED", "READ_FAULT_UPDATED", "WRITE_FAULT_MIGRATED", "WRITE_FAULT_UPDATED",
    ),
    "KFD_QUEUE": ("EVICT_SVM", "EVICT_USERPTR", "EVICT_TTM"),
}  # fmt: skip
"""What the kernel driver tells of managed memory, with `--kfd-trace`."""

KINDS = ("NONE", "HIP_RUNTIME_API_EXT", "MARKER_CORE_RANGE_API", "MEMORY_COPY", "KERNEL_DISPATCH", *DRIVER)


def write_rocprofv3_csv(run: Run, path: Path) -> None:
    """Writes the kernels to `<pid>_kernel_trace.csv`, which is the path, and the other tables of the run beside it.

    A copy has no size here.
    """
    pid = run.workload.process
    _write(path, [_kernel_line(work, number) for number, work in enumerate(_kernels(run), start=1)])
    prefix = path.name.removesuffix("kernel_trace.csv")
    _write(path.with_name(f"{prefix}memory_copy_trace.csv"), [_copy_line(work) for work in _copies(run)])
    _write(
        path.with_name(f"{prefix}hip_api_trace.csv"),
        [
            _call_line("HIP_RUNTIME_API_EXT", call.name, pid, call.thread, call.correlation, call.start_ns, call.end_ns)
            for call in calls(run)
        ],
    )
    _write(
        path.with_name(f"{prefix}marker_api_trace.csv"),
        [
            _call_line("MARKER_CORE_RANGE_API", mark.name, pid, mark.thread, number, mark.start_ns, mark.end_ns)
            for number, mark in enumerate(marks(run), start=1000)
        ],
    )
    _write(path.with_name(f"{prefix}agent_info.csv"), [_agent_line(agent) for agent in AGENTS])


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    with path.open("w", newline="") as file:
        out = csv.DictWriter(file, list(rows[0]), quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
        out.writeheader()
        out.writerows(rows)


def _kernels(run: Run) -> Iterable[Operation]:
    return (work for work in operations(run) if not isinstance(work.spec, Copy))


def _copies(run: Run) -> Iterable[Operation]:
    return (work for work in operations(run) if isinstance(work.spec, Copy))


def _kernel_line(work: Operation, number: int) -> dict[str, Any]:
    block, grid = _sizes(work)
    return {
        "Kind": "KERNEL_DISPATCH",
        "Agent_Id": f"Agent {GPU}",
        "Queue_Id": work.queue,
        "Stream_Id": work.queue,
        "Thread_Id": work.thread,
        "Dispatch_Id": number,
        "Kernel_Id": 10,
        "Kernel_Name": work.name,
        "Correlation_Id": work.correlation,
        "Start_Timestamp": work.start_ns,
        "End_Timestamp": work.end_ns,
        "LDS_Block_Size": _shared(work),
        "Scratch_Size": 0,
        "VGPR_Count": _registers(work),
        "Accum_VGPR_Count": 0,
        "SGPR_Count": 32,
        **{f"Workgroup_Size_{axis.upper()}": size for axis, size in zip(AXES, block, strict=True)},
        **{f"Grid_Size_{axis.upper()}": size for axis, size in zip(AXES, grid, strict=True)},
    }


def _copy_line(work: Operation) -> dict[str, Any]:
    assert isinstance(work.spec, Copy)
    source, target = work.ends
    return {
        "Kind": "MEMORY_COPY",
        "Direction": COPIES[work.spec.direction],
        "Stream_Id": work.queue,
        "Source_Agent_Id": f"Agent {source}",
        "Destination_Agent_Id": f"Agent {target}",
        "Correlation_Id": work.correlation,
        "Start_Timestamp": work.start_ns,
        "End_Timestamp": work.end_ns,
    }


def _call_line(
    domain: str, name: str, process: int, thread: int, correlation: int, start: int, end: int
) -> dict[str, Any]:
    place = {"Process_Id": process, "Thread_Id": thread, "Correlation_Id": correlation}
    return {"Domain": domain, "Function": name, **place, "Start_Timestamp": start, "End_Timestamp": end}


def _agent_line(agent: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "Node_Id": agent["node_id"],
        "Logical_Node_Id": agent["node_id"],
        "Agent_Type": "GPU" if agent["type"] == 2 else "CPU",
        "Cpu_Cores_Count": 0 if agent["type"] == 2 else 192,
        "Cu_Count": agent["cu_count"],
        "Max_Engine_Clk_Fcompute": agent["max_engine_clk_fcompute"],
        "Name": agent["name"],
        "Vendor_Name": "AMD",
        "Product_Name": agent["product_name"],
    }


def write_rocprofv3_json(run: Run, path: Path) -> None:
    """Writes the run as one JSON file, with a process in it."""
    path.write_text(json.dumps({"rocprofiler-sdk-tool": [_tool(run)]}, indent=1) + "\n")


def _tool(run: Run) -> dict[str, Any]:
    names = sorted({work.name for work in _kernels(run)})
    functions = sorted({call.name for call in calls(run)})
    operations_of = {
        "HIP_RUNTIME_API_EXT": functions,
        "MARKER_CORE_RANGE_API": ["roctxThreadRangeA"],
        "MEMORY_COPY": ["MEMORY_COPY_NONE", "MEMORY_COPY_HOST_TO_HOST", COPIES["HtoD"], COPIES["DtoH"]],
        "KERNEL_DISPATCH": ["KERNEL_DISPATCH_NONE", "KERNEL_DISPATCH_ENQUEUE", "KERNEL_DISPATCH_COMPLETE"],
        **{kind: [f"ROCPROFILER_{kind}_{name}" for name in names] for kind, names in DRIVER.items()},
    }
    registers = {work.name: _registers(work) for work in _kernels(run)}
    marked = list(enumerate(marks(run), start=1000))
    return {
        "metadata": {
            "node": {"id": 0, "hash": 0, "system_name": "Linux", "hostname": "node0", "release": "6.8.0"},
            "pid": run.workload.process,
            "init_time": BOOT_NS,
            "fini_time": BOOT_NS + 2_000_000,
            "command": ["python3", "small.py"],
        },
        "agents": [{"size": 312, "id": _handle(HANDLE + agent["node_id"]), **agent} for agent in AGENTS],
        "counters": [],
        "strings": {
            "callback_records": [],
            "buffer_records": [{"kind": kind, "operations": operations_of.get(kind, [])} for kind in KINDS],
            "marker_api": [{"key": number, "value": mark.name} for number, mark in marked],
        },
        "code_objects": [],
        "kernel_symbols": [
            {
                "size": 88,
                "kernel_id": number,
                "kernel_name": f"{name}.kd",
                "formatted_kernel_name": name,
                "arch_vgpr_count": registers[name],
                "accum_vgpr_count": 0,
                "sgpr_count": 32,
            }
            for number, name in enumerate(names, start=1)
        ],
        "callback_records": {"counter_collection": []},
        "buffer_records": {
            "kernel_dispatch": [
                _dispatch(work, number, names) for number, work in enumerate(_kernels(run), start=1)
            ],
            "hip_api": [
                _record("HIP_RUNTIME_API_EXT", functions.index(call.name), call.thread, call.correlation,
                        call.start_ns, call.end_ns)
                for call in calls(run)
            ],
            "marker_api": [
                _record("MARKER_CORE_RANGE_API", 0, mark.thread, number, mark.start_ns, mark.end_ns)
                for number, mark in marked
            ],
            "memory_copy": [_copy(work) for work in _copies(run)],
            "kfd": [_told_by_driver(event, run.workload.process) for event in driver_events(run)],
        },
    }  # fmt: skip


def _record(kind: str, operation: int, thread: int, correlation: int, start: int, end: int) -> dict[str, Any]:
    return {
        "size": 64,
        "kind": KINDS.index(kind),
        "operation": operation,
        "thread_id": thread,
        "correlation_id": {"internal": correlation, "external": 0},
        "start_timestamp": start,
        "end_timestamp": end,
    }


def _dispatch(work: Operation, number: int, names: list[str]) -> dict[str, Any]:
    block, grid = (dict(zip(AXES, sizes, strict=True)) for sizes in _sizes(work))
    record = _record("KERNEL_DISPATCH", 2, work.thread, work.correlation, work.start_ns, work.end_ns)
    dispatch = {
        "size": 72,
        "agent_id": _handle(HANDLE + GPU),
        "queue_id": _handle(work.queue),
        "kernel_id": names.index(work.name) + 1,
        "dispatch_id": number,
        "private_segment_size": 0,
        "group_segment_size": _shared(work),
        "workgroup_size": block,
        "grid_size": grid,
    }
    return {**record, "dispatch_info": dispatch, "stream_id": _handle(work.queue)}


def _copy(work: Operation) -> dict[str, Any]:
    assert isinstance(work.spec, Copy)
    operation = {"HtoD": 2, "DtoH": 3}[work.spec.direction]
    record = _record("MEMORY_COPY", operation, work.thread, work.correlation, work.start_ns, work.end_ns)
    source, target = (_handle(HANDLE + node) for node in work.ends)
    return {**record, "dst_agent_id": target, "src_agent_id": source, "bytes": work.spec.bytes,
            "stream_id": _handle(work.queue)}  # fmt: skip


def _told_by_driver(event: Fault | Move | Stop | Unmap, pid: int) -> dict[str, Any]:
    gpu, nobody = _handle(HANDLE + GPU), _handle(0)
    if isinstance(event, Unmap):
        times, kind, operation = {"timestamp": event.time_ns}, "KFD_EVENT_UNMAP_FROM_GPU", 1
        said = {"agent_id": gpu, **_addresses(event.page, event.pages)}
    else:
        times = {"start_timestamp": event.start_ns, "end_timestamp": event.end_ns}
        if isinstance(event, Fault):
            kind, operation = "KFD_PAGE_FAULT", 2 * event.write + (not event.moved)
            said = {"agent_id": gpu, "address": _handle(event.page * PAGE_BYTES)}
        elif isinstance(event, Stop):
            kind, operation, said = "KFD_QUEUE", 2, {"agent_id": gpu}
        else:
            kind, operation = "KFD_PAGE_MIGRATE", event.trigger
            source, target = (_handle(HANDLE + node) for node in event.ends)
            said = {
                **_addresses(event.page, event.pages),
                "src_agent": source,
                "dst_agent": target,
                "prefetch_agent": nobody if event.trigger else gpu,
                "preferred_agent": nobody,
                "error_code": 0,
            }
    return {"size": 88, "kind": KINDS.index(kind), "operation": operation, **times, "pid": pid, **said}


def _addresses(page: int, pages: int) -> dict[str, Any]:
    first = page * PAGE_BYTES
    return {"start_address": _handle(first), "end_address": _handle(first + pages * PAGE_BYTES)}


def _handle(number: int) -> dict[str, int]:
    return {"handle": number}


def _sizes(work: Operation) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Returns the block, and the grid in work items."""
    block, grid = (work.spec.block, work.spec.grid) if isinstance(work.spec, Kernel) else ((256, 1, 1), (64, 1, 1))
    return block, tuple(threads * blocks for threads, blocks in zip(block, grid, strict=True))


def _shared(work: Operation) -> int:
    return work.spec.static_shared + work.spec.dynamic_shared if isinstance(work.spec, Kernel) else 0


def _registers(work: Operation) -> int:
    return work.spec.registers if isinstance(work.spec, Kernel) else 12
