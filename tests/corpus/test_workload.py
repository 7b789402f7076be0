"""The workload report's figures on public traces, against sums over the raw files that share no code with it."""

import gzip
import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tracelode.collect.ingest import read
from tracelode.mining.mine import find, mine
from tracelode.store import Archive, Trace
from tracelode.store.errors import NotCollected

pytestmark = pytest.mark.corpus

RESNET = "kineto/tracelens-mi300-ddp-resnet18/train_resnet18.json.gz"
VIT = "kineto/tracelens-h100-vit/Falconsai_nsfw_image_detection__1016002.json.gz"
QWEN = "kineto/tracelens-mi300-qwen/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz"
SNAPSHOT = "memory-snapshot/cs336-ctx128-fullstep/ctx128-fullstep.pickle.gz"
SEVERAL = (
    RESNET,
    VIT,
    "kineto/param-dlrm-8rank/worker0_step_12.pt.trace.json.gz",
    "kineto/tracelens-sglang-decode/sglang_Qwen3-8B_decode.json.gz",
    "nsys-sqlite/fuser-h200-nvtx/report1.sqlite",
)


LIVES = """
select count(*), sum(bytes)::bigint, (sum(bytes) filter (at_peak = 1))::bigint
from memory_life
where granularity = (select max(granularity) from memory_life)
"""


def _events(corpus: Path, name: str) -> list[dict[str, Any]]:
    return json.loads(gzip.decompress((corpus / name).read_bytes()))["traceEvents"]


def _trace(corpus: Path, name: str, folder: Path) -> tuple[Trace, Archive]:
    archive = Archive(folder / "archive")
    return read(corpus / name, archive)[0], archive


def test_kernel_time_by_operator_is_that_of_the_raw_file(corpus: Path, tmp_path: Path) -> None:
    events = _events(corpus, RESNET)
    names = {e["args"]["External id"]: e["name"] for e in events if e.get("cat") == "cpu_op"}
    expected: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for event in events:
        if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
            found = expected[names.get(event["args"]["External id"], "(unattributed)")]
            found[0] += event["cat"] == "kernel"
            found[1] += round(event["dur"] * 1000)
    rows = find(*_trace(corpus, RESNET, tmp_path), "by_operator").rows
    assert {
        part: [launches, ns] for part, launches, ns in rows.select("part", "launches", "work_ns").rows()
    } == expected


def test_launches_by_name_are_those_of_the_raw_file(corpus: Path, tmp_path: Path) -> None:
    counted = Counter[str]()
    for event in _events(corpus, RESNET):
        if event.get("cat") == "kernel":
            counted[event["name"].removeprefix("void ").split("<")[0].strip() or event["name"]] += 1
    rows = find(*_trace(corpus, RESNET, tmp_path), "kernel_ranks").rows
    assert dict(rows.select("name", "calls").rows()) == counted


@pytest.mark.parametrize(
    ("path", "device_type", "kernels", "known"),
    # of the second, 463 kernels are before the first memory event: what was allocated then is not known
    [(VIT, 1, 154, 154), (QWEN, 6, 1516, 1053)],
)
def test_peak_and_means_are_those_of_the_raw_totals(
    corpus: Path, tmp_path: Path, path: str, device_type: int, kernels: int, known: int
) -> None:
    events = _events(corpus, path)
    told = sorted(
        (round(e["ts"] * 1000), place, e["args"]["Total Allocated"])
        for place, e in enumerate(events)
        if e["name"] == "[memory]" and e["args"]["Device Type"] == device_type
    )
    time, _, held = (np.array(column) for column in zip(*told, strict=True))
    calls = {
        e["args"]["correlation"]: round(e["ts"] * 1000)
        for e in events
        if e.get("cat") in ("cuda_runtime", "cuda_driver")
    }
    kernel_events = (event for event in events if event.get("cat") == "kernel")
    asked = np.array([calls.get(e["args"]["correlation"], round(e["ts"] * 1000)) for e in kernel_events])
    place = np.searchsorted(time, asked, "right") - 1
    at_launch = held[place[place >= 0]]
    rows = find(*_trace(corpus, path, tmp_path), "memory_footprint").rows
    row = rows.filter(rows["granularity"] == "tensor").row(0, named=True)
    assert (row["peak_bytes"], row["changes"]) == (held.max(), len(held))
    assert (row["launches"], row["all_launches"], len(at_launch)) == (known, kernels, known)
    assert row["launch_mean_bytes"] == pytest.approx(at_launch.mean(), rel=1e-12)
    assert row["time_mean_bytes"] == pytest.approx((held[:-1] * np.diff(time)).sum() / (time[-1] - time[0]), rel=1e-9)


def test_what_holds_the_peak_of_a_snapshot_adds_up_to_it(corpus: Path, tmp_path: Path) -> None:
    trace, archive = _trace(corpus, SNAPSHOT, tmp_path)
    rows = find(trace, archive, "memory_holders").rows
    lives = trace.sql("select bytes, birth_ns, death_ns from allocation where kind = 'tensor'")
    birth, death = lives["birth_ns"].fill_null(0).to_numpy(), lives["death_ns"].fill_null(2**62).to_numpy()
    size = lives["bytes"].to_numpy()
    times = np.unique(birth)
    # what is alive just after each birth, by two sorted sums instead of a walk
    born = np.searchsorted(np.sort(birth), times, "right")
    gone = np.searchsorted(np.sort(death), times, "right")
    in_birth, in_death = np.r_[0, np.cumsum(size[np.argsort(birth)])], np.r_[0, np.cumsum(size[np.argsort(death)])]
    peak = int((in_birth[born] - in_death[gone]).max())
    tensors = rows.filter(rows["granularity"] == "tensor")
    assert int(tensors["bytes"].sum()) == peak
    assert find(trace, archive, "memory_footprint").rows["peak_bytes"].to_list()[1] == peak


@pytest.mark.parametrize("name", SEVERAL)
def test_parts_add_up_to_all_device_work(corpus: Path, tmp_path: Path, name: str) -> None:
    trace, archive = _trace(corpus, name, tmp_path)
    tables = [table for table in ("kernel", "copy", "fill") if trace.has(table)]
    whole = sum(trace.sql(f"select sum(duration_ns) from {table}").item() for table in tables)
    counts = {table: trace.sql(f"select count(*) from {table}").item() for table in tables}
    mined = mine(trace, archive, "attribution", "memory_use")
    assert mined.sql("select sum(work_ns) from attribution").item() == whole
    for analysis in ("by_operator", "by_phase", "by_module", "by_module_kind", "by_family"):
        try:
            rows = find(trace, archive, analysis).rows
        except NotCollected:
            continue
        assert rows["work_ns"].sum() == whole, analysis
        for table, column in (("kernel", "launches"), ("copy", "copies"), ("fill", "fills")):
            assert rows[column].sum() == counts.get(table, 0), analysis
        if analysis != "by_family" and mined.has("memory_life"):
            assert rows.select("allocations", "allocated_bytes", "peak_bytes").sum().row(0) == mined.sql(LIVES).row(0)


@pytest.mark.parametrize(
    "name",
    [
        "kineto/hta-nccl/nccl_data.json.gz",
        "kineto/hta-ns-resolution/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz",
        "kineto/hta-trace-diff-control/control.json.gz",
        "kineto/hta-negative-queue/rank0.json.gz",
    ],
)
def test_linked_kernels_are_in_an_operator_unless_none_is_around_their_call(
    corpus: Path, tmp_path: Path, name: str
) -> None:
    trace, archive = _trace(corpus, name, tmp_path)
    mined = mine(trace, archive, "attribution")
    linked, told = mined.sql(
        "select count(*), count(operator) from attribution where kind = 'kernel' and linked = 1"
    ).row(0)
    around = """
        select count(*)
        from kernel
        where launch_ns is not null and not exists (
            select 1
            from op
            where op.process = kernel.process and op.thread = kernel.launch_thread
                and op.start_ns <= kernel.launch_ns and op.end_ns > kernel.launch_ns
        )
    """
    assert linked - told == mined.sql(around).item()
    assert told >= 0.98 * linked
