import struct
from collections import defaultdict
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.building import build
from tests.reports.exports.packets import content
from tracelode.collect.ingest import look, read_in
from tracelode.mining.mine import find
from tracelode.reports.exports.perfetto import NEEDS, write
from tracelode.store import Archive, Trace
from tracelode.store.errors import NotCollected

SAMPLE = Path(__file__).parents[3] / "data" / "samples" / "train.json.gz"


def kernel(start: int, end: int, name: str = "k", **more: Any) -> dict[str, Any]:
    return {"start_ns": start, "end_ns": end, "name": name} | more


@settings(max_examples=8, deadline=None)
@given(
    kernels=st.lists(
        st.tuples(
            st.integers(0, 2**40), st.integers(0, 50), st.sampled_from(["a", "bé<x>", "c\x1b[2J"]), st.integers(7, 9)
        ),
        min_size=1,
        max_size=60,
    ),
    crowded=st.booleans(),
)
def test_every_kernel_comes_back_exactly(
    tmp_path_factory: pytest.TempPathFactory, kernels: list[tuple[int, int, str, int]], crowded: bool
) -> None:
    folder = tmp_path_factory.mktemp("made")
    made = [(start % 100 if crowded else start, length, name, stream) for start, length, name, stream in kernels]
    trace, _ = build(folder, kernel=[kernel(s, s + n, name, stream=lane) for s, n, name, lane in made])
    assert write(trace, folder / "a.pftrace", ()) == ()
    found = content(folder / "a.pftrace")
    assert found.of("kernel") == sorted((s, s + n, name) for s, n, name, _ in made)
    assert {s.depth for s in found.slices} == {0}
    lanes: dict[int, int] = defaultdict(int)
    for one in found.slices:  # in each lane in order, none before the end of the last
        assert one.start_ns >= lanes[one.lane]
        lanes[one.lane] = one.end_ns


def test_kernels_that_overlap_on_a_stream_go_to_lanes_of_one_name(tmp_path: Path) -> None:
    trace, _ = build(tmp_path, kernel=[kernel(0, 10, "a"), kernel(5, 15, "b"), kernel(10, 20, "c"), kernel(6, 7, "d")])
    write(trace, tmp_path / "a.pftrace", ())
    found = content(tmp_path / "a.pftrace")
    assert {one.track for one in found.slices} == {"process (1) / GPU 0 / stream 7"}
    lanes: dict[int, list[str]] = defaultdict(list)
    for one in found.slices:
        lanes[one.lane].append(one.name)
    assert list(lanes.values()) == [["a", "c"], ["b"], ["d"]]


def test_calls_nest_in_the_operators_of_their_thread_and_what_cuts_another_goes_aside(tmp_path: Path) -> None:
    trace, _ = build(
        tmp_path,
        op=[
            {"id": 0, "name": "add", "start_ns": 0, "end_ns": 100},
            {"id": 1, "name": "mul", "start_ns": 10, "end_ns": 50},
        ],
        api=[
            {"start_ns": 20, "end_ns": 50, "name": "launch", "correlation": 3},
            {"start_ns": 90, "end_ns": 130, "name": "wait"},
        ],
        track=[{"process": 1, "track": 1, "name": "main thread", "kind": "thread"}],
        process=[{"process": 1, "name": "python"}],
    )
    write(trace, tmp_path / "a.pftrace", ())
    found = content(tmp_path / "a.pftrace")
    assert [(s.track, s.depth, s.name, s.start_ns, s.end_ns) for s in found.slices] == [
        ("python (1) / main thread", 0, "add", 0, 100),
        ("python (1) / main thread", 1, "mul", 10, 50),
        ("python (1) / main thread", 2, "launch", 20, 50),
        ("python (1) / main thread", 0, "wait", 90, 130),
    ]
    assert len({s.lane for s in found.slices}) == 2
    assert found.slices[2].args == {"correlation": 3}


def test_slices_carry_what_the_tables_say(tmp_path: Path) -> None:
    sizes = {f"{what}_{axis}": n for what, n in (("grid", 4), ("block", 128)) for axis in "xyz"}
    trace, _ = build(
        tmp_path,
        kernel=[kernel(0, 10, "ampere_sgemm_128x64", correlation=5, graph=2, **sizes)],
        copy=[{"start_ns": 10, "end_ns": 30, "bytes": 4096, "kind": "DtoH"}],
        fill=[{"start_ns": 30, "end_ns": 31, "bytes": 8}],
    )
    write(trace, tmp_path / "a.pftrace", ())
    first, second, third = content(tmp_path / "a.pftrace").slices
    assert (first.category, first.name) == ("kernel.gemm", "ampere_sgemm_128x64")
    assert first.args == {"correlation": 5, "graph": 2, "launch": "grid 4×4×4, block 128×128×128"}
    assert (second.category, second.name, second.args) == ("copy.DtoH", "copy DtoH", {"bytes": 4096})
    assert (third.category, third.name, third.args) == ("fill", "fill", {"bytes": 8})


def test_counters_are_tracks_of_their_device_with_exact_values(tmp_path: Path) -> None:
    counter = {"process": 1, "device": 0, "name": "memory", "unit": "bytes"}
    rows = [counter | {"time_ns": at, "value": value} for at, value in ((5, 0.1), (7, 2.0**60), (9, float("nan")))]
    trace, _ = build(tmp_path, counter=rows)
    write(trace, tmp_path / "a.pftrace", ())
    found = content(tmp_path / "a.pftrace")
    expected = [
        ("process (1) / GPU 0 / memory", at, struct.pack("<d", value)) for at, value in ((5, 0.1), (7, 2.0**60))
    ]
    assert found.samples == expected


def test_times_before_zero_move_all_and_events_without_a_start_are_told(tmp_path: Path) -> None:
    trace, _ = build(tmp_path, kernel=[kernel(-40, -10, "a"), kernel(5, 6, "b"), kernel(0, 0, "c", flaw="no start")])
    remarks = write(trace, tmp_path / "a.pftrace", ())
    assert content(tmp_path / "a.pftrace").of("kernel") == [(0, 30, "a"), (45, 46, "b")]
    assert remarks == (
        "times are 40 ns later than in the trace, since Perfetto has none before zero",
        "kernel: 1 events without a start to be trusted are left out",
    )


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Trace]:
    archive = Archive(tmp_path_factory.mktemp("archive") / "traces")
    trace = read_in(look(str(SAMPLE)), archive)[0]
    for name in NEEDS:
        find(trace, archive, name)
    write(archive.open(trace.id), archive.path / "a.pftrace.gz", ())
    return archive.path / "a.pftrace.gz", trace


def test_a_trace_has_its_iterations_and_patterns_above_it(sample: tuple[Path, Trace]) -> None:
    found = content(sample[0])
    iterations = [s for s in found.slices if s.category == "mined.iteration"]
    assert [s.name for s in iterations] == [f"iteration {at}" for at in range(12)]
    assert {s.track for s in iterations} == {"python3 (41200) / iterations (detected)"}
    assert iterations[1].args == {"iteration": 1, "operations": 193, "phase": "deviating"}
    patterns = [s for s in found.slices if s.category == "mined.pattern"]
    assert sum(s.track.endswith("pattern 0 (detected)") for s in patterns) == 48


def test_the_whole_sample_comes_back_by_packets_and_by_our_own_reader(sample: tuple[Path, Trace]) -> None:
    path, trace = sample
    rows = trace.sql("select start_ns, end_ns, name from kernel order by all").rows()
    found = content(path)
    assert found.of("kernel") == rows
    assert len(found.samples) == trace.rows["counter"]
    for table, category in (("op", "op"), ("api", "api"), ("range", "range"), ("copy", "copy"), ("sync", "sync")):
        assert len(found.of(category)) == trace.rows[table]
    assert found.clocks == [{1: trace.facts.base_unix_ns, 6: 0}]
    assert set(found.interned.values()) == {1}
    again = read_in(look(str(path)), Archive(path.parent / "again"))[0]
    assert again.notes == ()
    assert again.facts.base_unix_ns == trace.facts.base_unix_ns
    read = again.sql("select start_ns, end_ns, name from range where domain like 'kernel%' order by all")
    assert read.rows() == rows


def test_only_the_tables_named_are_written(tmp_path: Path) -> None:
    trace, _ = build(tmp_path, kernel=[kernel(0, 9)], copy=[{"start_ns": 20, "end_ns": 30}])
    write(trace, tmp_path / "a.pftrace", ("copy",))
    assert [s.name for s in content(tmp_path / "a.pftrace").slices] == ["copy HtoD"]


def test_a_trace_without_events_is_told_rather_than_written(tmp_path: Path) -> None:
    trace, _ = build(tmp_path, process=[{"process": 1}])
    with pytest.raises(NotCollected, match="no event that a timeline shows"):
        write(trace, tmp_path / "a.pftrace", ())


def test_a_kernel_takes_less_than_fifty_bytes(tmp_path: Path) -> None:
    count = 20_000
    names = [f"void kernel_{at}<{'x' * 100}>()" for at in range(50)]
    sizes = {f"{what}_{axis}": 1 for what in ("grid", "block") for axis in "xyz"}
    rows = [kernel(at * 9_000, at * 9_000 + 8_500, names[at % 50], correlation=at * 7, **sizes) for at in range(count)]
    trace, _ = build(tmp_path, kernel=rows)
    write(trace, tmp_path / "a.pftrace", ())
    assert (tmp_path / "a.pftrace").stat().st_size < 50 * count
    assert trace.table("kernel").select(pl.len()).collect().item() == len(content(tmp_path / "a.pftrace").slices)
