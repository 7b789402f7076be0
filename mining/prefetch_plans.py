"""What to prefetch before each step of a program: the objects it touches, or the tensors in them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from .sorting import Ints, ragged

__all__ = [
    "LEAF_BYTES",
    "Memory",
    "Step",
    "by_operator",
    "leaves",
    "object_plan",
    "planned_bytes",
    "shifted",
    "tensor_plan",
    "wasted_bytes",
]

LEAF_BYTES = 65_536


@dataclass(frozen=True)
class Memory:
    """An object or a tensor of managed memory."""

    address: int
    bytes: int


@dataclass(frozen=True)
class Step:
    """A kernel, or the kernels of an operator, and the objects and tensors that were there before and that it touches.

    `objects` and `tensors` are places in lists of `Memory`; `touched` are the leaves, in the order of their use.
    `operator` is the one it was launched in, None outside all of them.
    """

    name: str
    occurrence: int
    objects: frozenset[int]
    tensors: frozenset[int]
    touched: Ints
    operator: int | None = None
    born: frozenset[int] = field(default_factory=frozenset[int])


def by_operator(steps: Sequence[Step]) -> list[Step]:
    """The steps with those of one operator, which follow each other, made one: it touches all that any of them does.

    What was allocated within the operator is not there before it, and is left out. A step outside all operators stays
    by itself: it is no part of the operator that comes next.
    """
    found: list[Step] = []
    for step in steps:
        if found and step.operator is not None and found[-1].operator == step.operator:
            last = found.pop()
            born = last.born | step.born
            touched = np.concatenate([last.touched, step.touched])
            objects, tensors = last.objects | step.objects, last.tensors | step.tensors
            step = Step(last.name, last.occurrence, objects, tensors, touched, step.operator, born)
        found.append(step)
    return [
        Step(s.name, s.occurrence, s.objects - s.born, s.tensors, s.touched, s.operator, s.born) if s.born else s
        for s in found
    ]


def leaves(memory: Iterable[Memory]) -> Ints:
    """The leaves that hold some memory, each once, in order."""
    known = list(memory)
    first = np.array([one.address // LEAF_BYTES for one in known], np.int64)
    last = np.array([(one.address + max(one.bytes, 1) - 1) // LEAF_BYTES for one in known], np.int64)
    return np.unique(ragged(first, last - first + 1))


def object_plan(steps: Sequence[Step], objects: Sequence[Memory]) -> list[Ints]:
    """Before each step the whole of every object that it touches."""
    return [leaves(objects[at] for at in sorted(step.objects)) for step in steps]


def tensor_plan(steps: Sequence[Step], tensors: Sequence[Memory], least_bytes: int) -> list[Ints]:
    """Before each step every tensor that it touches and that is not smaller."""
    return [leaves(tensors[at] for at in sorted(step.tensors) if tensors[at].bytes >= least_bytes) for step in steps]


def shifted(plan: Sequence[Ints], steps: int) -> list[Ints]:
    """The plan with each step's part asked for so many steps earlier; what would be before the first, at the first."""
    if not len(plan):
        return []
    parts = [np.concatenate(plan[: steps + 1]), *plan[steps + 1 :]]
    return [*parts, *(np.zeros(0, np.int64) for _ in range(len(plan) - len(parts)))]


def planned_bytes(plan: Sequence[Ints]) -> int:
    """The bytes of the leaves of a plan, those of each step counted."""
    return sum(len(part) for part in plan) * LEAF_BYTES


def wasted_bytes(step: Step, objects: Sequence[Memory], tensors: Sequence[Memory]) -> int:
    """The bytes of the objects that a step touches in which no tensor lies that it touches."""
    whole = sum(objects[at].bytes for at in step.objects)
    used = sum(
        tensors[at].bytes
        for at in step.tensors
        if any(
            objects[o].address <= tensors[at].address
            and tensors[at].address + tensors[at].bytes <= objects[o].address + objects[o].bytes
            for o in step.objects
        )
    )
    return max(whole - used, 0)
