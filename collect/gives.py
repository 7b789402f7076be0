"""What each format can give, and the option of its recorder that does: for saying how to record what is missing."""

from collections.abc import Mapping, Set

__all__ = ["hints"]

KINETO_DEVICE = "activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]"
CUDA_VENDORS = frozenset({"nvidia", "amd"})
"""PyTorch records the devices of both as CUDA; those of others it records as something else."""
ROCPROFV3 = {
    "kernel": "rocprofv3 --kernel-trace",
    "copy": "rocprofv3 --memory-copy-trace",
    "api": "rocprofv3 --hip-runtime-trace",
    "range": "rocprofv3 --marker-trace",
    "allocation": "rocprofv3 --memory-allocation-trace",
}
KFD = {"fault": "rocprofv3 --kfd-trace", "migration": "rocprofv3 --kfd-trace"}
"""Not in its CSV files."""

GIVES: Mapping[str, Mapping[str, str]] = {
    "kineto": {
        "kernel": KINETO_DEVICE,
        "copy": KINETO_DEVICE,
        "api": KINETO_DEVICE,
        "op": "activities=[ProfilerActivity.CPU, ...]",
        "range": "record_function(...), or a schedule with profiler.step()",
        "allocation": "profile_memory=True",
    },
    "nsys": {
        "kernel": "nsys profile --trace=cuda",
        "copy": "nsys profile --trace=cuda",
        "api": "nsys profile --trace=cuda",
        "range": "nsys profile --trace=nvtx",
        "allocation": "nsys profile --cuda-memory-usage=true",
        "fault": "nsys profile --cuda-um-gpu-page-faults=true --cuda-um-cpu-page-faults=true",
    },
    "recording": {
        "kernel": "tracelode record",
        "copy": "tracelode record",
        "api": "tracelode record --calls",
        "op": "tracelode record --hooks op",
        "range": "tracelode record --hooks module,phase, or tracelode.collect.agent.range",
        "allocation": "tracelode record --hooks tensor",
        "fault": "tracelode record --uvm",
        "migration": "tracelode record --uvm",
    },
    "nvprof": {"api": "nvprof --profile-api-trace all", "range": "nvtxRangePush"},
    "nvprof_text": {"kernel": "nvprof --print-gpu-trace", "copy": "nvprof --print-gpu-trace"},
    "kfd_smi": dict.fromkeys(("fault", "migration"), "python -m tracelode.collect.kfd_recorder"),
    "rocpd": ROCPROFV3 | KFD,
    "rocprofv3_csv": ROCPROFV3,
    "rocprofv3_json": ROCPROFV3 | KFD,
    "rocprof_v1": {"kernel": "rocprof --stats", "copy": "rocprof --hsa-trace", "api": "rocprof --hip-trace"},
}


def hints(format: str, vendors: Set[str] = frozenset()) -> Mapping[str, str]:
    """How to record each table that a trace of that format (`facts.format`) can hold; empty where nothing is known.

    `vendors` are those of its devices, as far as they are known. A hint is empty where the option is not known.
    """
    known = GIVES.get(format, {})
    if vendors and not vendors & CUDA_VENDORS:
        known = {table: "" if hint == KINETO_DEVICE else hint for table, hint in known.items()}
    return known
