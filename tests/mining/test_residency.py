"""P49 to P52: what moves on a device that holds less than a program touches. Leaves of 64 KiB, 32 to a block."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracelode.mining.managed_steps import Program
from tracelode.mining.prefetch_plans import Memory, Step, leaves
from tracelode.mining.residency import replay
from tracelode.mining.simulated import Costs, simulated

MIB = 1 << 20
COSTS = Costs(fault_ns=30_000, bytes_per_s=12_000_000_000)


def _steps(*steps: list[int]) -> list[Any]:
    return [np.array(step, np.int64) for step in steps]


def test_the_block_used_least_recently_goes() -> None:
    # Two blocks fit. Block 0, 1, 0 again, then 2: 1 goes, though 0 came first; then 1 comes again and 0 goes.
    whole = [list(range(32 * block, 32 * block + 32)) for block in range(3)]
    found = replay(_steps(whole[0], whole[1], whole[0], whole[2], whole[0], whole[1]), 64)
    assert (found.faults, found.again, found.evicted) == (4 * 32, 32, 2 * 32)


def test_on_a_fault_the_driver_fetches_the_largest_subtree_that_is_half_there() -> None:
    # 0: of leaves 0 and 1 one is there, half: both come. 2: 3 of 4: all 4. 4: 5 of 8. 8: 9 of 16. 16: 17 of 32.
    found = replay(_steps([0, 1, 2, 3, 4, 5, 6, 7, *range(8, 32)]), 32, tree_share=0.5)
    assert (found.faults, found.tree, found.moved) == (5, 27, 32)


def test_a_lone_touch_brings_its_neighbour_only() -> None:
    found = replay(_steps([20]), 32, tree_share=0.5)
    assert (found.faults, found.tree) == (1, 1)


def test_without_the_tree_every_leaf_faults_by_itself() -> None:
    found = replay(_steps(list(range(32))), 32)
    assert (found.faults, found.tree) == (32, 0)


def test_a_plan_moves_nothing_that_is_there() -> None:
    plan = _steps([0, 1], [0, 1, 2])
    found = replay(_steps([0], [2]), 32, plan=plan)
    assert found.brought == ((0, 1), (2,))
    assert (found.prefetched, found.faults, found.again, found.wasted) == (3, 0, 0, 1)  # leaf 1 is never touched


def test_a_checked_plan_asks_for_no_more_than_fits() -> None:
    block = [list(range(32 * at, 32 * at + 32)) for at in range(3)]
    everything = [leaf for part in block for leaf in part]
    found = replay(_steps([0], [32]), 64, plan=_steps(everything, everything))
    assert (found.most, found.skipped) == (64, 64)  # 32 leaves find no room, twice
    assert found.brought[0] == tuple(block[0] + block[1])
    assert found.brought[1] == ()
    blind = replay(_steps([0], [32]), 64, plan=_steps(everything, everything), checked=False)
    assert (blind.skipped, blind.most) == (0, 64)
    assert blind.again > 0  # it pushed out its own pages


def test_a_device_that_holds_no_block_is_refused() -> None:
    with pytest.raises(ValueError, match="holds no block"):
        replay(_steps([0]), 31)


def test_what_was_prefetched_and_pushed_out_untouched_is_wasted() -> None:
    block = [list(range(32 * at, 32 * at + 32)) for at in range(2)]
    found = replay(_steps([0], block[1]), 32, plan=_steps(block[0], []))
    assert found.wasted == 31


@settings(max_examples=50)
@given(
    st.lists(st.lists(st.integers(0, 159), max_size=12), min_size=1, max_size=8),
    st.lists(st.lists(st.integers(0, 159), max_size=40), min_size=8, max_size=8),
    st.integers(32, 170),
    st.booleans(),
    st.booleans(),
)
def test_no_step_exceeds_capacity_and_nothing_resident_moves(
    steps: list[list[int]], plan: list[list[int]], capacity: int, checked: bool, tree: bool
) -> None:
    found = replay(_steps(*steps), capacity, plan=_steps(*plan), checked=checked, tree_share=0.5 if tree else None)
    assert found.most <= capacity
    # What moved is there now or was pushed out: nothing came twice without leaving between.
    assert 0 <= found.moved - found.evicted <= found.most
    planned = {leaf for part in plan[: len(steps)] for leaf in part}
    for part, brought in zip(plan, found.brought, strict=False):
        assert set(brought) <= set(part)
        assert len(set(brought)) == len(brought)
    if capacity >= 160:
        assert (found.again, found.evicted, found.skipped) == (0, 0, 0)
        if not tree:
            assert found.moved == len({leaf for step in steps for leaf in step} | planned)


def _program(*, passes: int, tensors_of_object: int, small: int) -> Program:
    """Six objects of 8 MiB; in each pass a step for each touches its first tensors of 1 MiB and some of 64 KiB."""
    objects = [Memory(at * 8 * MIB, 8 * MIB) for at in range(6)]
    tensors = [Memory(one.address + at * MIB, MIB) for one in objects for at in range(tensors_of_object)]
    extra = [Memory(one.address + 7 * MIB + at * 65_536, 65_536) for one in objects for at in range(small)]
    steps: list[Step] = []
    for number in range(passes):
        for at in range(6):
            own = frozenset(range(at * tensors_of_object, (at + 1) * tensors_of_object))
            lesser = frozenset(len(tensors) + at * small + one for one in range(small))
            touched = leaves((tensors + extra)[one] for one in sorted(own | lesser))
            steps.append(Step(f"layer {at}", number, frozenset([at]), own | lesser, touched))
    return Program(1, steps, objects, tensors + extra, [None] * 6, "accesses", len(steps), len(steps))


def _times(factor: int, *, passes: int, tensors_of_object: int, small: int) -> dict[str, int]:
    """The simulated time of each policy, no prefetch hidden, at an oversubscription of the six objects of 48 MiB."""
    told = _program(passes=passes, tensors_of_object=tensors_of_object, small=small)
    runs = [run for run in simulated(told, tree_share=0.5, tensor_bytes=MIB) if run.factor == factor]
    assert {run.capacity for run in runs} == {48 * 16 // factor}  # leaves
    return {run.policy: run.times(COSTS)[1] for run in runs}


def test_where_all_fits_prefetching_objects_wins_as_in_pastas_figure_11() -> None:
    # An object: 5 tensors of 1 MiB and 16 of 64 KiB, 96 of 128 leaves. A leaf takes 65,536 / 12 GB/s = 5,461 ns, a
    # fault 30,000 ns more. None: 96 * 35,461; object: 128 * 5,461; tensor: 80 * 5,461 + 16 * 35,461; six times each.
    times = _times(1, passes=3, tensors_of_object=5, small=16)
    assert times["on demand"] == pytest.approx(6 * 96 * 35_461, rel=1e-3)
    assert times["object plan"] == pytest.approx(6 * 128 * 5_461, rel=1e-3)
    assert times["tensor plan"] == pytest.approx(6 * (80 * 5_461 + 16 * 35_461), rel=1e-3)
    assert times["object plan"] < times["tensor plan"] < times["on demand"]


def test_oversubscribed_three_times_prefetching_objects_loses_as_in_pastas_figure_12() -> None:
    # An object: 2 tensors of 1 MiB and 4 of 64 KiB, 36 of 128 leaves; all touched leaves, 216, fit into 16 MiB, 256
    # leaves, so without a plan only the first of eight passes faults. Whole objects do not fit: each pass moves them.
    times = _times(3, passes=8, tensors_of_object=2, small=4)
    assert times["on demand"] == pytest.approx(6 * 36 * 35_461, rel=1e-3)
    assert times["object plan"] > 2 * times["on demand"]
    assert times["tensor plan"] < times["on demand"]


def test_where_a_step_needs_little_and_all_of_it_objects_win_even_oversubscribed() -> None:
    # GPT-2 in the paper: 8 of 8 MiB of each object are touched, a sixth of the footprint at a time, and nothing stays
    # from pass to pass on 16 MiB whatever is done: 128 leaves come each time, with or without a fault for each.
    times = _times(3, passes=3, tensors_of_object=8, small=0)
    assert times["on demand"] == pytest.approx(3 * 6 * 128 * 35_461, rel=1e-3)
    assert times["object plan"] == pytest.approx(3 * 6 * 128 * 5_461, rel=1e-3)
