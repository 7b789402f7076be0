from pathlib import Path
from typing import Any

from tests.building import build
from tracelode.mining.sequence import Sequence, sequences


def _kernel(start: int, name: str, correlation: int | None = None, **more: Any) -> dict[str, Any]:
    return {"start_ns": start, "end_ns": start + 5, "name": name, "correlation": correlation, **more}


def _call(start: int, correlation: int) -> dict[str, Any]:
    return {"start_ns": start, "end_ns": start + 1, "correlation": correlation}


def _words(sequence: Sequence) -> list[str]:
    return [sequence.labels[symbol] for symbol in sequence.symbols]


def test_streams_merge_in_the_order_of_launches(tmp_path: Path) -> None:
    kernels = [_kernel(100, "a", 1), _kernel(110, "c", 3), _kernel(150, "b", 2, stream=8)]
    trace, _ = build(tmp_path, kernel=kernels, api=[_call(1, 1), _call(2, 2), _call(3, 3)])
    (sequence,) = sequences(trace)
    assert _words(sequence) == ["a", "b", "c"]
    assert sequence.stream is None
    assert sequence.launch_ns is not None
    assert sequence.launch_ns.tolist() == [1, 2, 3]


def test_work_queued_before_the_recording_is_left_out(tmp_path: Path) -> None:
    kernels = [_kernel(10, "before"), *(_kernel(100 + i * 10, "a", i) for i in range(4))]
    trace, _ = build(tmp_path, kernel=kernels, api=[_call(i, i) for i in range(4)])
    (sequence,) = sequences(trace)
    assert _words(sequence) == ["a"] * 4


def test_without_launches_each_stream_stands_alone_with_its_kernels(tmp_path: Path) -> None:
    kernels = [_kernel(100, "a"), _kernel(110, "b"), _kernel(105, "c", stream=8)]
    copies = [{"start_ns": 107, "end_ns": 108}, {"start_ns": 120, "end_ns": 121, "stream": 9}]
    trace, _ = build(tmp_path, kernel=kernels, copy=copies)
    assert [(s.stream, _words(s)) for s in sequences(trace)] == [(7, ["a", "b"]), (8, ["c"])]


def test_copies_and_fills_are_symbols_where_streams_merge(tmp_path: Path) -> None:
    calls = [_call(i, i) for i in range(5)]
    copies = [
        {"start_ns": 20, "end_ns": 21, "correlation": 1},
        {"start_ns": 40, "end_ns": 41, "correlation": 3, "kind": "DtoH"},
    ]
    fills = [{"start_ns": 30, "end_ns": 31, "correlation": 2}]
    trace, _ = build(tmp_path, kernel=[_kernel(10, "a", 0), _kernel(50, None, 4)], copy=copies, fill=fills, api=calls)
    assert [_words(s) for s in sequences(trace)] == [["a", "copy HtoD", "fill", "copy DtoH", "(no name)"]]


def test_grid_and_stream_tell_symbols_apart_and_equal_work_has_one(tmp_path: Path) -> None:
    grids = [8, 8, 16]
    kernels = [_kernel(i * 10, "a", i, grid_x=grid) for i, grid in enumerate(grids)]
    kernels.append(_kernel(90, "a", 3, grid_x=8, stream=9))
    trace, _ = build(tmp_path, kernel=kernels, api=[_call(i, i) for i in range(4)])
    (sequence,) = sequences(trace)
    first, second, third, fourth = sequence.symbols.tolist()
    assert first == second
    assert len({first, third, fourth}) == 3


def test_ranks_that_number_their_streams_differently_have_the_same_symbols(tmp_path: Path) -> None:
    kernels = [_kernel(10, "a"), _kernel(20, "a", process=2, device=1, stream=99)]
    trace, _ = build(tmp_path, kernel=kernels)
    one, two = sequences(trace)
    assert one.symbols.tolist() == two.symbols.tolist()
    assert (one.process, one.device, two.process, two.device) == (1, 0, 2, 1)


def test_a_trace_without_device_work_has_no_sequence(tmp_path: Path) -> None:
    trace, _ = build(tmp_path, op=[{"start_ns": 0, "end_ns": 1, "name": "aten::add"}])
    assert sequences(trace) == []


def test_work_without_a_start_is_in_no_sequence_and_other_flawed_work_is(tmp_path: Path) -> None:
    kernels = [
        {"start_ns": 10**10, "end_ns": 10**10 + 5, "name": "a"},
        {"start_ns": 0, "end_ns": 0, "name": "lost"},
        {"start_ns": 10**10 + 9, "end_ns": 10**10 + 7, "name": "b"},
    ]
    (sequence,) = sequences(build(tmp_path, kernel=kernels)[0])
    assert [sequence.labels[symbol] for symbol in sequence.symbols] == ["a", "b"]
    assert sequences(build(tmp_path / "none", op=[{"start_ns": 0, "end_ns": 1, "name": "x"}])[0]) == []
