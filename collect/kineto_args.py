"""The column `args`: JSON objects of what no other column holds, and what is added to them."""

from functools import cache
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute

from .spool import whole

__all__ = ["with_member"]

pc: Any = pyarrow.compute  # its functions are made at import, so its types say nothing
Texts: TypeAlias = pa.Array | pa.ChunkedArray


def with_member(args: Texts, key: str, texts: Texts) -> Texts:
    """The objects with one more member, given as JSON text, in the rows where that is not null.

    Each pair of an object and a text is joined once: both repeat.
    """
    if texts.null_count == len(texts):
        return args
    objects, members = _encoded(args), _encoded(texts)
    width = len(members.dictionary) + 1
    codes = (_codes(objects) + 1) * width + _codes(members) + 1
    pairs = pa.array(codes).dictionary_encode()
    which = pairs.dictionary.to_numpy()
    values = _with_member(_chosen(objects, which // width), key, _chosen(members, which % width))
    indices, missing = pairs.indices.to_numpy(), values.is_null().to_numpy(zero_copy_only=False)
    return pa.DictionaryArray.from_arrays(pa.array(indices, mask=missing[indices]), values.fill_null(""))


def _with_member(args: pa.Array, key: str, texts: pa.Array) -> pa.Array:
    member = _joined(f'"{key}": ', texts, "}")
    open_ended = pc.binary_slice(args.cast(pa.binary()), 0, -1).cast(pa.string())
    return pc.coalesce(_joined(open_ended, ", ", member), _joined("{", member), args)


def _joined(*parts: pa.Array | str) -> pa.Array:
    """The parts one after the other in each row; null where one is."""
    return pc.binary_join_element_wise(*(_scalar(p) if isinstance(p, str) else p for p in parts), _scalar(""))


@cache
def _scalar(text: str) -> pa.Scalar:
    # Arrow looks for pandas and dateutil on the disk each time it is given a Python string.
    return pa.scalar(text)


def _encoded(column: Texts) -> pa.DictionaryArray:
    one = whole(column)  # some functions of Arrow lose rows of columns that have empty chunks
    return one if isinstance(one, pa.DictionaryArray) else one.dictionary_encode()


def _codes(column: pa.DictionaryArray) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The place of each row's text in the dictionary; -1 where null."""
    return column.indices.fill_null(-1).to_numpy().astype(np.int64)


def _chosen(column: pa.DictionaryArray, which: Any) -> pa.Array:
    """The texts with those numbers, 0 being null and 1 the first."""
    return column.dictionary.take(pa.array(which - 1, mask=which == 0))
