import os
from pathlib import Path
from typing import Any

import pytest

from tests.building import build
from tracelode.mining.sequence import ENCODINGS, Sequence, sequences
from tracelode.store import Error


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


def test_streams_merge_also_where_only_the_order_of_launches_is_known(tmp_path: Path) -> None:
    kernels = [_kernel(100, "a", launch=0), _kernel(110, "c", launch=2), _kernel(150, "b", launch=1, stream=8)]
    copies = [{"start_ns": 160, "end_ns": 161, "launch": 3, "stream": 9, "kind": "DtoH"}]
    trace, _ = build(tmp_path, kernel=kernels, copy=copies)
    (sequence,) = sequences(trace)
    assert _words(sequence) == ["a", "b", "c", "copy DtoH"]
    assert (sequence.stream, sequence.launch_ns) == (None, None)


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


def test_each_encoding_tells_apart_what_it_says_and_all_before_it(tmp_path: Path) -> None:
    shapes = [{}, {"grid_x": 2}, {"grid_x": 2, "block_y": 4}, {"grid_x": 2, "block_y": 4, "stream": 9}, {"grid_x": 2}]
    kernels = [_kernel(10 * at, "a", at, **shape) for at, shape in enumerate(shapes)]
    trace, _ = build(tmp_path, kernel=kernels, api=[_call(at, at) for at in range(5)])
    found = {encoding: sequences(trace, symbols=encoding)[0].symbols.tolist() for encoding in ENCODINGS}
    assert found == {
        "name": [0, 0, 0, 0, 0],
        "grid": [0, 1, 1, 1, 1],
        "block": [0, 1, 2, 2, 1],
        "stream": [0, 1, 2, 3, 1],
    }
    assert sequences(trace)[0].symbols.tolist() == found["stream"]
    with pytest.raises(Error, match="there are no symbols by colour") as refused:
        sequences(trace, symbols="colour")
    assert refused.value.hint == "there are: name, grid, block, stream"


def test_a_symbol_has_the_same_key_in_every_trace_and_different_symbols_have_different_ones(tmp_path: Path) -> None:
    names = ["b", "a", None, "a"]
    copies = [{"start_ns": 50, "end_ns": 51, "correlation": 4}]
    kernels = [_kernel(10 * at, name, at, grid_x=at % 2) for at, name in enumerate(names)]
    one, _ = build(tmp_path / "1", kernel=kernels, copy=copies, api=[_call(at, at) for at in range(5)])
    other, _ = build(tmp_path / "2", kernel=kernels[1:2], api=[_call(1, 1)])
    (first,), (second,) = sequences(one), sequences(other)
    assert len(set(first.keys)) == len(first.keys) == len(first.labels) == 4
    assert [first.keys[symbol] for symbol in first.symbols[[1, 3]]] == second.keys * 2
    assert [first.labels[symbol] for symbol in first.symbols] == ["b", "a", "(no name)", "a", "copy HtoD"]


def test_a_hundred_thousand_different_operations_have_as_many_symbols(tmp_path: Path) -> None:
    count = 100_001
    kernels = [{"start_ns": at, "end_ns": at + 1, "name": f"kernel {at}"} for at in range(count)]
    (sequence,) = sequences(build(tmp_path, kernel=kernels)[0])
    assert sequence.symbols.tolist() == list(range(count))
    assert sequence.labels == [f"kernel {at}" for at in range(count)]


def test_a_file_in_place_of_another_is_read_though_it_is_as_old(tmp_path: Path) -> None:
    one, other = (build(tmp_path / name, kernel=[_kernel(10, name)])[0] for name in ("a", "b"))
    assert [_words(sequence) for sequence in sequences(one)] == [["a"]]
    file, replacement = one.files["kernel"], other.files["kernel"]
    os.utime(replacement, ns=(file.stat().st_atime_ns, file.stat().st_mtime_ns))
    replacement.replace(file)
    assert [_words(sequence) for sequence in sequences(one)] == [["b"]]


def test_a_number_as_large_as_32_bits_hold_is_told_apart_where_another_is_not_known(tmp_path: Path) -> None:
    grids = [("a", 0), ("b", 2**31 - 1), ("a", None)]
    kernels = [_kernel(10 * at, name, grid_x=grid) for at, (name, grid) in enumerate(grids)]
    (sequence,) = sequences(build(tmp_path, kernel=kernels)[0])
    assert sequence.symbols.tolist() == [0, 1, 2]


def test_numbers_that_one_integer_cannot_hold_together_are_told_apart(tmp_path: Path) -> None:
    far = 2**31 - 1
    shapes = [(x, y, z) for x in (0, far) for y in (0, far) for z in (0, far)]
    kernels = [
        _kernel(10 * at, "a", grid_x=x, grid_y=y, grid_z=z, block_x=z) for at, (x, y, z) in enumerate(shapes * 2)
    ]
    (sequence,) = sequences(build(tmp_path, kernel=kernels)[0])
    assert sequence.symbols.tolist() == list(range(8)) * 2
