import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.mining.suffix.strict import on_host, strict, to_device
from tracelode.mining.suffix.intervals import find_intervals, tree_of_minima
from tracelode.mining.suffix.steps import Steps

Interval = tuple[int, int, int]


def intervals_of(lcp: list[int], shortest: int, longest: int) -> list[Interval]:
    """Returns first slot, last slot and length of each interval, found by going as far as lengths allow."""
    found: set[Interval] = set()
    for slot in range(1, len(lcp)):
        if not shortest <= lcp[slot] <= longest:
            continue
        left = right = slot
        while lcp[left] >= lcp[slot]:
            left -= 1
        while right < len(lcp) and lcp[right] >= lcp[slot]:
            right += 1
        found.add((left, right - 1, lcp[slot]))
    return sorted(found, key=lambda interval: (interval[0], interval[2]))


@given(
    st.lists(st.integers(0, 6), max_size=60).map(lambda lengths: [0, *(min(one, len(lengths)) for one in lengths)]),
    st.sets(st.integers(1, 60)),
    st.integers(1, 4),
    st.integers(0, 7),
)
def test_intervals_are_those_that_slots_reach(lcp: list[int], changes: set[int], shortest: int, longest: int):
    changed = [0, *sorted(slot for slot in changes if slot < len(lcp))]
    arrays = (to_device(np.array(numbers, np.int32)) for numbers in (lcp, changed))
    found = [on_host(part) for part in find_intervals(Steps(strict), *arrays, shortest, longest)]
    assert [part.dtype for part in found] == [np.int32] * 3 + [np.bool_]
    left, right, length, diverse = (part.tolist() for part in found)
    expected = intervals_of(lcp, shortest, longest)
    assert list(zip(left, right, length, strict=True)) == expected
    assert diverse == [any(first < slot <= last for slot in changed) for first, last, _ in expected]


@pytest.mark.parametrize("leaves", [1, 2, 5, 64, 65])
def test_each_node_of_the_tree_is_the_least_of_its_children(leaves: int):
    values = np.random.default_rng(leaves).integers(0, 99, leaves).astype(np.int32)
    tree = on_host(tree_of_minima(strict, to_device(values)))
    half = tree.size // 2
    assert tree[half : half + leaves].tolist() == values.tolist()
    assert all(tree[node] == min(tree[2 * node], tree[2 * node + 1]) for node in range(1, half))
