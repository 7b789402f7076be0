"""P47 to P49: what operators touch, the plans made of it, and what they would move for nothing."""

import numpy as np

from tracelode.mining.managed_pages import LEAF_BYTES
from tracelode.mining.prefetch_plans import Memory, Step, by_operator, leaves, object_plan, shifted, tensor_plan
from tracelode.mining.residency import replay
from tracelode.mining.sorting import Ints

MIB = 1 << 20
NONE = frozenset[int]()


def _step(name: str, objects: set[int], tensors: set[int], operator: int | None, born: set[int] | None = None) -> Step:
    touched = np.array(sorted(objects), np.int64)
    return Step(name, 0, frozenset(objects), frozenset(tensors), touched, operator, frozenset(born or ()))


def _bytes(plan: list[Ints]) -> int:
    return sum(len(part) for part in plan) * LEAF_BYTES


def test_an_operator_touches_what_any_of_its_kernels_touches() -> None:
    # PASTA's parser kept the last kernel's list: object 2 alone.
    (found,) = by_operator([_step("im2col", {0, 1}, {5}, 7), _step("gemm", {1, 2}, {6}, 7)])
    assert (found.name, found.objects, found.tensors) == ("im2col", {0, 1, 2}, {5, 6})
    assert found.touched.tolist() == [0, 1, 1, 2]


def test_what_is_allocated_within_the_operator_is_not_there_before_it() -> None:
    (found,) = by_operator([_step("im2col", {0}, set(), 7, {1}), _step("gemm", {2}, set(), 7, {1})])
    assert (found.objects, found.born) == ({0, 2}, {1})
    objects = [Memory(at * LEAF_BYTES, LEAF_BYTES) for at in range(3)]
    assert [part.tolist() for part in object_plan([found], objects)] == [[0, 2]]


def test_a_kernel_outside_all_operators_is_no_part_of_the_one_that_comes_next() -> None:
    found = by_operator([_step("free", {0}, set(), None), _step("free", {3}, set(), None), _step("mm", {1}, set(), 7)])
    assert [(step.name, sorted(step.objects)) for step in found] == [("free", [0]), ("free", [3]), ("mm", [1])]


def test_kernels_of_two_executions_of_an_operator_stay_apart() -> None:
    assert len(by_operator([_step("mm", {0}, set(), 7), _step("mm", {1}, set(), 8)])) == 2


OBJECTS = [Memory(0, 16 * MIB), Memory(32 * MIB, 4 * MIB)]
TENSORS = [Memory(0, 2 * MIB), Memory(4 * MIB, MIB), Memory(6 * MIB, MIB // 2), Memory(32 * MIB, 4 * MIB)]
STEPS = [_step("a", {0}, {0, 1, 2}, None), _step("b", {1}, {3}, None)]


def test_an_object_plan_moves_objects_and_a_tensor_plan_the_large_tensors_in_them() -> None:
    whole, parts = object_plan(STEPS, OBJECTS), tensor_plan(STEPS, TENSORS, MIB)
    assert _bytes(whole) == (16 + 4) * MIB
    assert _bytes(parts) == (2 + 1 + 4) * MIB  # the tensor of half a MiB is below the threshold
    assert all(set(part.tolist()) <= set(all_.tolist()) for part, all_ in zip(parts, whole, strict=True))


def test_what_a_prefetch_of_the_object_moves_for_nothing() -> None:
    # GPT-2-like: tensors of 2, 1 and 0.5 of 16 MiB are touched; of the second object all.
    wasted: list[int] = []
    for step in STEPS:
        touched = leaves(TENSORS[at] for at in sorted(step.tensors))
        wasted.append(replay([touched], 1024, plan=object_plan([step], OBJECTS)).wasted * LEAF_BYTES)
    assert wasted == [16 * MIB - 3 * MIB - MIB // 2, 0]


def test_memory_that_straddles_leaves_has_all_of_them() -> None:
    assert leaves([Memory(LEAF_BYTES - 1, 2), Memory(LEAF_BYTES, 1)]).tolist() == [0, 1]
    assert leaves([]).tolist() == []


def test_a_plan_shifted_asks_so_many_steps_earlier() -> None:
    plan = [np.array([at]) for at in range(4)]
    assert [part.tolist() for part in shifted(plan, 1)] == [[0, 1], [2], [3], []]
    assert [part.tolist() for part in shifted(plan, 9)] == [[0, 1, 2, 3], [], [], []]
    assert shifted([], 1) == []
