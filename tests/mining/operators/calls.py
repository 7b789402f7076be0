"""Calls of operators as Kineto records them, and numbers that count what is done with them."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import exp, sqrt
from typing import Any

from tracelode.mining.operator_work import Work, work
from tracelode.mining.operators.call import Call, read_call

__all__ = ["Number", "counted", "numbers", "recorded", "worked"]


def recorded(
    name: str, *operands: Sequence[Any] | None, type: str = "float", types: Sequence[str] | None = None,
    values: Sequence[str] = (), strides: Sequence[Any] | None = None, parent: Call | None = None,
) -> Call | None:  # fmt: skip
    """The call with those shapes, all of that type (a list of shapes is a list of tensors, None is no tensor)."""
    kinds = types or [
        "Scalar" if one is None else "TensorList" if one and isinstance(one[0], (list, tuple)) else type
        for one in operands
    ]
    args: dict[str, Any] = {"Concrete Inputs": list(values)}
    if strides is not None:
        args["Input Strides"] = strides
    return read_call(name, json.dumps([one or [] for one in operands]), json.dumps(kinds), json.dumps(args), parent)


def worked(name: str, *operands: Sequence[Any] | None, **more: Any) -> Work:
    """What that call comes to."""
    return work(name, recorded(name, *operands, **more))


class Number:
    """A number that counts the operations done with it."""

    done = 0

    def __init__(self, value: float) -> None:
        self.value = value

    def _did(self, value: float) -> "Number":
        Number.done += 1
        return Number(value)

    def __add__(self, other: "Number | float") -> "Number":
        return self._did(self.value + float(other))

    def __sub__(self, other: "Number | float") -> "Number":
        return self._did(self.value - float(other))

    def __mul__(self, other: "Number | float") -> "Number":
        return self._did(self.value * float(other))

    def __truediv__(self, other: "Number | float") -> "Number":
        return self._did(self.value / float(other))

    def larger(self, other: "Number") -> "Number":
        return self._did(max(self.value, other.value))

    def exp(self) -> "Number":
        return self._did(exp(self.value))

    def sqrt(self) -> "Number":
        return self._did(sqrt(self.value))

    def __float__(self) -> float:
        return self.value


def numbers(count: int) -> list[Number]:
    """So many different numbers."""
    return [Number(0.1 + at / 7) for at in range(count)]


@contextmanager
def counted() -> Iterator[list[int]]:
    """A list that holds the number of operations when the block is left."""
    found: list[int] = []
    before = Number.done
    yield found
    found.append(Number.done - before)
