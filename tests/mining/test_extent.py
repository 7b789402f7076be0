import numpy as np

from tracelode.mining.extent import UNKNOWN, Extents, Work, extents, free_of


def _ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def _work(call_ns: list[int], elementwise: list[int] | None = None, lane: list[int] | None = None) -> Work:
    count = len(call_ns)
    return Work(_ints(*call_ns), np.array(elementwise or [0] * count, np.bool_), _ints(*(lane or [0] * count)))


def test_an_operation_under_another_is_busy_twice_and_idle_never() -> None:
    start, end = _ints(0, 5, 30), _ints(20, 10, 40)
    found = extents(start, end, Work.unknown(3), _ints(0), _ints(2))
    assert (found.start_ns[0], found.end_ns[0], found.busy_ns[0], found.idle_ns[0]) == (0, 40, 35, 10)


def test_operations_of_other_streams_may_start_before_those_launched_earlier() -> None:
    start, end = _ints(100, 0, 50), _ints(110, 20, 60)
    found = extents(start, end, Work.unknown(3), _ints(0), _ints(2))
    assert (found.start_ns[0], found.end_ns[0], found.busy_ns[0], found.idle_ns[0]) == (0, 110, 40, 70)


def test_ranges_may_share_operations() -> None:
    start, end = _ints(0, 10, 20), _ints(5, 15, 25)
    found = extents(start, end, Work.unknown(3), _ints(0, 1), _ints(1, 2))
    assert found.busy_ns.tolist() == [10, 10]
    assert found.idle_ns.tolist() == [5, 5]


def test_the_host_time_of_launches_is_known_only_if_that_of_all_is() -> None:
    start, end = _ints(0, 10, 20, 30), _ints(5, 15, 25, 35)
    found = extents(start, end, _work([3, 4, UNKNOWN, 5]), _ints(0, 1, 3), _ints(1, 2, 3))
    assert found.call_ns.tolist() == [7, UNKNOWN, 5]


def test_fusion_leaves_the_longest_of_elementwise_neighbours_on_one_lane() -> None:
    length = [1, 4, 2, 8, 16, 32, 64]
    start = _ints(*range(0, 700, 100))
    end = start + _ints(*length)
    work = _work([0] * 7, [1, 1, 0, 1, 1, 1, 1], [0, 0, 0, 0, 0, 1, 1])
    found = extents(start, end, work, _ints(0, 2, 6), _ints(6, 2, 6))
    assert found.fusible_ns.tolist() == [1 + 8 + 32, 0, 0]  # of (1, 4), (8, 16) and, on the other lane, (32, 64)
    assert found.elementwise.tolist() == [6, 0, 1]


def test_nothing_is_measured_of_no_range() -> None:
    found = extents(_ints(), _ints(), Work.unknown(0), _ints(), _ints())
    assert [len(getattr(found, name)) for name in Extents.__dataclass_fields__] == [0] * 7


def test_a_stretch_is_free_if_none_of_its_places_is_covered() -> None:
    covered = np.array([False, False, True, False, False])
    assert free_of(covered, _ints(0, 1, 2, 3), 2).tolist() == [True, False, False, True]
