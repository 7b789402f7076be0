from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.building import build
from tracelode.mining.mine import mine

Spans = list[tuple[int, int, int]]

spans = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 25), st.integers(1, 2)), min_size=2, max_size=12)


def _rows(places: Spans, **more: Any) -> list[dict[str, Any]]:
    return [{"start_ns": start, "end_ns": start + length, **more} for start, length, _ in places]


@settings(max_examples=40, deadline=None)
@given(spans, spans)
def test_each_idle_nanosecond_counts_once_to_each_name_that_is_under_way(work: Spans, calls: Spans) -> None:
    kernels = [row | {"name": "k", "stream": at} for at, row in enumerate(_rows(work))]
    api = [row | {"name": f"call{place}"} for row, (_, _, place) in zip(_rows(calls), calls, strict=True)]
    with TemporaryDirectory() as folder:
        trace = mine(*build(Path(folder), kernel=kernels, api=api), "idle_calls")
        found = {
            name: (count, time)
            for name, count, time in trace.idle_call.select("name", "calls", "idle_ns").collect().rows()
        }
    busy = {at for start, length, _ in work for at in range(start, start + length)}
    idle = set(range(min(start for start, _, _ in work), max(start + length for start, length, _ in work))) - busy
    expected: dict[str, tuple[int, int]] = {}
    for name in {row["name"] for row in api}:
        each = [set(range(row["start_ns"], row["end_ns"])) & idle for row in api if row["name"] == name]
        if any(each):
            expected[name] = (sum(bool(moments) for moments in each), len(set().union(*each)))
    assert found == expected


def test_idle_time_of_each_device_of_the_process_counts(tmp_path: Path) -> None:
    kernels = [{"start_ns": s, "end_ns": s + 10, "name": "k", "device": d} for d in (0, 1) for s in (0, 50)]
    other = {"start_ns": 0, "end_ns": 100, "name": "hipFree", "process": 2}
    calls = [{"start_ns": 5, "end_ns": 20, "name": "hipFree"}, other]
    trace = mine(*build(tmp_path, kernel=kernels, api=calls), "idle_calls")
    assert trace.idle_call.collect().rows() == [(1, "hipFree", 1, 20)]
