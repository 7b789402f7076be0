"""Times that overlap, overflow, run backwards or are not there: what is wrong is marked, and in no sum."""

import json
from pathlib import Path

import pytest

from tests.collect.kineto_traces import duration, read_bytes, read_events, rows_of
from tests.real_world.traces import example, kernel, kernels, launch, launched, notes
from tracelode.collect.ingest import read
from tracelode.mining.mine import find
from tracelode.store import Archive
from tracelode.store.facts import facts
from tracelode.store.health import health


def test_kernels_that_overlap_on_a_stream_all_count(tmp_path: Path) -> None:
    """perfetto#4280, #6284, kineto#1186: programmatic dependent launch overlaps neighbours; nothing is dropped."""
    events = [launch(10 * c, c) for c in range(1, 4)]
    events += [kernel("a", 100, 50, 1), kernel("b", 140, 40, 2), kernel("c", 175, 20, 3)]
    trace = read_events(tmp_path, *events)
    assert kernels(trace) == [("a", 50000), ("b", 40000), ("c", 20000)]
    assert notes(trace) == {"overlap": 2}
    assert example(trace, "overlap") == "15000 ns shared in all; 0 lie within another"
    assert [row.get("flaw") for row in rows_of(trace, "kernel")] == [None, None, None]


def test_busy_time_counts_what_overlaps_once(tmp_path: Path) -> None:
    """perfetto#4280: the sum over kernels is 110 us, the stream is busy for 95."""
    path = tmp_path / "trace.json"
    events = [launch(10 * c, c) for c in range(1, 4)]
    events += [kernel("a", 100, 50, 1), kernel("b", 140, 40, 2), kernel("c", 175, 20, 3)]
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    archive = Archive(tmp_path / "archive")
    trace, _ = read(path, archive)
    states = find(trace, archive, "states").rows
    assert states.select("state", "time_ns", "share").rows() == [("compute", 95000, 1.0)]


def test_spans_that_overlap_on_a_thread_are_all_kept(tmp_path: Path) -> None:
    """perfetto#6277: 7,265 of 85,533 slices of a JAX trace were dropped for overlapping."""
    spans = [{"ph": "X", "name": f"fusion.{n}", "pid": 1, "tid": 2, "ts": 10 * n, "dur": 15} for n in range(5)]
    trace = read_bytes(tmp_path, json.dumps({"displayTimeUnit": "ns", "traceEvents": spans}).encode())
    assert trace.sql("select name, duration_ns from range order by start_ns").rows() == [
        (f"fusion.{n}", 15000) for n in range(5)
    ]


def test_a_step_that_ends_before_what_is_in_it_keeps_its_times(tmp_path: Path) -> None:
    """perfetto#928, pytorch#174555: a child that ends after its parent made ProfilerStep spans vanish."""
    step = duration("user_annotation", "ProfilerStep#3", 10, 11, 100, 50)
    late = duration("user_annotation", "record", 10, 11, 140, 20)
    trace = read_events(tmp_path, step, late)
    assert [(row["name"], row["start_ns"], row["end_ns"]) for row in rows_of(trace, "range")] == [
        ("ProfilerStep#3", 100000, 150000),
        ("record", 140000, 160000),
    ]


def test_seven_overlong_kernels_of_many_do_not_change_the_sum(tmp_path: Path) -> None:
    """Hyperloom#1116, TraceLens#669: 7 bad events of 55,423 became 62 % of the time, running over what comes next."""
    events = [event for c in range(1, 701) for event in launched("gemm", 1000 + 20 * c, 10, c)]
    for at in range(1, 1400, 200):
        events[at]["dur"] = 1_000_000 / 7
    trace = read_events(tmp_path, *events)
    assert facts(trace)["kernels"] == 700
    assert facts(trace)["kernel_time_ns"] == 693 * 10_000
    assert notes(trace) == {"overlong": 7}
    (flawed,) = health(trace).flawed
    assert (flawed.table, flawed.flaw, flawed.count, flawed.claimed_ns) == ("kernel", "overlong", 7, 7 * 142_857_143)
    assert trace.sql("select max(duration_ns), avg(duration_ns) from kernel").row(0) == (10_000, 10_000.0)


def test_one_malformed_event_does_not_make_an_idle_device_busy(tmp_path: Path) -> None:
    """TraceLens#972: one event of 1,754 ms over 30 empty steps was reported as 0.04 % idle."""
    path, archive = tmp_path / "trace.json", Archive(tmp_path / "archive")
    events = [event for c in range(1, 31) for event in launched("step", 1000 * c, 10, c)]
    events += launched("malformed", 1500, 1_754_000, 99)
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    trace, _ = read(path, archive)
    assert notes(trace) == {"overlong": 1}
    states = dict(find(trace, archive, "states").rows.select("state", "time_ns").rows())
    assert states == {"idle": 29 * 990_000, "compute": 300_000}
    assert "busy and idle time" in [one.quantity for one in health(trace).unreliable]


def test_a_long_kernel_that_runs_over_nothing_is_no_flaw(tmp_path: Path) -> None:
    """Hyperloom#1116, the other way round: a collective that waits long for another rank is what happened."""
    events = [event for c in range(1, 50) for event in launched("ncclDevKernel_AllReduce", 1000 * c, 10, c)]
    trace = read_events(tmp_path, *events, *launched("ncclDevKernel_AllReduce", 60_000, 5_000_000, 99))
    assert facts(trace)["kernel_time_ns"] == 49 * 10_000 + 5_000_000_000
    assert notes(trace) == {}


def test_times_below_a_microsecond_keep_every_nanosecond(tmp_path: Path) -> None:
    """HTA#317, #342, pytorch#122425: rounding start up and end down gave kernels of negative time, or overlaps."""
    trace = read_events(
        tmp_path, launch(90, 1), kernel("k", 100.6, 0.3, 1), launch(95, 2), kernel("l", 100.9, 0.101, 2)
    )
    assert kernels(trace) == [("k", 300), ("l", 101)]
    assert notes(trace) == {}


def test_a_kernel_without_times_is_counted_and_moves_no_extent(tmp_path: Path) -> None:
    """kineto#109: kernels with ts 0 and dur 0 among others with times."""
    base = 1_712_195_495_505_582
    events = [
        *launched("a", base, 5, 1),
        *launched("b", base + 100, 7, 2),
        launch(base + 150, 3),
        kernel("lost", 0, 0, 3),
    ]
    trace = read_events(tmp_path, *events)
    told = facts(trace)
    assert (told["kernels"], told["kernel_time_ns"]) == (3, 12_000)
    assert (told["gpu_first_ns"], told["gpu_last_ns"]) == (base * 1000, (base + 107) * 1000)
    assert kernels(trace)[0] == ("lost", None)
    assert notes(trace) == {"no-start": 1}


def test_a_kernel_without_times_does_not_make_the_device_idle_for_years(tmp_path: Path) -> None:
    """kineto#109: it is in no span of device time."""
    path, archive, base = tmp_path / "trace.json", Archive(tmp_path / "archive"), 1_712_195_495_505_582
    events = [
        *launched("a", base, 5, 1),
        *launched("b", base + 100, 7, 2),
        launch(base + 150, 3),
        kernel("lost", 0, 0, 3),
    ]
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    trace, _ = read(path, archive)
    states = dict(find(trace, archive, "states").rows.select("state", "time_ns").rows())
    assert states == {"idle": 95_000, "compute": 12_000}


def test_a_negative_duration_is_no_duration(tmp_path: Path) -> None:
    """kineto#646: not a sum, not a mean, not a swap of start and end; what was recorded is kept."""
    trace = read_events(tmp_path, *launched("a", 100, -4, 1), *launched("a", 200, 6, 2))
    assert trace.sql("select count(*), sum(duration_ns), avg(duration_ns) from kernel").row(0) == (2, 6000, 6.0 * 1000)
    first = rows_of(trace, "kernel")[0]
    assert (first["flaw"], first["args"]["recorded_end_ns"]) == ("negative duration", 96_000)
    assert notes(trace) == {"negative-duration": 1}


def test_a_dispatch_whose_start_is_after_its_end_is_marked(tmp_path: Path) -> None:
    """rocm-examples#479: on integrated GPUs the two time stamps of a dispatch come swapped, 1.5 to 209 us apart."""
    head = (
        '"Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name",'
        '"Correlation_Id","Start_Timestamp","End_Timestamp"\n'
    )
    rows = (
        '"KERNEL_DISPATCH","Agent 1",1,0,7,1,3,"good",1,1000,5000\n'
        '"KERNEL_DISPATCH","Agent 1",1,0,7,2,3,"swapped",2,9000,7500\n'
    )
    path = tmp_path / "9_kernel_trace.csv"
    path.write_text(head + rows)
    trace, _ = read(path, Archive(tmp_path / "archive"))
    assert kernels(trace) == [("good", 4000), ("swapped", None)]
    assert notes(trace)["negative-duration"] == 1


@pytest.mark.parametrize("length", [18446744073709551.615, 18446744073709548, 4e15, 3_000_000_000_000])
def test_a_counter_that_overflowed_is_no_duration(tmp_path: Path, length: float) -> None:
    """HTA 0.6.0: users set a largest duration by hand, since overflown time stamps hide everything else."""
    trace = read_events(tmp_path, *launched("a", 100, length, 1), *launched("b", 200, 6, 2))
    assert facts(trace)["kernel_time_ns"] == 6000
    assert facts(trace)["longest_kernel"] == ["b", 6000]
    assert facts(trace)["gpu_last_ns"] == 206_000
    assert kernels(trace) == [("a", None), ("b", 6000)]
    assert notes(trace) == {"timestamp-overflow": 1}


def test_a_kernel_before_its_launch_makes_latency_unreliable_and_changes_nothing(tmp_path: Path) -> None:
    """kineto#1380, #991, #1082, #928, TileOPs#1838: clocks of host and device that are 8 us apart."""
    trace = read_events(tmp_path, launch(100, 1), kernel("a", 91.5, 5, 1), launch(200, 2), kernel("b", 210, 5, 2))
    assert kernels(trace) == [("a", 5000), ("b", 5000)]
    assert notes(trace) == {"before-launch": 1}
    assert example(trace, "before-launch") == "kernel a at 91500 ns, 8500 ns before its launch"
    assert [one.quantity for one in health(trace).unreliable] == ["launch latency and causes of idle time"]


def test_the_base_of_the_clock_places_times_in_unix_time(tmp_path: Path) -> None:
    """kineto#1380: `baseTimeNanoseconds` has to be added for absolute times; the times themselves stay as written."""
    trace = read_events(tmp_path, *launched("a", 100, 5, 1), baseTimeNanoseconds=1_712_195_495_000_000_123)
    assert facts(trace)["gpu_first_ns"] == 100_000
    assert trace.facts.base_unix_ns == 1_712_195_495_000_000_123


def test_zero_length_kernels_are_counted_and_said(tmp_path: Path) -> None:
    """Whole-microsecond clocks give kernels of 0 us; their time is unknown, not nothing."""
    trace = read_events(tmp_path, *launched("a", 100, 0, 1), *launched("b", 200, 1, 2))
    assert facts(trace)["kernels"] == 2
    assert notes(trace) == {"zero-duration": 1}
    assert [one.quantity for one in health(trace).unreliable] == ["time of kernels"]
