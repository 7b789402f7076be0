"""A stand-in for CuPy on the CPU that refuses what CuPy cannot do, or does otherwise than NumPy.

Only the names, methods and dtypes listed here exist. Arrays of NumPy do not mix with its own, nothing becomes an array
of NumPy by itself, indices must lie inside (CuPy wraps or reads elsewhere without a word), a scatter must not hit a
place twice (CuPy leaves open which value stays), and 32-bit sums must not overflow.
"""

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

__all__ = ["FUNCTIONS", "METHODS", "TYPES", "StrictArray", "on_host", "strict", "to_device"]

Scalar = int | np.integer | np.bool_
FUNCTIONS = (
    *("arange", "empty", "empty_like", "full", "ones", "zeros"),
    *("cumsum", "equal", "flatnonzero", "maximum", "minimum", "not_equal", "searchsorted", "where"),
)
METHODS = ("all", "argmin", "astype", "copy", "max", "sort", "sum", "view")
TYPES = {name: getattr(np, name) for name in ("bool_", "int32", "int64", "uint32", "uint64")}


class StrictArray:
    """An array of the stand-in."""

    def __init__(self, values: np.ndarray[Any, Any]):
        if values.dtype not in TYPES.values():
            raise TypeError(f"the engine has no use for {values.dtype}")
        self._values = values

    dtype = property(lambda self: self._values.dtype)
    size = property(lambda self: self._values.size)
    shape = property(lambda self: self._values.shape)

    def __array__(self, *_: Any) -> None:
        raise TypeError("implicit conversion to a NumPy array")

    __array_ufunc__ = None

    def __iter__(self) -> Iterator[Any]:
        raise TypeError("a loop over an array on a device, one copy to the host each")

    def __bool__(self) -> bool:
        if self._values.ndim:
            raise TypeError("an array as a condition")
        return bool(self._values)

    def __int__(self) -> int:
        if self._values.size != 1:
            raise TypeError("only an array of one element is a number")
        return int(self._values.reshape(-1)[0])

    def __getitem__(self, index: Any) -> "StrictArray":
        return StrictArray(np.asarray(self._values[self._checked(index)]))

    def __setitem__(self, index: Any, value: Any) -> None:
        where = self._checked(index)
        values = bare(value)
        if isinstance(where, np.ndarray) and isinstance(value, StrictArray) and where.dtype != np.bool_:
            assert np.unique(where).size == where.size, "a scatter hits a place twice"
        if isinstance(value, StrictArray) and not np.can_cast(value.dtype, self.dtype, "same_kind"):
            raise TypeError(f"cannot store {value.dtype} in {self.dtype}")
        self._values[where] = values

    def _checked(self, index: Any) -> Any:
        if isinstance(index, tuple):
            assert all(part is None or isinstance(part, slice) for part in index), "indices of several dimensions"
            return index
        if isinstance(index, slice | int):
            return index
        assert isinstance(index, StrictArray), f"{type(index)} as an index"
        if index.dtype == np.bool_:
            assert index.shape == self.shape, "a mask of another shape"
        else:
            assert index.dtype in (np.int32, np.int64), f"an index of {index.dtype}"
            inside = (index._values >= 0) & (index._values < len(self._values))
            assert inside.all(), "an index outside"
        return index._values

    def astype(self, dtype: Any) -> "StrictArray":
        return StrictArray(self._values.astype(dtype))

    def view(self, dtype: Any) -> "StrictArray":
        assert self._values.flags.c_contiguous
        return StrictArray(self._values.view(dtype))

    def copy(self) -> "StrictArray":
        return StrictArray(self._values.copy())

    def sort(self) -> None:
        assert self._values.ndim == 1
        assert self._values.flags.c_contiguous
        self._values.sort()

    def sum(self) -> "StrictArray":
        return StrictArray(np.asarray(self._values.sum()))

    def max(self) -> "StrictArray":
        return StrictArray(np.asarray(self._values.max()))

    def all(self, axis: int | None = None) -> "StrictArray":
        return StrictArray(np.asarray(self._values.all(axis=axis)))

    def argmin(self, axis: int) -> "StrictArray":
        return StrictArray(self._values.argmin(axis=axis))


def bare(value: Any) -> Any:
    """Returns what NumPy computes with: the values of an array, or a number."""
    if isinstance(value, StrictArray):
        return value._values
    if isinstance(value, Scalar):
        return value
    raise TypeError(f"{type(value)} does not mix with arrays on a device")


def on_host(array: StrictArray) -> np.ndarray[Any, Any]:
    """Copies an array to the host, as `get` does in CuPy."""
    return array._values.copy()


def _binary(name: str, *, in_place: bool) -> Callable[[StrictArray, Any], StrictArray]:
    compute = getattr(operator, f"__{name}__")

    def apply(self: StrictArray, other: Any) -> StrictArray:
        exact = name in ("add", "sub", "mul", "iadd", "isub", "imul") and self.dtype in (np.int32, np.int64)
        wide = compute(self._values.astype(object), bare(other)) if exact and self.size < 10_000 else None
        result = compute(self._values, bare(other))
        assert wide is None or np.array_equal(wide.astype(object), result.astype(object)), "an overflow"
        if in_place:
            return self
        return StrictArray(np.asarray(result))

    return apply


def _reflected(name: str) -> Callable[[StrictArray, Any], StrictArray]:
    compute = getattr(operator, f"__{name}__")
    return lambda self, other: StrictArray(np.asarray(compute(bare(other), self._values)))


for _name in ("add", "sub", "mul", "and", "or", "xor", "lshift", "rshift"):
    setattr(StrictArray, f"__{_name}__", _binary(_name, in_place=False))
    setattr(StrictArray, f"__i{_name}__", _binary(f"i{_name}", in_place=True))
    setattr(StrictArray, f"__r{_name}__", _reflected(_name))
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(StrictArray, f"__{_name}__", _binary(_name, in_place=False))
StrictArray.__hash__ = None  # type: ignore[assignment]  # as for arrays, whose == compares elements
StrictArray.__invert__ = lambda self: StrictArray(~self._values)  # type: ignore[attr-defined]  # set like the above


class _Module:
    """The names of the stand-in; any other raises AttributeError."""

    def __init__(self) -> None:
        for name, dtype in TYPES.items():
            setattr(self, name, dtype)

    def empty(self, size: int, dtype: Any) -> StrictArray:
        least = np.iinfo(dtype).min if dtype is not np.bool_ else True  # what nobody wrote is not to be read
        return StrictArray(np.full(size, least, dtype))

    def empty_like(self, array: StrictArray) -> StrictArray:
        return self.empty(array.size, array.dtype.type)

    def zeros(self, size: int, dtype: Any) -> StrictArray:
        return StrictArray(np.zeros(size, dtype))

    def ones(self, size: int, dtype: Any) -> StrictArray:
        return StrictArray(np.ones(size, dtype))

    def full(self, size: int, value: int, dtype: Any) -> StrictArray:
        return StrictArray(np.full(size, value, dtype))

    def arange(self, *bounds: int, dtype: Any) -> StrictArray:
        return StrictArray(np.arange(*bounds, dtype=dtype))

    def cumsum(self, array: StrictArray, *, dtype: Any, out: StrictArray | None = None) -> StrictArray:
        total = np.cumsum(bare(array), dtype=dtype)
        if dtype is np.int32:
            assert np.array_equal(total, np.cumsum(bare(array), dtype=np.int64)), "an overflow"
        if out is None:
            return StrictArray(total)
        assert out.dtype == dtype
        assert out._values.flags.c_contiguous
        out._values[:] = total
        return out

    def flatnonzero(self, array: StrictArray) -> StrictArray:
        return StrictArray(np.flatnonzero(bare(array)))

    def where(self, condition: StrictArray, one: Any, other: Any) -> StrictArray:
        assert condition.dtype == np.bool_
        return StrictArray(np.where(condition._values, bare(one), bare(other)))

    def searchsorted(self, array: StrictArray, values: StrictArray, *, side: str) -> StrictArray:
        assert side in ("left", "right")
        return StrictArray(np.searchsorted(bare(array), bare(values), side=side))

    def minimum(self, one: Any, other: Any, *, out: StrictArray | None = None) -> StrictArray:
        return self._ufunc(np.minimum, one, other, out)

    def maximum(self, one: Any, other: Any, *, out: StrictArray | None = None) -> StrictArray:
        return self._ufunc(np.maximum, one, other, out)

    def equal(self, one: Any, other: Any, *, out: StrictArray | None = None) -> StrictArray:
        return self._ufunc(np.equal, one, other, out)

    def not_equal(self, one: Any, other: Any, *, out: StrictArray | None = None) -> StrictArray:
        return self._ufunc(np.not_equal, one, other, out)

    @staticmethod
    def _ufunc(compute: Any, one: Any, other: Any, out: StrictArray | None) -> StrictArray:
        if out is None:
            return StrictArray(np.asarray(compute(bare(one), bare(other))))
        compute(bare(one), bare(other), out=out._values)
        return out


strict = _Module()


def to_device(values: np.ndarray[Any, Any]) -> StrictArray:
    """Copies an array from the host, as `asarray` does in CuPy."""
    return StrictArray(values.copy())
