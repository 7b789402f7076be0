"""What to prefetch before each step of a program: the objects it touches, or the tensors in them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from .managed_pages import LEAF_BYTES
from .sorting import Ints, ragged

__all__ = ["Memory", "Step", "by_operator", "leaves", "object_plan", "shifted", "tensor_plan"]


@dataclass(frozen=True)
class Memory:
    """An object or a tensor of managed memory."""

    address: int
    bytes: int


@dataclass(frozen=True)
class Step:
    """A kernel, or the kernels of an operator, and the objects and tensors that were there before and that it touches.

    `objects` and `tensors` are places in lists of `Memory`; `touched` are the leaves, in the order of their use.
    `operator` is the one it was launched in, None outside all of them; `born` are the objects allocated within it and
    touched, which no plan can bring before it.
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

    A step outside all operators stays by itself: it is no part of the operator that comes next.
    """
    found: list[Step] = []
    for step in steps:
        if found and step.operator is not None and found[-1].operator == step.operator:
            last = found.pop()
            step = replace(
                last,
                objects=last.objects | step.objects,
                tensors=last.tensors | step.tensors,
                touched=np.concatenate([last.touched, step.touched]),
                born=last.born | step.born,
            )
        found.append(step)
    return found


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
