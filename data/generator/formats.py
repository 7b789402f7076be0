"""The same small run in every format that we can write: one folder for each, named after its reader."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from .database import shrink
from .kineto import write_kineto
from .managed import write_kfd_smi, write_unified_memory
from .nsys import write_nsys
from .nsys_forms import in_form, write_arrow, write_lines, write_parquet
from .nsys_recipe import write_recipe
from .nvprof import write_nvprof, write_nvprof_text
from .perfetto import write_perfetto
from .perfetto_text import write_perfetto_text
from .recording import write_recording
from .rocpd import write_rocpd
from .rocprof import write_rocprof
from .rocprofv3 import write_rocprofv3_csv, write_rocprofv3_json
from .rpd import write_rpd, write_rpd_json
from .run import Run
from .small import HIP_NAMES, small_run
from .snapshot import write_snapshot
from .truth import truth
from .xplane import write_xplane

__all__ = ["FORMATS", "write_formats"]


def _write_small_nsys(run: Run, path: Path) -> None:
    write_nsys(run, path)
    shrink(path)


FORMATS: Mapping[str, tuple[str, Callable[[Run, Path], None]]] = {
    "kfd_smi": ("small.kfd", write_kfd_smi),
    "kineto": ("small.pt.trace.json", write_kineto),
    "memory_snapshot": ("small.pickle", write_snapshot),
    "nsys": ("small.sqlite", _write_small_nsys),
    "nsys_arrow": ("small.arrows", in_form(write_arrow)),
    "nsys_jsonl": ("small.jsonl", in_form(write_lines)),
    "nsys_parquet": ("small_pqtdir", in_form(write_parquet)),
    "nsys_recipe": ("nvtx_gpu_proj_trace-1", write_recipe),
    "nvprof": ("small.nvprof", write_nvprof),
    "nvprof_text": ("small.csv", write_nvprof_text),
    "perfetto": ("41200_results.pftrace", write_perfetto),
    "perfetto_text": ("41200_results.textproto", write_perfetto_text),
    "recording": ("node0-41200-18901ab1c0b9cd15", write_recording),
    "rocpd": ("41200_results.db", write_rocpd),
    "rocprof_v1": ("results.json", write_rocprof),
    "rocprofv3_csv": ("41200_kernel_trace.csv", write_rocprofv3_csv),
    "rocprofv3_json": ("41200_results.json", write_rocprofv3_json),
    "rpd": ("small.rpd", write_rpd),
    "rpd_json": ("small.json", write_rpd_json),
    "unified_memory": ("unified_memory-41200.json", write_unified_memory),
    "xplane": ("node0.xplane.pb", write_xplane),
}
"""What the sample of each format is called, as its tool calls it, and what writes it."""


def write_formats(folder: Path) -> None:
    """Writes the samples, and the truth about the run with the names that AMD's software has for its kernels."""
    run = small_run()
    for format, (name, write) in FORMATS.items():
        (folder / format).mkdir(parents=True, exist_ok=True)
        write(run, folder / format / name)
    told = {**truth(run), "hip_names": HIP_NAMES}
    (folder / "truth.json").write_text(json.dumps(told, indent=1) + "\n")
