"""The queries of docs/sql.md, unchanged, on samples of NVIDIA's and of AMD's tools that show the same run."""

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from data.generator.records import Copy, Fill, Kernel
from data.generator.small import hip, small_run
from tests.samples import sample
from tracelode.collect.ingest import read
from tracelode.store import Archive, Trace

PAGE = Path(__file__).parents[2] / "docs" / "sql.md"
TOP_KERNELS, COPIES, LATENCY, *_ = re.findall(r"```sql\n(.*?)```", PAGE.read_text(), re.DOTALL)
NVIDIA, AMD = ("nsys", "kineto"), ("rocpd", "rocprofv3_json", "rocprofv3_csv")
FILLER = "__amd_rocclr_fillBufferAligned"


def calls() -> list[Any]:
    """The run's calls that put work on the device."""
    return [call for segment in small_run().segments() for call in segment.calls if call.work]


def kernels(format: str) -> list[tuple[str, int, int]]:
    """Name, duration and launch latency of each kernel of the run; on AMD a fill is a kernel too."""
    found: list[tuple[str, int, int]] = []
    for call in calls():
        spec, duration, latency = (
            call.work.spec,
            call.work.end_ns - call.work.start_ns,
            call.work.start_ns - call.start_ns,
        )
        if isinstance(spec, Kernel):
            found.append((hip(spec.name) if format in AMD else spec.name, duration, latency))
        elif isinstance(spec, Fill) and format in AMD:
            found.append((FILLER, duration, latency))
    return found


@pytest.fixture
def trace(tmp_path: Path) -> Callable[[str], Trace]:
    """Reads the sample of a format."""
    return lambda format: read(sample(format), Archive(tmp_path / "archive"))[0]


@pytest.mark.parametrize("format", [*NVIDIA, *AMD])
def test_top_kernels(format: str, trace: Callable[[str], Trace]) -> None:
    times: dict[str, list[int]] = {}
    for name, duration, _ in kernels(format):
        times.setdefault(name, []).append(duration)
    expected = sorted(((name, len(one), sum(one)) for name, one in times.items()), key=lambda row: (-row[2], row[0]))
    assert trace(format).sql(TOP_KERNELS).rows() == expected


@pytest.mark.parametrize("format", [*NVIDIA, *AMD])
def test_copies_by_direction(format: str, trace: Callable[[str], Trace]) -> None:
    copies = [call.work for call in calls() if isinstance(call.work.spec, Copy)]
    expected = []
    for kind in ("DtoH", "HtoD"):
        these = [work for work in copies if work.spec.direction == kind]
        size = None if format == "rocprofv3_csv" else sum(work.spec.bytes for work in these)
        expected.append((kind, len(these), size, sum(work.end_ns - work.start_ns for work in these)))
    assert trace(format).sql(COPIES).rows() == expected


@pytest.mark.parametrize("format", [*NVIDIA, *AMD])
def test_launch_latency(format: str, trace: Callable[[str], Trace]) -> None:
    latencies = sorted(latency for _, _, latency in kernels(format))
    p50, p95 = (latencies[math.ceil(share * len(latencies)) - 1] for share in (0.5, 0.95))
    assert trace(format).sql(LATENCY).rows() == [(len(latencies), p50, p95)]
