"""What is read from the sample of every format: against reviewed files, and against the truth of the simulated run."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.samples import FORMATS, sample, truth
from tracelode.collect.ingest import read
from tracelode.store import Archive, Trace
from tracelode.store.facts import facts

GOLDEN = Path(__file__).parent / "formats"
FILLER = "__amd_rocclr_fillBufferAligned"
"""The kernel that fills memory: to the profilers that know no fills it is one like any other."""

SAME_RUN = ("kineto", "nsys", "nsys_arrow", "nsys_jsonl", "nsys_parquet", "nvprof", "nvprof_text", "perfetto",
            "perfetto_text", "rocpd", "rocprof_v1", "rocprofv3_csv", "rocprofv3_json", "rpd", "rpd_json",
            "xplane")  # fmt: skip
"""The formats whose sample shows the simulated run; those of memory or of operators alone show other things."""

AMD = frozenset(
    {"perfetto", "perfetto_text", "rocpd", "rocprof_v1", "rocprofv3_csv", "rocprofv3_json", "rpd", "rpd_json"}
)
WHOLE_MICROSECONDS = frozenset({"rpd_json"})


@pytest.fixture
def traces(tmp_path: Path) -> Any:
    """Reads the sample of a format."""
    return lambda format: read(sample(format), Archive(tmp_path / "archive"))[0]


@pytest.mark.parametrize("format", FORMATS)
def test_a_sample_is_read_as_reviewed(format: str, traces: Any) -> None:
    trace: Trace = traces(format)
    found = {
        "format": trace.facts.format,
        "producer": trace.facts.producer,
        "framework": trace.facts.framework,
        "host": trace.facts.host,
        "clock": trace.facts.clock,
        "base_unix_ns": trace.facts.base_unix_ns,
        "labels": dict(trace.facts.labels),
        "facts": facts(trace),
        "tables": dict(sorted(trace.rows.items())),
        "notes": [{"kind": n.kind, "count": n.count, "example": n.example, "meaning": n.meaning} for n in trace.notes],
    }
    text = json.dumps(found, indent=1, ensure_ascii=False) + "\n"
    expected = GOLDEN / f"{format}.json"
    if os.environ.get("TRACELODE_GOLDEN") == "write":
        expected.write_text(text)
    assert json.loads(text) == json.loads(expected.read_text())
    assert trace.facts.format == format  # as the table `source` calls it


@pytest.mark.parametrize("format", SAME_RUN)
def test_the_kernels_of_a_sample_are_those_of_the_run(format: str, traces: Any) -> None:
    told, names = truth(), truth()["hip_names"] if format in AMD else {}
    kernels = traces(format).kernel.collect()
    found: dict[str, list[int]] = {}
    for name, start, end in kernels.select("name", "start_ns", "end_ns").iter_rows():
        if name != FILLER:
            found.setdefault(name, []).append(end - start)
    expected = {names.get(name, name): one for name, one in told["kernel_names"].items()}
    assert {name: len(times) for name, times in found.items()} == {n: one["count"] for n, one in expected.items()}
    for name, times in found.items():
        coarse = 1000 * len(times) if format in WHOLE_MICROSECONDS else 0
        assert expected[name]["time_ns"] - coarse <= sum(times) <= expected[name]["time_ns"]


@pytest.mark.parametrize("format", SAME_RUN)
def test_the_copies_and_fills_of_a_sample_are_those_of_the_run(format: str, traces: Any) -> None:
    told = truth()
    trace: Trace = traces(format)
    found = facts(trace)
    assert found["memcpy"] == {kind: one["count"] for kind, one in told["copies"].items()}
    if format not in ("rocprof_v1", "rocprofv3_csv", "rpd_json"):  # which do not say how much a copy moved
        assert found["memcpy_bytes"] == {kind: one["bytes"] for kind, one in told["copies"].items()}
    fillers = sum(name == FILLER for name in trace.kernel.collect()["name"])
    assert found["memset"] + fillers == told["fills"]["count"]


@pytest.mark.parametrize("format", [format for format in SAME_RUN if format != "nvprof_text"])
def test_the_calls_of_a_sample_are_those_of_the_run(format: str, traces: Any) -> None:
    told = truth()
    names = {name: name for name in told["calls"]}
    if format in AMD:
        names = {name: told["hip_names"].get(name, name.replace("cuda", "hip", 1)) for name in names}
    calls = traces(format).api.collect()
    found: dict[str, int] = {}
    for name, kind in calls.select("name", "kind").iter_rows():
        if kind != "marker":  # RPD keeps the program's marks among the calls
            name = name.split("_v")[0]
            found[name] = found.get(name, 0) + 1
    assert found == {names[name]: count for name, count in told["calls"].items()}


def test_the_recipe_shows_when_the_device_worked_for_the_ranges_of_the_run(traces: Any) -> None:
    told, found = truth(), traces("nsys_recipe").range.collect()
    outer = [json.loads(text) for text in found.filter(found["parent_id"].is_null())["args"]]
    assert sum(args["NumGPUOps"] for args in outer) == told["operations"]
    assert (found["start_ns"].min(), found["end_ns"].max()) == (told["gpu_first_ns"], told["gpu_last_ns"])
    assert set(found["kind"]) == {"device_annotation"}


def test_the_snapshot_shows_the_memory_of_the_run(traces: Any) -> None:
    told, blocks = truth()["memory"], traces("memory_snapshot").allocation.collect()
    tensors = blocks.filter(blocks["kind"] == "tensor")
    assert (len(tensors), tensors["death_ns"].count()) == (told["births"], told["deaths"])
