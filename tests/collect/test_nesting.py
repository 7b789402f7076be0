import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tracelode.collect.nesting import innermost


def _sweep(spans: list[tuple[int, int, int]], moments: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    lane = np.array([s[0] for s in spans], np.int32)
    start = np.array([s[1] for s in spans], np.int64)
    end = np.array([s[2] for s in spans], np.int64)
    at_lane = np.array([m[0] for m in moments], np.int32)
    found, depth = innermost(lane, start, end, at_lane, np.array([m[1] for m in moments], np.int64), own=False)
    return found.tolist(), depth.tolist()


def test_a_moment_belongs_to_the_innermost_open_span_of_its_lane() -> None:
    spans = [(1, 0, 100), (1, 10, 50), (1, 20, 30), (2, 0, 5)]
    moments = [(0, 25), (1, 5), (1, 25), (1, 30), (1, 50), (1, 100), (2, 4), (2, 5), (3, 1)]
    assert _sweep(spans, moments) == ([-1, 0, 2, 1, 0, -1, 3, -1, -1], [0, 1, 3, 2, 1, 0, 1, 0, 0])


def test_a_span_does_not_hold_itself_and_equal_spans_nest_in_order() -> None:
    lane = np.zeros(4, np.int32)
    start, end = np.array([0, 0, 3, 20]), np.array([10, 10, 4, 25])
    found, depth = innermost(lane, start, end, lane, start, own=True)
    assert found.tolist() == [-1, 0, 1, -1]
    assert depth.tolist() == [0, 1, 2, 0]


spans = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 60), st.integers(0, 40)), max_size=12)


@settings(deadline=None, max_examples=200)
@given(spans, st.lists(st.tuples(st.integers(0, 2), st.integers(0, 110)), max_size=12))
def test_nested_spans_agree_with_the_definition(
    drawn: list[tuple[int, int, int]], moments: list[tuple[int, int]]
) -> None:
    nested = _only_nested(sorted(((lane, s, s + d) for lane, s, d in drawn), key=lambda s: (s[0], s[1], -s[2])))
    ordered = sorted(moments)
    found, _ = _sweep(nested, ordered)
    for (lane, moment), index in zip(ordered, found, strict=True):
        around = [i for i, (of, start, end) in enumerate(nested) if of == lane and start <= moment < end]
        assert index == (around[-1] if around else -1)


def _only_nested(spans: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    kept: list[tuple[int, int, int]] = []
    for lane, start, end in spans:
        if all(of != lane or end <= e or start >= e for of, _, e in kept):
            kept.append((lane, start, end))
    return kept
