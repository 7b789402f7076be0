"""Arrow columns as an export's readers want them: whole numbers, numbers, texts or bytes, whatever they were stored as.

The other exports hold what the SQLite one does under narrower types (https://docs.nvidia.com/nsight-systems,
Analysis Guide, SQLite Schema Reference). A number of 64 bits without a sign is read as that export shows it: negative
from 2^63 on. Nsight Systems 2026 declares raw bytes as text, so no text is trusted to be UTF-8.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute

from .database_columns import BINARY, INT, REAL, TEXT

__all__ = ["declared", "fitted"]

pc: Any = pyarrow.compute  # its functions are made at import, so its types say nothing

MOST_BYTES = 1 << 29
"""So much text in one batch is a file made to fill the memory."""

Count = Callable[[str, int], None]


def declared(stored: pa.DataType) -> pa.DataType | None:
    """The type in which a column is read; None for what no export holds (lists, structures, calendar times)."""
    kinds = pa.types
    if kinds.is_dictionary(stored):
        return declared(stored.value_type)
    if kinds.is_integer(stored) or kinds.is_boolean(stored) or kinds.is_null(stored):
        return INT
    if kinds.is_floating(stored):
        return REAL
    if kinds.is_string(stored) or kinds.is_large_string(stored) or kinds.is_string_view(stored):
        return TEXT
    bytes_like = kinds.is_binary(stored) or kinds.is_large_binary(stored) or kinds.is_binary_view(stored)
    return BINARY if bytes_like or kinds.is_fixed_size_binary(stored) else None


def fitted(array: pa.Array, kind: pa.DataType, count: Count) -> pa.Array:
    """The column as int64, float64, string or binary; `count` is told of values that are not, and of mended texts."""
    if pa.types.is_dictionary(array.type):
        return _spread(fitted(array.dictionary, kind, count), array.indices)
    if array.type == kind and kind != TEXT:
        return _finite(array) if kind == REAL else array
    held = declared(array.type)
    if held is None:
        count("ill-typed", len(array) - array.null_count)
        return pa.nulls(len(array), kind)
    if held in (TEXT, BINARY):
        return _from_text(array, kind, count)
    if pa.types.is_null(array.type):
        return pa.nulls(len(array), kind)
    if kind in (TEXT, BINARY):
        return array.cast(TEXT).cast(kind)
    if kind == REAL:
        return _finite(array.cast(REAL, safe=False))
    return array.view(INT) if array.type == pa.uint64() else _whole(array, count)


def _spread(values: pa.Array, indices: pa.Array) -> pa.Array:
    """The values by index; `ArrowInvalid` where few long ones, each named often, would fill the memory."""
    if values.type in (TEXT, BINARY):
        size = pc.sum(pc.binary_length(values).take(indices).cast(INT)).as_py() or 0
        if size > MOST_BYTES:
            raise pa.ArrowInvalid(f"{size:,} bytes of texts in {len(indices):,} rows")
    return values.take(indices)


def _finite(array: pa.Array) -> pa.Array:
    return pc.if_else(pc.is_finite(array), array, None)


def _whole(array: pa.Array, count: Count) -> pa.Array:
    if not pa.types.is_floating(array.type):
        return array.cast(INT)
    array = array.cast(REAL)
    fits = pc.and_(pc.equal(pc.floor(array), array), pc.less(pc.abs(array), 2.0**63))
    _tell(count, "ill-typed", array, fits)
    return pc.if_else(fits, array, None).cast(INT)


def _from_text(array: pa.Array, kind: pa.DataType, count: Count) -> pa.Array:
    wide = pa.types.is_large_string(array.type) or pa.types.is_large_binary(array.type)
    raw = array.cast(pa.large_binary() if wide else BINARY).cast(BINARY)
    if kind == BINARY:
        return raw
    if kind == TEXT:
        try:
            return raw.cast(TEXT)
        except pa.ArrowInvalid:  # not UTF-8 somewhere: rare, so row by row
            texts = [None if value is None else value.decode("utf-8", "replace") for value in raw.to_pylist()]
            return pa.array(_mended(texts, raw.to_pylist(), count), TEXT)
    try:
        return raw.cast(TEXT).cast(kind) if kind == INT else _finite(raw.cast(TEXT).cast(kind))
    except pa.ArrowInvalid:  # no number somewhere
        numbers = pa.array([_number(value, kind) for value in raw.to_pylist()], kind)
        _tell(count, "ill-typed", raw, numbers.is_valid())
        return numbers


def _mended(texts: list[str | None], raw: list[bytes | None], count: Count) -> list[str | None]:
    wrong = sum(t is not None and t.encode() != v for t, v in zip(texts, raw, strict=True))
    count("bad-text", wrong)
    return texts


def _number(value: bytes | None, kind: pa.DataType) -> int | float | None:
    """The number a text says, as SQLite's own reading of it in another export would give."""
    try:
        if value is None:
            return None
        if kind == INT:
            number = int(value[:40])
            return number if -(2**63) <= number < 2**63 else None
        real = float(value)
    except ValueError:
        return None
    return real if math.isfinite(real) else None


def _tell(count: Count, kind: str, before: pa.Array, fits: pa.Array) -> None:
    lost = len(before) - before.null_count - int(np.count_nonzero(pc.fill_null(fits, False)))
    if lost > 0:
        count(kind, lost)
