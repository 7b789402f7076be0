"""Ids that are 0, shared, or of one process only: work is linked to the call that caused it, or to none."""

from pathlib import Path

from tests.collect.kineto_traces import duration, read_events, rows_of
from tests.real_world.traces import example, kernel, launch, launched, notes
from tracelode.store.facts import facts
from tracelode.store.health import Coverage, health


def test_the_correlation_0_of_many_kernels_is_no_correlation(tmp_path: Path) -> None:
    """ROCm/roctracer#100: all RCCL kernels had correlation 0, and so the operator of whatever call had it as well."""
    op = duration("cpu_op", "aten::empty", 10, 11, 80, 40)
    events = [op, launch(90, 0, "hipMalloc"), kernel("rccl_a", 100, 5, 0), kernel("rccl_b", 200, 5, 0)]
    trace = read_events(tmp_path, *events, *launched("gemm", 300, 5, 1))
    rows = rows_of(trace, "kernel")
    assert [(row["name"], row.get("launch_ns"), row.get("op")) for row in rows] == [
        ("rccl_a", None, None),
        ("rccl_b", None, None),
        ("gemm", 290_000, None),
    ]
    assert notes(trace)["zero-correlation"] == 2


def test_one_kernel_with_correlation_0_may_have_that_id(tmp_path: Path) -> None:
    """ROCm/roctracer#100, the other way round: some recorders count from 0."""
    trace = read_events(tmp_path, *launched("first", 100, 5, 0), *launched("second", 200, 5, 1))
    assert [row["launch_ns"] for row in rows_of(trace, "kernel")] == [90_000, 190_000]
    assert notes(trace) == {}


def test_ranks_merged_under_one_process_are_told_by_their_ids(tmp_path: Path) -> None:
    """TraceLens#581, #577: merged ranks collide on correlation ids: that is said, and what it spoils."""
    ranks = [(0, 100), (1, 5000)]
    events = [
        event
        for device, ts in ranks
        for event in (launch(ts, 1), kernel("a", ts + 10, 5, 1, device=device), launch(ts + 50, 2))
    ]
    trace = read_events(tmp_path, *events)
    assert facts(trace)["kernel_time_ns"] == 10_000
    assert notes(trace) == {"repeated-correlation": 2, "duplicate-correlation": 2, "shared-launch": 2}
    assert "launch latency and causes of idle time" in [one.quantity for one in health(trace).unreliable]


def test_ranks_merged_under_their_own_processes_keep_their_links(tmp_path: Path) -> None:
    """TraceLens#581, VeloQ: the same correlation in two processes is two launches; their clocks need not agree."""
    events = []
    for rank, (pid, ts) in enumerate([(10, 100), (20, 5000)]):
        work = [launch(ts, 1, pid=pid), kernel("a", ts + 10, 5, 1, device=rank)]
        for event in work:
            event["args"]["rank"] = rank
        events += work
    trace = read_events(tmp_path, *events)
    assert [(row["process"], row["launch_ns"]) for row in rows_of(trace, "kernel")] == [(10, 100_000), (20, 5_000_000)]
    assert [(row["process"], row["rank"]) for row in rows_of(trace, "process")] == [(10, 0), (20, 1)]
    assert notes(trace) == {"merged-ranks": 2}
    assert [one.quantity for one in health(trace).unreliable] == ["times compared between processes"]


def test_work_queued_before_the_recording_has_no_launch_and_is_counted(tmp_path: Path) -> None:
    """chakra#128: orphans on AMD; they count as work, and as work without a launch."""
    trace = read_events(tmp_path, kernel("orphan", 50, 5, 999), *launched("a", 100, 5, 1))
    assert facts(trace)["kernels_without_call"] == 1
    assert facts(trace)["kernel_time_ns"] == 10_000
    assert notes(trace) == {"no-launch": 1}
    assert Coverage("kernel", "launching call", 1, 2) in health(trace).coverage


def test_kernels_of_which_no_launch_is_known_say_so(tmp_path: Path) -> None:
    """pytorch#125272: "51361 vs 0 reassociated": none of the work could be linked."""
    events = [kernel("k", 100 * c, 5, 1000 + c) for c in range(1, 6)]
    trace = read_events(tmp_path, *events, launch(50, 1))
    assert facts(trace)["kernels_without_launch"] == 5
    assert Coverage("kernel", "launching call", 0, 5) in health(trace).coverage
    assert example(trace, "no-launch") == "5 of 5 rows of kernel"


def test_arrows_are_never_what_links(tmp_path: Path) -> None:
    """roctracer#111, kineto#788: arrows start twice, or are missing for cudaLaunchKernelExC."""
    twice = {"ph": "s", "id": 1, "pid": 10, "tid": 11, "ts": 90, "cat": "ac2g", "name": "ac2g"}
    events = [twice, twice, *launched("a", 100, 5, 1), launch(190, 2, "cudaLaunchKernelExC"), kernel("b", 200, 5, 2)]
    trace = read_events(tmp_path, *events)
    assert [row["launch_ns"] for row in rows_of(trace, "kernel")] == [90_000, 190_000]
    assert len(rows_of(trace, "flow")) == 2
    assert facts(trace)["kernels_without_launch"] == 0
    assert notes(trace) == {}


def test_streams_of_two_devices_are_two_streams(tmp_path: Path) -> None:
    """VeloQ: stream 7 of device 0 and stream 7 of device 1 have nothing in common."""
    events = [launch(90, 1), kernel("a", 100, 50, 1, device=0), launch(95, 2), kernel("b", 110, 50, 2, device=1)]
    trace = read_events(tmp_path, *events)
    assert (facts(trace)["devices"], facts(trace)["streams"]) == (2, 2)
    assert notes(trace) == {}
