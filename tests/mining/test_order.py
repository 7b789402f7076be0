import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tracelode.mining.columns import MISSING
from tracelode.mining.order import Order, merge_order


def _order(*operations: tuple[int, int | None, int]) -> Order:
    """Orders operations given as (stream, launch or None, device start)."""
    stream, launch, start = (np.array(column, dtype=object) for column in zip(*operations, strict=True))
    launch = np.array([MISSING if at is None else at for at in launch], dtype=np.int64)
    return merge_order(launch, start.astype(np.int64), stream.astype(np.int64))


def _sequences(order: Order) -> list[tuple[list[int], list[int] | None]]:
    return [(x.index.tolist(), None if x.launch_ns is None else x.launch_ns.tolist()) for x in order.sequences]


def test_streams_merge_by_launch_and_not_by_device_start() -> None:
    order = _order((7, 10, 100), (7, 30, 110), (9, 20, 500))
    assert _sequences(order) == [([0, 2, 1], [10, 20, 30])]
    assert order.queued.tolist() == []


def test_operations_of_one_launch_are_in_the_order_of_device_starts() -> None:
    assert _sequences(_order((7, 10, 120), (9, 10, 110), (7, 10, 100)))[0][0] == [2, 1, 0]


def test_a_tie_is_decided_by_what_the_caller_gives() -> None:
    order = merge_order(np.array([5, 5]), np.array([8, 8]), np.array([1, 1]), tie=np.array([4, 3]))
    assert order.sequences[0].index.tolist() == [1, 0]


def test_operations_queued_before_the_recording_are_set_apart() -> None:
    order = _order((7, None, 1), (7, None, 40), (7, 20, 50), (9, 10, 30), (9, 30, 60), (7, 40, 70))
    assert order.queued.tolist() == [0, 1]
    assert _sequences(order) == [([3, 2, 4, 5], [10, 20, 30, 40])]


def test_a_lost_launch_is_lent_by_the_operation_before_on_the_stream() -> None:
    known = [(7 + n % 2, 10 * n, 1000 + 10 * n) for n in range(40)]
    order = _order(*known[:10], (7, None, 1085), *known[10:])
    (index, launch), *others = _sequences(order)
    assert others == []
    assert index[8:11] == [8, 10, 9]
    assert launch is not None
    assert launch[8:11] == [80, 80, 90]


def test_streams_stand_alone_where_most_launches_are_unknown() -> None:
    order = _order((7, None, 5), (7, None, 6), (7, 2, 9), (9, None, 4), (9, 1, 7), (9, None, 3))
    assert _sequences(order) == [([0, 1, 2], None), ([5, 3, 4], None)]
    assert order.queued.tolist() == []


def test_streams_stand_alone_where_many_launches_between_others_are_unknown() -> None:
    order = _order((7, 1, 5), (7, None, 6), (7, 2, 9), (9, 3, 4), (9, 4, 7))
    assert _sequences(order) == [([0, 1, 2], None), ([3, 4], None)]


def test_a_stream_without_any_launch_stands_beside_the_merged_ones() -> None:
    order = _order((7, 1, 5), (3, None, 9), (9, 2, 6), (3, None, 4))
    assert _sequences(order) == [([0, 2], [1, 2]), ([3, 1], None)]


def test_without_launches_every_stream_is_in_the_order_of_device_starts() -> None:
    assert _sequences(_order((7, None, 5), (3, None, 9), (7, None, 4))) == [([1], None), ([2, 0], None)]


def test_no_operations_give_no_sequence() -> None:
    empty = np.zeros(0, dtype=np.int64)
    assert _sequences(merge_order(empty, empty, empty)) == []


operations = st.lists(st.tuples(st.integers(0, 3), st.none() | st.integers(0, 20), st.integers(0, 20)), min_size=1)


@given(operations)
def test_every_operation_is_in_one_sequence_or_was_queued(given_operations: list[tuple[int, int | None, int]]) -> None:
    order = _order(*given_operations)
    everything = [x for part in order.sequences for x in part.index.tolist()] + order.queued.tolist()
    assert sorted(everything) == list(range(len(given_operations)))
    for part in order.sequences:
        assert part.launch_ns is None or bool((np.diff(part.launch_ns) >= 0).all())


def _replays(start: list[int], stream: list[int], node: list[int], launch: list[int] | None = None) -> list[int]:
    columns = [np.array(column) for column in (launch or [5] * len(start), start, stream, node)]
    (ordered,) = merge_order(columns[0], columns[1], columns[2], tie=columns[3]).sequences
    return ordered.index.tolist()


def test_operations_of_a_replayed_graph_are_in_the_order_of_its_nodes() -> None:
    assert _replays([10, 40, 30, 20], [7, 7, 9, 9], [1, 4, 3, 2]) == [0, 3, 2, 1]
    assert _replays([10, 20, 31, 30], [7, 9, 7, 9], [1, 2, 3, 4], [5, 5, 6, 6]) == [0, 1, 2, 3]


def test_nodes_that_ran_twice_or_in_another_order_do_not_count() -> None:
    assert _replays([10, 20, 30, 40], [7, 9, 7, 9], [1, 2, 1, 2]) == [0, 1, 2, 3]
    assert _replays([20, 10, 15], [7, 7, 9], [1, 2, 3]) == [1, 2, 0]
