from pathlib import Path

import pytest

from tests.building import build
from tests.mining.programs import KERNEL_NS, STEP, train
from tracelode.mining.mine import find
from tracelode.store import NotCollected


def test_the_place_and_the_iteration_that_take_longer_are_told(tmp_path: Path) -> None:
    found = find(*train(tmp_path, *[STEP] * 12, longer={25 * 7 + 13: 1_200}), "positions")
    assert len(found.rows) == 12 * 25
    far = found.rows.filter(found.rows["ratio"] != 1)
    columns = ("place", "first_position", "last_position", "name", "iteration", "time_ns", "usual_ns", "ratio")
    assert far.select(columns).rows() == [(13, 13, 13, "loss", 7, 1_800, KERNEL_NS, 3.0)]
    assert found.sentence == (
        "12 iterations of equal content compared place by place: the largest excess is 1.2 µs in iteration 7, in "
        "operations 13 to 13 (most of their time: loss), 200.0 % more than the 600 ns that are usual there."
    )


def test_long_iterations_are_told_in_places_of_several_operations(tmp_path: Path) -> None:
    step = [f"k{at}" for at in range(80)]
    rows = find(*train(tmp_path, *[step] * 5), "positions").rows
    assert rows["place"].n_unique() == 32
    one = rows.filter(rows["iteration"] == 0)
    assert one["first_position"][0] == 0
    assert (one["last_position"] + 1).to_list()[:-1] == one["first_position"].to_list()[1:]
    assert one["last_position"][-1] == 79
    assert one["time_ns"].sum() == 80 * KERNEL_NS


def test_many_iterations_are_told_in_groups_with_their_longest(tmp_path: Path) -> None:
    step = ["a", "b", "c"]
    found = find(*train(tmp_path, *[step] * 100, longer={3 * 50 + 1: 900}), "positions")
    rows = found.rows
    assert rows["iteration"].n_unique() == 48
    far = rows.filter(rows["ratio"] > 1)
    assert far.select("name", "longest_iteration", "ratio").rows() == [("b", 50, 2.5)]
    assert far["iteration"][0] <= 50 <= far["last_iteration"][0]


def test_iterations_with_other_operations_are_left_out(tmp_path: Path) -> None:
    units = [STEP] * 6 + [[*STEP[:9], "log", *STEP[10:]]] + [STEP] * 6
    rows = find(*train(tmp_path, *units), "positions").rows
    assert 6 not in rows["iteration"].to_list()
    assert set(rows["iterations"]) == {12}


def test_iterations_that_do_not_differ_say_so(tmp_path: Path) -> None:
    assert find(*train(tmp_path, *[STEP] * 12), "positions").sentence.endswith("none differs.")


def test_the_sql_gives_the_rows(tmp_path: Path) -> None:
    trace, archive = train(tmp_path, *[STEP] * 12)
    found = find(trace, archive, "positions")
    assert archive.open(trace.id).sql(found.sql).equals(found.rows)


def test_without_iterations_nothing_is_compared(tmp_path: Path) -> None:
    found = find(*train(tmp_path, [f"kernel_{number}" for number in range(30)]), "positions")
    assert found.sentence == "No iterations of equal content were found."


def test_a_trace_without_device_work_was_not_collected(tmp_path: Path) -> None:
    with pytest.raises(NotCollected):
        find(*build(tmp_path, api=[{"start_ns": 0, "end_ns": 1}]), "positions")
