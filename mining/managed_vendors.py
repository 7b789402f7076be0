"""What differs between vendors in managed memory: how to record it, and by which number a program calls a device."""

from collections.abc import Mapping

from ..store.trace import Trace

__all__ = [
    "accesses_hint",
    "faults_hint",
    "is_amd",
    "kind_hint",
    "names_hint",
    "ordinals",
    "recorders",
    "touches_hint",
]

AMD_FORMATS = ("rocp", "rpd", "kfd_smi", "unified_memory")
"""Beginnings of the names of formats that AMD's tools write, for traces that describe no device."""

BY_NODE = frozenset({"kfd_smi", "rocpd", "rocprof_v1", "rocprofv3_csv", "rocprofv3_json"})
"""Formats in which a device has the number of its node: processors come first, and count."""

NVIDIA_FAULTS = (
    "record with nsys profile --trace=cuda --cuda-um-gpu-page-faults=true --cuda-um-cpu-page-faults=true "
    "--cuda-memory-usage=true (which names the memory), or with tracelode record --uvm"
)
NVIDIA_NAMES = (
    "record with nsys profile --trace=cuda --cuda-memory-usage=true --cuda-um-gpu-page-faults=true "
    "--cuda-um-cpu-page-faults=true, or with tracelode record --uvm"
)
NVIDIA_ACTS = "record with tracelode record --uvm: Nsight Systems does not export thrashing, throttling or remote maps"
NVIDIA_ACCESSES = "run an access profiler: AccelProf's hot_analysis or time_hotness_cpu"
AMD_FAULTS = (
    "record with rocprofv3 --kfd-trace --kernel-trace --output-format json (ROCprofiler-SDK 1.2 or later), or with "
    "rocprof-sys-run and ROCPROFSYS_USE_UNIFIED_MEMORY_PROFILING=ON, ROCPROFSYS_USE_ROCPD=ON; either needs HSA_XNACK=1 "
    "on a GPU with XNACK"
)
AMD_NAMES = (
    "record with rocprofv3 --kfd-trace --kernel-trace --memory-allocation-trace --output-format json; where it leaves "
    "out what hipMallocManaged gave, let the program print those addresses and sizes"
)
AMD_HOST_FAULTS = "look at moves to the host of the cause coherence: AMD's kernel driver tells of those alone"
AMD_ACCESSES = "look at faults and moves by address: AMD's tools do not record what kernels access"
AMD_ACTS = "look at pages that move again: AMD's kernel driver tells of no thrashing, throttling or remote maps"

VENDORS = "select distinct lower(vendor) from device where vendor is not null"
DEVICES = "select distinct process, device from device where vendor = 'amd' order by process, device"


def is_amd(trace: Trace) -> bool:
    """Whether the trace is of AMD's GPUs alone: by its devices; where none is described, by its format."""
    vendors = {row[0] for row in trace.sql(VENDORS).rows()} if trace.has("device") else set[str]()
    return vendors == {"amd"} if vendors else trace.facts.format.startswith(AMD_FORMATS)


def faults_hint(trace: Trace) -> str:
    """How to record faults and moves of managed memory on the devices of the trace; begins with a verb."""
    return AMD_FAULTS if is_amd(trace) else NVIDIA_FAULTS


def names_hint(trace: Trace) -> str:
    """How to record the allocations that faults and moves fall on, on the devices of the trace; begins with a verb."""
    return AMD_NAMES if is_amd(trace) else NVIDIA_NAMES


def kind_hint(trace: Trace, kind: str) -> str:
    """How to record one kind of `uvm_event`, or what tells of it where nothing records it; begins with a verb."""
    if kind in ("thrash", "throttle", "remote_map"):
        return AMD_ACTS if is_amd(trace) else NVIDIA_ACTS
    return AMD_HOST_FAULTS if kind == "cpu_fault" and is_amd(trace) else faults_hint(trace)


def accesses_hint(trace: Trace) -> str:
    """How to record which blocks kernels access, or what tells of it where nothing records it; begins with a verb."""
    return AMD_ACCESSES if is_amd(trace) else NVIDIA_ACCESSES


def touches_hint(trace: Trace) -> str:
    """How to record what kernels touch of managed memory: accesses, or faults and moves."""
    hint = faults_hint(trace)
    return hint if is_amd(trace) else f"run an access profiler such as AccelProf, or {hint}"


def recorders(trace: Trace) -> str:
    """What tells of which kinds on the devices of the trace, as the end of a sentence that lists all kinds."""
    if is_amd(trace):
        return f"AMD's kernel driver tells of page faults of devices and of moves: {AMD_FAULTS}"
    return f"Nsight Systems records moves, and faults when it is told to: {NVIDIA_FAULTS}"


def ordinals(trace: Trace) -> Mapping[tuple[int, int | None], int]:
    """The number by which the program calls each device, where that is not the trace's: its place among the GPUs.

    A program that is shown some of the machine's GPUs only (HIP_VISIBLE_DEVICES) counts those.
    """
    if trace.facts.format not in BY_NODE or not trace.has("device"):
        return {}
    found: dict[tuple[int, int | None], int] = {}
    counts: dict[int, int] = {}
    for process, device in trace.sql(DEVICES).rows():
        found[process, device] = counts.get(process, 0)
        counts[process] = found[process, device] + 1
    return found
