"""Writes a run as a rocpd database, schema 3, as rocprofv3 of ROCm 7 writes it by default."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .amd import BOOT_NS, CPU, GPU, QUEUES, calls, marks, operations
from .database import write_database
from .managed import PAGE_BYTES, Fault, Move, Stop, Unmap, driver_events
from .records import Copy, Fill, Kernel
from .run import Run

__all__ = ["write_rocpd"]

GUID = "0000a0f0-51ae-7ace-8000-5a3bb1e0c0de"
SUFFIX = "_" + GUID.replace("-", "_")
NODE, HASH = 1_090_519_040, 8_070_450_532_247_928_832
ID = '"id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT'
OWN = f'{ID}, "guid" TEXT DEFAULT "{GUID}" NOT NULL'
EXTRA = "\"extdata\" JSONB DEFAULT '{}' NOT NULL"
PLACE = '"nid" INTEGER NOT NULL, "pid" INTEGER NOT NULL'
TIMES = '"start" BIGINT NOT NULL, "end" BIGINT NOT NULL'
TABLES = {
    "metadata": f'{ID}, "tag" TEXT NOT NULL, "value" TEXT NOT NULL',
    "string": f'{OWN}, "string" TEXT NOT NULL UNIQUE ON CONFLICT ABORT',
    "info_node": (
        f'{OWN}, "hash" BIGINT NOT NULL UNIQUE, "machine_id" TEXT NOT NULL UNIQUE, "system_name" TEXT, '
        '"hostname" TEXT, "release" TEXT, "version" TEXT, "hardware_name" TEXT, "domain_name" TEXT'
    ),
    "info_process": (
        f'{OWN}, "nid" INTEGER NOT NULL, "ppid" INTEGER, "pid" INTEGER NOT NULL, "init" BIGINT, "fini" BIGINT, '
        f'"start" BIGINT, "end" BIGINT, "command" TEXT, "environment" JSONB DEFAULT \'{{}}\' NOT NULL, {EXTRA}'
    ),
    "info_thread": (
        f'{OWN}, "nid" INTEGER NOT NULL, "ppid" INTEGER, "pid" INTEGER NOT NULL, "tid" INTEGER NOT NULL, '
        f'"name" TEXT, "start" BIGINT, "end" BIGINT, {EXTRA}'
    ),
    "info_agent": (
        f'{OWN}, {PLACE}, "type" TEXT CHECK ("type" IN (\'CPU\', \'GPU\')), "absolute_index" INTEGER, '
        '"logical_index" INTEGER, "type_index" INTEGER, "uuid" INTEGER, "name" TEXT, "model_name" TEXT, '
        f'"vendor_name" TEXT, "product_name" TEXT, "user_name" TEXT, {EXTRA}'
    ),
    "info_queue": f'{OWN}, {PLACE}, "name" TEXT, {EXTRA}',
    "info_stream": f'{OWN}, {PLACE}, "name" TEXT, {EXTRA}',
    "info_kernel_symbol": (
        f'{OWN}, {PLACE}, "code_object_id" INTEGER NOT NULL, "kernel_name" TEXT, "display_name" TEXT, '
        '"kernel_object" INTEGER, "kernarg_segment_size" INTEGER, "kernarg_segment_alignment" INTEGER, '
        '"group_segment_size" INTEGER, "private_segment_size" INTEGER, "sgpr_count" INTEGER, '
        f'"arch_vgpr_count" INTEGER, "accum_vgpr_count" INTEGER, {EXTRA}'
    ),
    "event": (
        f'{OWN}, "category_id" INTEGER, "stack_id" INTEGER, "parent_stack_id" INTEGER, "correlation_id" INTEGER, '
        f"\"call_stack\" JSONB DEFAULT '{{}}' NOT NULL, \"line_info\" JSONB DEFAULT '{{}}' NOT NULL, {EXTRA}"
    ),
    "region": (
        f'{OWN}, {PLACE}, "tid" INTEGER NOT NULL, {TIMES}, "name_id" INTEGER NOT NULL, "event_id" INTEGER, {EXTRA}'
    ),
    "kernel_dispatch": (
        f'{OWN}, {PLACE}, "tid" INTEGER, "agent_id" INTEGER NOT NULL, "kernel_id" INTEGER NOT NULL, '
        '"dispatch_id" INTEGER NOT NULL, "queue_id" INTEGER NOT NULL, "stream_id" INTEGER NOT NULL, '
        f'{TIMES}, "private_segment_size" INTEGER, "group_segment_size" INTEGER, '
        '"workgroup_size_x" INTEGER NOT NULL, "workgroup_size_y" INTEGER NOT NULL, '
        '"workgroup_size_z" INTEGER NOT NULL, "grid_size_x" INTEGER NOT NULL, "grid_size_y" INTEGER NOT NULL, '
        f'"grid_size_z" INTEGER NOT NULL, "region_name_id" INTEGER, "event_id" INTEGER, {EXTRA}'
    ),
    "memory_copy": (
        f'{OWN}, {PLACE}, "tid" INTEGER, {TIMES}, "name_id" INTEGER NOT NULL, "dst_agent_id" INTEGER, '
        '"dst_address" INTEGER, "src_agent_id" INTEGER, "src_address" INTEGER, "size" INTEGER NOT NULL, '
        f'"queue_id" INTEGER, "stream_id" INTEGER, "region_name_id" INTEGER, "event_id" INTEGER, {EXTRA}'
    ),
}
AGENTS = (
    (CPU, "CPU", 0, "AMD EPYC 9654 96-Core Processor", "AMD EPYC 9654 96-Core Processor", {"cu_count": 192}),
    (1, "CPU", 1, "AMD EPYC 9654 96-Core Processor", "AMD EPYC 9654 96-Core Processor", {"cu_count": 192}),
    (GPU, "GPU", 0, "gfx942", "AMD Instinct MI300X", {"cu_count": 304, "max_engine_clk_fcompute": 2100}),
)


def write_rocpd(run: Run, path: Path) -> None:
    """Writes the run as a new file. Fills are kernels, as they are to rocprofv3; markers are ROCTX ranges."""
    tables = _Tables(run)
    names = list(TABLES)
    declarations = [f"CREATE TABLE `rocpd_{base}{SUFFIX}` ({columns})" for base, columns in TABLES.items()]
    views = [f"CREATE VIEW `rocpd_{base}` AS SELECT * FROM `rocpd_{base}{SUFFIX}`" for base in names]
    rows = {f"rocpd_{base}{SUFFIX}": tables.rows[base] for base in names if tables.rows[base]}
    write_database(path, (*declarations, *views), rows)


class _Tables:
    """The rows of every table."""

    def __init__(self, run: Run) -> None:
        self.rows: dict[str, list[tuple[Any, ...]]] = {base: [] for base in TABLES}
        self._strings: dict[str, int] = {}
        self._symbols: dict[str, int] = {}
        self._pid = run.workload.process
        self._place = (NODE, self._pid)
        for tag, value in (("schema_version", "3"), ("uuid", SUFFIX), ("guid", GUID)):
            self.rows["metadata"].append((len(self.rows["metadata"]) + 1, tag, value))
        self._calls(run)
        self._marks(run)
        self._driver(run)
        self._identities(run)
        self.rows["string"] = [(number, GUID, text) for text, number in self._strings.items()]

    def _string(self, text: str) -> int:
        return self._strings.setdefault(text, len(self._strings) + 1)

    def _event(self, category: str, correlation: int, said: dict[str, Any] | None = None) -> int:
        number = len(self.rows["event"]) + 1
        parent = correlation if category.startswith(("KERNEL", "MEMORY")) else 0
        extra = json.dumps(said or {})
        self.rows["event"].append((number, GUID, self._string(category), correlation, parent, 0, "{}", "{}", extra))
        return number

    def _calls(self, run: Run) -> None:
        for call in calls(run):
            event = self._event("HIP_RUNTIME_API_EXT", call.correlation)
            number = len(self.rows["region"]) + 1
            name = self._string(call.name)
            self.rows["region"].append(
                (number, GUID, *self._place, call.thread, call.start_ns, call.end_ns, name, event, "{}")
            )
        for work in operations(run):
            times = work.start_ns, work.end_ns
            if isinstance(work.spec, Copy):
                name = "MEMORY_COPY_HOST_TO_DEVICE" if work.spec.direction == "HtoD" else "MEMORY_COPY_DEVICE_TO_HOST"
                event, (source, target) = self._event("MEMORY_COPY", work.correlation), work.ends
                number = len(self.rows["memory_copy"]) + 1
                ends = target, None, source, None
                self.rows["memory_copy"].append(
                    (
                        *(number, GUID, *self._place, work.thread, *times, self._string(name), *ends),
                        *(work.spec.bytes, None, work.queue, self._string(""), event, "{}"),
                    )
                )
                continue
            event = self._event("KERNEL_DISPATCH", work.correlation)
            number = len(self.rows["kernel_dispatch"]) + 1
            symbol = self._symbols.setdefault(work.name, len(self._symbols) + 1)
            self.rows["kernel_dispatch"].append(
                (
                    *(number, GUID, *self._place, work.thread, GPU, symbol, number, work.queue, work.queue, *times),
                    *(0, _shared(work.spec), *_sizes(work.spec), self._string(""), event, "{}"),
                )
            )

    def _marks(self, run: Run) -> None:
        for mark in marks(run):
            event = self._event("MARKER_CORE_RANGE_API", 0, {"message": mark.name})
            number, name = len(self.rows["region"]) + 1, self._string("roctxThreadRangeA")
            self.rows["region"].append(
                (number, GUID, *self._place, mark.thread, mark.start_ns, mark.end_ns, name, event, "{}")
            )

    def _driver(self, run: Run) -> None:
        for told in driver_events(run):
            category, operation, said = _of_driver(told)
            event = self._event(category, 0, {"kfd": {"record": {"index": 1, "data": said}}})
            number, name = len(self.rows["region"]) + 1, self._string(f"ROCPROFILER_{operation}")
            times = (told.time_ns,) * 2 if isinstance(told, Unmap) else (told.start_ns, told.end_ns)
            self.rows["region"].append((number, GUID, *self._place, self._pid, *times, name, event, "{}"))

    def _identities(self, run: Run) -> None:
        node = ("5f0c2a1000004000800000000000a11d", "Linux", "node0", "6.8.0", "#1 SMP", "x86_64", "(none)")
        self.rows["info_node"].append((NODE, GUID, HASH, *node))
        life = (BOOT_NS, BOOT_NS + 2_000_000) * 2
        environment = json.dumps({"RANK": "0", "WORLD_SIZE": str(run.workload.world_size)})
        self.rows["info_process"].append(
            (self._pid, GUID, NODE, 1, self._pid, *life, "python3 small.py", environment, "{}")
        )
        for thread in run.workload.threads:
            self.rows["info_thread"].append((thread, GUID, NODE, 1, self._pid, thread, None, None, None, "{}"))
        for index, kind, type_index, name, product, said in AGENTS:
            number = (index, index, type_index, 0)
            named = (name, "", "AMD", product, product, json.dumps(said))
            self.rows["info_agent"].append((index, GUID, *self._place, kind, *number, *named))
        for queue in sorted(QUEUES.values()):
            self.rows["info_queue"].append((queue, GUID, *self._place, f"Queue {queue - 1}", "{}"))
            self.rows["info_stream"].append((queue, GUID, *self._place, f"Stream {queue - 1}", "{}"))
        registers = {work.name: work.spec.registers for work in operations(run) if isinstance(work.spec, Kernel)}
        for name, number in self._symbols.items():
            sizes = (0, 24, 16, 0, 0, 32, registers.get(name, 12), 0)
            self.rows["info_kernel_symbol"].append((number, GUID, *self._place, 1, f"{name}.kd", name, *sizes, "{}"))


def _of_driver(told: Fault | Move | Stop | Unmap) -> tuple[str, str, dict[str, int]]:
    """Returns category, operation and members of what the kernel driver told; an agent that is none is left out."""
    if isinstance(told, Stop):
        return "KFD_QUEUE", "KFD_QUEUE_EVICT_TTM", {"agent_id": GPU}
    address = told.page * PAGE_BYTES
    if isinstance(told, Fault):
        name = f"{'WRITE' if told.write else 'READ'}_FAULT_{'MIGRATED' if told.moved else 'UPDATED'}"
        return "KFD_PAGE_FAULT", f"KFD_PAGE_FAULT_{name}", {"agent_id": GPU, "address": address}
    said = {"start_address": address, "end_address": address + told.pages * PAGE_BYTES}
    if isinstance(told, Unmap):
        kind = "KFD_EVENT_UNMAP_FROM_GPU"
        return kind, f"{kind}_MMU_NOTIFY_MIGRATE", {"agent_id": GPU, **said}
    source, target = told.ends
    wanted = {} if told.trigger else {"prefetch_agent_id": GPU}
    name = ("PREFETCH", "PAGEFAULT_GPU", "PAGEFAULT_CPU", "TTM_EVICTION")[told.trigger]
    said |= {"src_agent_id": source, "dst_agent_id": target, **wanted, "error_code": 0}
    return "KFD_PAGE_MIGRATE", f"KFD_PAGE_MIGRATE_{name}", said


def _shared(spec: Kernel | Fill) -> int:
    return spec.static_shared + spec.dynamic_shared if isinstance(spec, Kernel) else 0


def _sizes(spec: Kernel | Fill) -> Iterable[int]:
    """Returns the block, then the grid in work items."""
    block, grid = (spec.block, spec.grid) if isinstance(spec, Kernel) else ((256, 1, 1), (64, 1, 1))
    return (*block, *(threads * blocks for threads, blocks in zip(block, grid, strict=True)))
