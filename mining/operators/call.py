"""A call of an operator as the framework recorded it: shapes, types, strides and plain arguments, checked."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

__all__ = ["SIZES", "Call", "Missing", "Tensor", "read_call", "scalar_type", "type_named"]

SIZES: Mapping[str, int] = {
    "fp64": 8, "fp32": 4, "fp16": 2, "bf16": 2, "fp8": 1, "fp4": 1, "int64": 8, "int32": 4, "int16": 2, "int8": 1,
    "uint8": 1, "bool": 1, "complex32": 4, "complex64": 8, "complex128": 16,
}  # fmt: skip
"""Bytes of an element; `fp4` holds two numbers in one element."""

_NAMES: Mapping[str, str] = {
    "double": "fp64", "float": "fp32", "half": "fp16", "bfloat16": "bf16", "long": "int64", "long int": "int64",
    "long long": "int64", "int": "int32", "short": "int16", "short int": "int16", "char": "int8", "signed char": "int8",
    "byte": "uint8", "unsigned char": "uint8", "bool": "bool", "complex<half>": "complex32",
    "complex<float>": "complex64", "complex<double>": "complex128", "float4_e2m1fn_x2": "fp4",
    **dict.fromkeys(("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"), "fp8"),
}  # fmt: skip
"""Types as C++ and PyTorch name them, without `c10::`."""

_NUMBERED: Mapping[int, str] = {
    0: "uint8", 1: "int8", 2: "int16", 3: "int32", 4: "int64", 5: "fp16", 6: "fp32", 7: "fp64", 8: "complex32",
    9: "complex64", 10: "complex128", 11: "bool", 15: "bf16", 23: "fp8", 24: "fp8", 25: "fp8", 26: "fp8",
}  # fmt: skip
"""Types by their number in PyTorch (c10/core/ScalarType.h), which stands for one among plain arguments."""

_LIST = "TensorList"
_LARGEST = 2**48
"""No tensor has a dimension of that many elements: what says so is no shape."""
_MOST_DIMENSIONS = 64  # as many as PyTorch allows

Value = bool | int | float | str | tuple[Any, ...] | None


class Missing(Exception):  # noqa: N818 - no error of the program: what a trace does not say
    """What a formula needs and the trace does not say; the message is that, in words."""


@dataclass(frozen=True)
class Tensor:
    """An operand: its shape, its type where recorded, and the elements it has in memory.

    A dimension of stride 0 repeats what is there once, so `stored` may be less than `elements`.
    """

    shape: tuple[int, ...]
    type: str | None
    stored: int

    @property
    def elements(self) -> int:
        """The product of the shape: 1 for a number."""
        return prod(self.shape)

    def like(self, *shape: int, type: str | None = None) -> "Tensor":
        """A dense tensor of another shape, and of another type where one is given."""
        return Tensor(shape, type or self.type, prod(shape))


@dataclass(frozen=True)
class Call:
    """The operands by position (None: no tensor), the plain arguments by position (None: not recorded)."""

    name: str
    operands: tuple[Tensor | tuple[Tensor, ...] | None, ...]
    values: tuple[Value, ...]
    parent: "Call | None" = None
    told: Mapping[str, Any] | None = None

    def tensor(self, at: int, rank: int | None = None) -> Tensor:
        """The tensor at that position; `Missing` where there is none, or one of another number of dimensions."""
        found = self.maybe(at)
        if found is None:
            raise Missing(f"no shape of operand {at}")
        if rank is not None and len(found.shape) != rank:
            raise Missing(f"operand {at} has not {rank} dimensions")
        return found

    def maybe(self, at: int) -> Tensor | None:
        """The tensor at that position, if there is one."""
        found = self.operands[at] if at < len(self.operands) else None
        return found if isinstance(found, Tensor) else None

    def tensors(self, at: int) -> tuple[Tensor, ...]:
        """The tensors of the list at that position; `Missing` where their shapes are not recorded."""
        found = self.operands[at] if at < len(self.operands) else None
        if not isinstance(found, tuple) or not found:
            raise Missing(f"no shapes of the tensors in list {at}")
        return found

    def all(self) -> tuple[Tensor, ...]:
        """Every tensor of the call, those in lists too."""
        return tuple(
            one for some in self.operands if some is not None for one in (some if isinstance(some, tuple) else (some,))
        )

    def value(self, at: int) -> Value:
        """The plain argument at that position; None where it was not recorded."""
        return self.values[at] if at < len(self.values) else None

    def numbers(self, at: int, what: str) -> tuple[int, ...]:
        """The list of whole numbers at that position, or the one that stands for it; `Missing` names `what`."""
        found = self.value(at)
        if _is_whole(found):
            return (int(found),)  # pyright: ignore[reportArgumentType] - a whole number
        if not isinstance(found, tuple) or not all(_is_whole(one) for one in found):
            raise Missing(f"{what} not recorded")
        return found

    def flag(self, at: int, what: str) -> bool:
        """The truth value at that position; `Missing` names `what`."""
        found = self.value(at)
        if not isinstance(found, bool):
            raise Missing(f"{what} not recorded")
        return found

    def flags(self, at: int, count: int, what: str) -> tuple[bool, ...]:
        """The list of so many truth values at that position; `Missing` names `what`."""
        found = self.value(at)
        if not isinstance(found, tuple) or len(found) != count or not all(isinstance(one, bool) for one in found):
            raise Missing(f"{what} not recorded")
        return found


def type_named(text: Any) -> str | None:
    """The short name of a type as C++ or PyTorch has it: `c10::BFloat16` is `bf16`; None for what is no type.

    >>> type_named("c10::BFloat16"), type_named("long int"), type_named("Scalar"), type_named("Int")
    ('bf16', 'int64', None, None)
    """
    if not isinstance(text, str):
        return None
    bare = text.removeprefix("c10::").removeprefix("at::")
    return _NAMES.get(bare if bare == text else bare.lower())  # `Int` is a plain number, `int` a tensor's type


def scalar_type(number: Value) -> str | None:
    """The short name of the type with that number in PyTorch; None for what is none.

    >>> scalar_type(15)
    'bf16'
    """
    return _NUMBERED.get(number) if isinstance(number, int) and not isinstance(number, bool) else None


def read_call(
    name: str, shapes: str | None, types: str | None, args: str | None, parent: Call | None = None
) -> Call | None:
    """The call that an operator's columns describe; None where shapes were not recorded or are none."""
    listed, named, told = _parsed(shapes), _parsed(types), _parsed(args)
    if not isinstance(listed, list):
        return None
    kinds: list[Any] = named if isinstance(named, list) else []
    known: Mapping[str, Any] = told if isinstance(told, dict) else {}
    strides, values = (_listed(known.get(key)) for key in ("Input Strides", "Concrete Inputs"))
    operands = tuple(
        _operand(shape, kinds[at] if at < len(kinds) else None, strides[at] if at < len(strides) else None)
        for at, shape in enumerate(listed)
    )
    return Call(name, operands, tuple(_value(one) for one in values), parent, known)


def _parsed(text: str | None) -> Any:
    try:
        return json.loads(text) if text else None
    except (ValueError, RecursionError):
        return None


def _listed(found: Any) -> Sequence[Any]:
    return found if isinstance(found, list) else ()


def _operand(shape: Any, kind: Any, stride: Any) -> Tensor | tuple[Tensor, ...] | None:
    if not isinstance(shape, list):
        return None
    if kind == _LIST or any(isinstance(one, list) for one in shape):
        steps = _listed(stride)
        some = [_tensor(one, None, steps[at] if at < len(steps) else None) for at, one in enumerate(shape)]
        return tuple(one for one in some if one) if all(some) else None
    type = type_named(kind)
    return _tensor(shape, type, stride) if type or shape else None  # [] without a type is no tensor


def _tensor(shape: Any, type: str | None, stride: Any) -> Tensor | None:
    if not isinstance(shape, list) or len(shape) > _MOST_DIMENSIONS:
        return None
    if not all(_is_whole(size) and 0 <= size < _LARGEST for size in shape):
        return None
    steps = stride if isinstance(stride, list) and len(stride) == len(shape) else [1] * len(shape)
    stored = prod(min(size, 1) if step == 0 else size for size, step in zip(shape, steps, strict=True))
    return Tensor(tuple(shape), type, stored)


def _value(text: Any) -> Value:
    """An argument from how Kineto writes it: `[1, 1]`, `False`, `0.125`, `none`; the empty text says nothing."""
    if not isinstance(text, str) or not text:
        return None
    try:
        found = json.loads(text.replace("True", "true").replace("False", "false"))
    except (ValueError, RecursionError):
        return text
    return tuple(found) if isinstance(found, list) else None if isinstance(found, dict) else found


def _is_whole(found: Any) -> bool:
    return isinstance(found, int) and not isinstance(found, bool)
