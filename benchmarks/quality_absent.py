"""Public traces without iterations: single passes, a single step, micro-benchmarks of single calls"""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.quality_corpus import corpus, trace_of
from tracelode.mining.iterations import levels
from tracelode.mining.sequence import sequences

__all__ = ["SINGLE", "rows"]

SINGLE = (
    "kineto/param-dlrm-8rank",
    "kineto/tracelens-b200-eager",
    "kineto/tracelens-h100-timesformer",
    "kineto/tracelens-h100-vit",
    "kineto/tracelens-mi300-bert",
    "kineto/tracelens-mi300-normalization",
    "kineto/tracelens-mi300-qwen",
    "kineto/tracelens-mi300-vit",
    "kineto/tracelens-sglang-decode",
    "kineto/tracelens-sglang-deepseek-r1",
    "kineto/tracelens-sglang-prefill-decode",
    "kineto/tracelens-vllm-decode-graph",
    "kineto/tracelens-vllm-piecewise",
    "kineto/tracelens-vllm-piecewise-capture",
    "rocprofv3-csv/llamacpp-prefill",
    "rpd/rmpd-matmul",
)
"""Each holds one pass of a model, one step, or calls of an operator one by one; layers repeat in it, steps do not."""


def rows(seeds: Sequence[int]) -> list[dict[str, object]]:
    """A row a file: the iterations that were found all the same. None without the corpus."""
    folder = corpus()
    if folder is None:
        return []
    return [
        _row(path, folder)
        for name in SINGLE
        for path in sorted((folder / name).iterdir())
        if "api_trace" not in path.name
    ]


def _row(path: Path, folder: Path) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as archive:
        found = sequences(trace_of(path, Path(archive)))
        told = [(s, levels(s.symbols, s.start_ns, s.end_ns, s.launch_ns)) for s in found]
    chosen = [level for _, some in told for level in some if level.kind == "iteration"]
    return {
        "trace": str(path.relative_to(folder)),
        "operations": sum(len(sequence.symbols) for sequence, _ in told),
        "found": ", ".join(f"{level.period} × {level.count}" for level in chosen) or "none",
        "confidence": ", ".join(f"{level.confidence:.2f}" for level in chosen) or None,
    }
