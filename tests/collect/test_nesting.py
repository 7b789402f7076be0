import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tracelode.collect.nesting import Nesting

Spans = list[tuple[int, int, int]]


def _sweep(spans: Spans, moments: list[tuple[int, int]], cut: int = 0) -> tuple[list[int], list[int], list[int]]:
    """What is around each moment and each span, and how deep; spans come in two pieces and carry ten times theirs."""
    nesting = Nesting(np.array([m[0] for m in moments], np.int32), np.array([m[1] for m in moments], np.int64))
    parents, depths = list[int](), list[int]()
    for first, piece in ((0, spans[:cut]), (cut, spans[cut:])):
        lane, start, end = (np.array([span[i] for span in piece], np.int64) for i in range(3))
        parent, depth = nesting.add(lane.astype(np.int32), start, end, 10 * np.arange(first, first + len(piece)))
        parents += parent.tolist()
        depths += depth.tolist()
    span, carried = nesting.finish()
    assert carried[span >= 0].tolist() == [10 * i for i in span.tolist() if i >= 0]
    return span.tolist(), parents, depths


def test_a_moment_belongs_to_the_innermost_open_span_of_its_lane() -> None:
    spans = [(1, 0, 100), (1, 10, 50), (1, 20, 30), (2, 0, 5)]
    moments = [(0, 25), (1, 5), (1, 25), (1, 30), (1, 50), (1, 100), (2, 4), (2, 5), (3, 1)]
    for cut in range(5):
        assert _sweep(spans, moments, cut)[0] == [-1, 0, 2, 1, 0, -1, 3, -1, -1]


def test_a_span_does_not_hold_itself_and_equal_spans_nest_in_order() -> None:
    spans = [(0, 0, 10), (0, 0, 10), (0, 3, 4), (0, 20, 25), (1, 21, 22)]
    for cut in range(6):
        assert _sweep(spans, [], cut) == ([], [-1, 0, 1, -1, -1], [0, 1, 2, 0, 0])


spans = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 60), st.integers(0, 40)), max_size=12)


@settings(deadline=None, max_examples=200)
@given(spans, st.lists(st.tuples(st.integers(0, 2), st.integers(0, 110)), max_size=12), st.integers(0, 12))
def test_nested_spans_agree_with_the_definition(drawn: Spans, moments: list[tuple[int, int]], cut: int) -> None:
    nested = _only_nested(sorted(((lane, s, s + d) for lane, s, d in drawn), key=lambda s: (s[0], s[1], -s[2])))
    ordered = sorted(moments)
    found, parents, depths = _sweep(nested, ordered, min(cut, len(nested)))
    for (lane, moment), index in zip(ordered, found, strict=True):
        around = [i for i, (of, start, end) in enumerate(nested) if of == lane and start <= moment < end]
        assert index == (around[-1] if around else -1)
    for i, (lane, start, _) in enumerate(nested):
        around = [k for k, (of, begin, end) in enumerate(nested[:i]) if of == lane and begin <= start < end]
        assert (parents[i], depths[i]) == (around[-1] if around else -1, len(around))


def _only_nested(spans: Spans) -> Spans:
    kept: Spans = []
    for lane, start, end in spans:
        if all(of != lane or end <= e or start >= e for of, _, e in kept):
            kept.append((lane, start, end))
    return kept
