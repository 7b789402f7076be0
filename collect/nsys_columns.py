"""Columns of an Nsight Systems export, turned into those of our tables: texts, JSON, numbers that fit."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute

from .database_columns import TEXT

__all__ = [
    "arguments",
    "as_json",
    "combinations",
    "dictionary",
    "filled",
    "is_uniform",
    "nonzero",
    "plus",
    "translated",
]

pc: Any = pyarrow.compute  # its functions are made at import, so its types say nothing

MANY = 2**62


def translated(values: pa.Array, translate: Callable[[Any], str | None]) -> pa.DictionaryArray:
    """Each value's text, worked out once per distinct value."""
    if is_uniform(values):
        return dictionary(pa.array(np.zeros(len(values), np.int32)), pa.array([translate(values[0].as_py())], TEXT))
    encoded = values.dictionary_encode()
    texts = [translate(value) for value in encoded.dictionary.to_pylist()]
    return dictionary(encoded.indices, pa.array(texts, TEXT))


def is_uniform(values: pa.Array) -> bool:
    """Whether there are values, none is null, and all are the same; a look at each, 0.2 ns for a number."""
    if values.null_count or not len(values):
        return False
    if pa.types.is_dictionary(values.type):
        return is_uniform(values.indices)
    if pa.types.is_integer(values.type):
        numbers = values.to_numpy()
        return bool((numbers == numbers[0]).all())
    if not pa.types.is_string(values.type):
        return False
    _, ends, texts = values.buffers()
    ends = np.frombuffer(ends, np.int32)[values.offset : values.offset + len(values) + 1]
    length = ends[1] - ends[0]
    if (np.diff(ends) != length).any():
        return False
    text = np.frombuffer(texts or b"", np.uint8)[ends[0] : ends[-1]]
    return bool((text[length:] == text[: len(text) - length]).all())


def dictionary(indices: pa.Array, texts: pa.Array) -> pa.DictionaryArray:
    """The texts by index, as an array whose own dictionary holds no null."""
    if not texts.null_count:
        return pa.DictionaryArray.from_arrays(indices, texts)
    valid = texts.is_valid().to_numpy(zero_copy_only=False)
    renumbered = pa.array((np.cumsum(valid) - 1).astype(np.int32), mask=~valid)
    return pa.DictionaryArray.from_arrays(renumbered.take(indices), texts.drop_null())


def filled(texts: pa.Array, fallback: str | pa.Array) -> pa.Array:
    """The texts, with the fallback where there is none."""
    if not texts.null_count:
        return texts
    other = fallback if isinstance(fallback, str) else fallback.cast(TEXT)
    return pc.coalesce(texts.cast(TEXT), other)


def nonzero(values: pa.Array) -> pa.Array:
    """The values, null where they say nothing: zero, or an empty text."""
    if values.null_count == len(values) or pa.types.is_binary(values.type):
        return values
    if is_uniform(values):
        return values if values[0].as_py() else pa.nulls(len(values), values.type)
    if pa.types.is_integer(values.type) and not values.null_count:
        numbers = values.to_numpy()
        said = numbers != 0
        if said.all():
            return values
        present = pa.py_buffer(np.packbits(said, bitorder="little"))
        return pa.Array.from_buffers(values.type, len(values), [present, pa.py_buffer(numbers)])
    nothing = "" if pa.types.is_string(values.type) else 0
    return pc.if_else(pc.equal(values, nothing), None, values)


def plus(left: pa.Array, right: pa.Array) -> pa.Array:
    """The sum; a number that is not there counts as zero, two that are not there make none."""
    if not left.null_count and not right.null_count:
        return pc.add(left, right)
    neither = pc.and_(left.is_null(), right.is_null())
    return pc.if_else(neither, None, pc.add(pc.fill_null(left, 0), pc.fill_null(right, 0)))


def combinations(columns: Sequence[pa.Array]) -> tuple[pa.Array, list[tuple[Any, ...]]]:
    """The number of each row's combination of values, and the combinations: one hashing for all whole numbers."""
    code: npt.NDArray[np.int64] = np.zeros(len(columns[0]), np.int64)
    values: list[Sequence[Any]] = []
    possible = 1
    for column in columns:
        digits, there = _digits(column, MANY // possible)
        values.append(there)
        possible *= max(len(there), 1)
        if possible >= MANY:
            rows = list(zip(*(c.to_pylist() for c in columns), strict=True))
            return pa.array(np.arange(len(rows), dtype=np.int32)), rows
        if len(there) > 1:
            code = code * len(there) + digits
    rest, numbers = code[:1], pa.array(np.zeros(len(code), np.int32))
    if possible > 1:
        encoded = pa.array(code).dictionary_encode()
        rest, numbers = encoded.dictionary.to_numpy(), encoded.indices
    found: list[list[Any]] = []
    for there in reversed(values):
        rest, digit = np.divmod(rest, max(len(there), 1))
        found.append([there[d] for d in digit.tolist()])
    return numbers, list(zip(*reversed(found), strict=True))


def _digits(column: pa.Array, most: int) -> tuple[npt.NDArray[np.integer], Sequence[Any]]:
    """The place of each value among the values there are, or, of whole numbers, among all those that could be."""
    if pa.types.is_signed_integer(column.type) and not column.null_count and len(column):
        numbers = column.to_numpy().astype(np.int64, copy=False)
        least, greatest = int(numbers.min()), int(numbers.max())
        if greatest - least < most:
            return numbers - least, range(least, greatest + 1)
    elif is_uniform(column):
        return np.zeros(0, np.int64), [column[0].as_py()]
    plain = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
    encoded = plain.dictionary_encode(null_encoding="encode")
    return encoded.indices.to_numpy(), encoded.dictionary.to_pylist()


def arguments(columns: Mapping[str, pa.Array]) -> pa.DictionaryArray | None:
    """One JSON object per row of the values that are not null; null for a row that has none."""
    said = {name: array for name, array in columns.items() if array.null_count < len(array)}
    if not said:
        return None
    indices, rows = combinations(list(said.values()))
    texts = [as_json(dict(zip(said, row, strict=True))) for row in rows]
    return dictionary(indices, pa.array(texts, TEXT))


def as_json(values: Mapping[str, Any]) -> str | None:
    """The values that are not null as a JSON object, or None. What JSON cannot hold is written as text."""
    said = {name: _plain(value) for name, value in values.items() if value is not None}
    return json.dumps(said, ensure_ascii=False) if said else None


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):  # the exporter writes hexadecimal; so do we, unless it is text already
        return value.decode() if value.isascii() and value.decode().isprintable() else value.hex()
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
