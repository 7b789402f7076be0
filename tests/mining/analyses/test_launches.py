from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.building import build
from tracelode.mining.mine import find, mine
from tracelode.store.errors import NotCollected

Rows = list[dict[str, Any]]


def _launched(times: list[tuple[int, int, int]], **more: Any) -> tuple[Rows, Rows]:
    """Kernels and their calls, each of (launch, start, end); a call takes 4 ns."""
    kernels = [
        {"start_ns": start, "end_ns": end, "name": "k", "correlation": at + 1} | more
        for at, (_, start, end) in enumerate(times)
    ]
    calls = [
        {"start_ns": launch, "end_ns": launch + 4, "correlation": at + 1} for at, (launch, _, _) in enumerate(times)
    ]
    return kernels, calls


def test_delays_and_queues_are_told_by_stream(tmp_path: Path) -> None:
    kernels, calls = _launched([(0, 100, 103), (10, 110, 160), (20, 160, 200), (300, 320, 400)])
    kernels[2]["stream"] = 8
    found = find(*build(tmp_path, kernel=kernels, api=calls), "launches")
    columns = ("stream", "launches", "early", "p50_ns", "longest_ns", "mean_queue", "p95_stream_queue")
    assert found.rows.select(columns).rows() == [(7, 3, 0, 100.0, 100, 1 / 3, 1), (8, 1, 0, 140.0, 140, 2.0, 0)]
    assert found.rows["idle_launches"].to_list() == [3, 1]
    assert found.rows["empty_launches"].to_list() == [2, 0]
    assert found.rows["call_p50_ns"].to_list() == [4.0, 4.0]
    assert found.rows["below_call"].to_list() == [1, 0]
    assert found.rows["short_kernels"].to_list() == [3, 1]
    assert found.sentence == (
        "From its launch to its start work waits 100 ns in the median (134 ns at the 95th percentile); at 100.0 % of "
        "the launches (4) nothing runs on the device, at 50.0 % nothing waits either. 100.0 % of the kernels last less "
        "than 5 µs, 25.0 % less than the call that launches them."
    )
    assert found.notes == ()


def test_work_that_starts_before_its_launch_is_counted_and_in_no_delay(tmp_path: Path) -> None:
    kernels, calls = _launched([(0, 10, 20), (100, 70, 80)])
    found = find(*build(tmp_path, kernel=kernels, api=calls), "launches")
    assert found.rows.select("launches", "early", "p50_ns", "longest_ns").rows() == [(2, 1, 10.0, 10)]
    assert found.notes == (
        "1 of 2 operations (50.0 %) start before the call that launched them, by up to 30 ns: the clocks of host and "
        "device disagree by at least that much, and every delay may be off by as much. These are in no percentile of "
        "delays.",
    )


def test_delays_that_are_all_negative_are_no_average(tmp_path: Path) -> None:
    kernels, calls = _launched([(100, 70, 80)])
    trace, archive = build(tmp_path, kernel=kernels, api=calls)
    found = find(trace, archive, "launches")
    assert found.rows["p50_ns"].to_list() == [None]
    assert found.sentence.startswith("All work starts before its host call, by clocks that disagree; ")
    assert find(trace, archive, "delay_by_queue").sentence == "No launch has a delay to be trusted."


def test_only_the_first_operation_of_a_call_has_a_delay(tmp_path: Path) -> None:
    kernels = [{"start_ns": at, "end_ns": at + 9, "name": "k", "correlation": 1} for at in (50, 60, 70)]
    calls = [{"start_ns": 0, "end_ns": 20, "name": "cudaGraphLaunch", "correlation": 1}]
    trace, archive = build(tmp_path, kernel=kernels, api=calls)
    found = find(trace, archive, "launches")
    assert found.rows.select("operations", "launches", "p50_ns", "compared_kernels").rows() == [(3, 1, 50.0, 1)]
    assert found.notes[0].startswith("2 operations behind others of the same call, as in the replay of a graph")
    rows = mine(trace, archive, "launch_delays").sql("select place, delay_ns, call_ns from launch_delay order by place")
    assert rows.rows() == [(0, 50, 20), (1, 60, 20), (2, 70, 20)]


def test_of_calls_within_one_another_the_outer_one_counts(tmp_path: Path) -> None:
    kernels, calls = _launched([(0, 10, 20)])
    calls.append({"start_ns": 0, "end_ns": 9, "correlation": 1, "kind": "driver", "name": "cuLaunchKernel"})
    trace, archive = build(tmp_path, kernel=kernels, api=calls)
    assert mine(trace, archive, "launch_delays").sql("select call_ns from launch_delay").rows() == [(9,)]


def test_without_launches_it_is_not_collected(tmp_path: Path) -> None:
    trace, archive = build(tmp_path, kernel=[{"start_ns": 0, "end_ns": 9, "name": "k"}])
    for name in ("launches", "delay_by_queue"):
        with pytest.raises(NotCollected, match="no launch of device work is known"):
            find(trace, archive, name)


def test_delays_grow_with_the_queue(tmp_path: Path) -> None:
    kernels, calls = _launched([(at, 100 + 10 * at, 110 + 10 * at) for at in range(12)])
    found = find(*build(tmp_path, kernel=kernels, api=calls), "delay_by_queue")
    assert found.rows.select("queue_from", "queue_to", "launches", "p50_ns").rows() == [
        (0, 0, 1, 100.0),
        (1, 1, 1, 109.0),
        (2, 2, 1, 118.0),
        (3, 3, 1, 127.0),
        (4, 4, 1, 136.0),
        (5, 9, 5, 163.0),
        (10, 19, 2, 194.5),
    ]
    assert found.sentence == (
        "Of 12 launches 8.3 % find an empty queue and wait 100 ns in the median; behind 10 or more the median is "
        "194 ns."
    )


TIMES = st.lists(st.tuples(st.integers(0, 60), st.integers(-5, 60), st.integers(0, 20)), min_size=1, max_size=12)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(TIMES)
def test_numbers_equal_numpy_and_the_sql_beside_them(
    tmp_path_factory: pytest.TempPathFactory, times: list[tuple[int, int, int]]
) -> None:
    spans = [(10 + launch, 10 + launch + delay, 10 + launch + delay + length) for launch, delay, length in times]
    kernels, calls = _launched(spans)
    trace, archive = build(tmp_path_factory.mktemp("trace"), kernel=kernels, api=calls)
    found = find(trace, archive, "launches")
    trace = archive.open(trace.id)
    assert trace.sql(found.sql).equals(found.rows)
    launch, start, end = (np.array([span[at] for span in spans]) for at in range(3))
    delay = start - launch
    kept = delay[delay >= 0]
    (row,) = found.rows.to_dicts()
    assert row["early"] == (delay < 0).sum()
    assert row["p50_ns"] == (pytest.approx(np.quantile(kept, 0.5)) if len(kept) else None)
    assert row["p95_ns"] == (pytest.approx(np.quantile(kept, 0.95)) if len(kept) else None)
    queue = ((launch[None] < launch[:, None]) & (start[None] > launch[:, None])).sum(axis=1)
    running = ((start[None] <= launch[:, None]) & (end[None] > launch[:, None])).sum(axis=1)
    assert row["mean_queue"] == pytest.approx(queue.mean())
    assert row["idle_launches"] == (running == 0).sum()
    assert row["empty_launches"] == ((running == 0) & (queue == 0)).sum()
    by_queue = find(trace, archive, "delay_by_queue")
    assert trace.sql(by_queue.sql).equals(by_queue.rows)
    assert by_queue.rows["launches"].sum() == len(kept)
