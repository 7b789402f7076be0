from pathlib import Path
from typing import Any

from tests.building import build
from tracelode.mining.mine import mine
from tracelode.mining.stretches import Dictionary, side_of
from tracelode.store import Trace


def _trace(folder: Path, kernels: list[dict[str, Any]]) -> Trace:
    trace, archive = build(folder, kernel=kernels)
    return mine(trace, archive, "iterations")


def _kernel(start: int, name: str, length: int = 5, **more: Any) -> dict[str, Any]:
    return {"start_ns": start, "end_ns": start + length, "name": name, **more}


ITERATIONS = [_kernel(1000 + 100 * at + 20 * k, name) for at in range(8) for k, name in enumerate("abcd")]


def test_operations_of_another_stream_count_to_the_iteration_they_start_in(tmp_path: Path) -> None:
    # Without launches every stream is a sequence of its own; this one shows no iterations.
    others = [_kernel(start, f"other{start}", stream=9) for start in (50, 1010, 1370, 5000)]
    dictionary = Dictionary()
    side = side_of(_trace(tmp_path, [*ITERATIONS, *others]), dictionary, "name", whole=False)
    assert side is not None
    names = [dictionary.labels[symbol] for symbol in side.symbols]
    first, later = names.index("other1010"), names.index("other1370")
    assert [names[at] for at in range(first, len(names))] == ["other1010", "other1370"]
    assert later == first + 1
    assert side.iteration[first] == 0
    assert side.iteration[later] == 4  # after the last operation of iteration 3: the wait counts to the next one
    assert first in side.begins.tolist()


def test_the_iterations_are_counted_with_the_waits_before_them(tmp_path: Path) -> None:
    side = side_of(_trace(tmp_path, ITERATIONS), Dictionary(), "name", whole=False)
    assert side is not None
    assert side.iterations == 8
    assert side.span_ns == 1700 + 65 - 1000
    assert side.iteration.tolist() == [at for at in range(8) for _ in range(4)]
    assert side.begins.tolist() == [0]


def test_a_whole_trace_is_one_iteration_for_each_process(tmp_path: Path) -> None:
    kernels = [_kernel(0, "a"), _kernel(90, "b"), _kernel(500, "a", process=2), _kernel(520, "c", process=2)]
    dictionary = Dictionary()
    trace = _trace(tmp_path, kernels)
    assert side_of(trace, dictionary, "name", whole=False) is None
    side = side_of(trace, dictionary, "name", whole=True)
    assert side is not None
    assert [dictionary.labels[symbol] for symbol in side.symbols] == ["a", "b", "a", "c"]
    assert (side.iterations, side.span_ns) == (2, 95 + 25)
    assert side.iteration.tolist() == [0, 0, 1, 1]


def test_symbols_are_numbered_alike_in_all_traces(tmp_path: Path) -> None:
    dictionary = Dictionary()
    assert dictionary.numbers(["k/a", "k/b"], ["a", "b"]).tolist() == [0, 1]
    assert dictionary.numbers(["k/c", "k/b"], ["c", "b"]).tolist() == [2, 1]
    assert dictionary.labels == ["a", "b", "c"]
