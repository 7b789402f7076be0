from collections import defaultdict

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tracelode.mining.windows import distances, windows

TOKENS = st.lists(st.integers(0, 3), min_size=1, max_size=60) | st.integers(1, 12).map(lambda n: [0, 1, 2, 1, 3] * n)


def _classes(tokens: list[int], width: int) -> list[list[int]]:
    """The places of equal windows, by content."""
    found = defaultdict(list)
    for at in range(len(tokens) - width + 1):
        found[tuple(tokens[at : at + width])].append(at)
    return [found[content] for content in sorted(found)]


@given(TOKENS)
def test_windows_of_each_width_are_by_content_then_place(tokens: list[int]) -> None:
    width = 1
    for found in windows(np.array(tokens, np.int64), 16):
        classes = _classes(tokens, width)
        assert found.order.tolist() == [place for places in classes for place in places]
        assert np.diff(found.begin).tolist() == [len(places) for places in classes]
        last = width == 16 or len(tokens) <= 2 * width or len(classes) == len(found.order)
        width *= 2
    assert last


@given(TOKENS, st.integers(1, 3), st.sampled_from([(3, 99), (2, 3)]), st.sampled_from([0.03, 0.4]))
def test_distances_of_a_content_are_measured_from_their_median(
    tokens: list[int], step: int, often: tuple[int, int], tolerance: float
) -> None:
    place = np.arange(len(tokens)) * step + 7
    (found, *_) = windows(np.array(tokens, np.int64), 1)
    position = np.zeros(len(tokens), np.int64)
    told = distances(found, place, *often, tolerance, position)
    expected: list[tuple[int, int, int, int, int]] = []
    for start, places in zip(found.begin.tolist(), _classes(tokens, 1), strict=False):
        if often[0] <= len(places) <= often[1]:
            gaps = sorted(np.diff(place[places]).tolist())
            median = gaps[(len(gaps) - 1) // 2]
            misses = [abs(gap - median) for gap in gaps if abs(gap - median) <= int(tolerance * median)]
            expected.append((start, len(places), median, len(misses), sum(misses)))
            assert position[start : start + len(places)].tolist() == place[places].tolist()
    columns = (told.start, told.count, told.period, told.regular, told.deviation)
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == expected
