"""The column `args`: JSON objects of what no other column holds, and what is added to them."""

from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.compute

__all__ = ["in_object", "with_member"]

pc: Any = pyarrow.compute  # its functions are made at import, so its types say nothing


def with_member(args: pa.Array | pa.ChunkedArray, key: str, texts: pa.Array | pa.ChunkedArray) -> pa.Array:
    """The objects with one more member, given as JSON text, in the rows where that is not null."""
    args, texts = _whole(args), _whole(texts)
    if texts.null_count == len(texts):
        return args
    member = _joined(f'"{key}": ', texts, "}")
    open_ended = pc.binary_slice(args.cast(pa.binary()), 0, -1).cast(pa.string())
    return pc.coalesce(_joined(open_ended, ", ", member), _joined("{", member), args)


def in_object(key: str, args: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Objects whose only member is the given one; null where that is null."""
    return _joined(f'{{"{key}": ', _whole(args), "}")


def _joined(*parts: pa.Array | str) -> pa.Array:
    """The parts one after the other in each row; null where one is."""
    return pc.binary_join_element_wise(*(_scalar(p) if isinstance(p, str) else p for p in parts), _scalar(""))


@cache
def _scalar(text: str) -> pa.Scalar:
    # Arrow looks for pandas and dateutil on the disk each time it is given a Python string.
    return pa.scalar(text)


def _whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """One array: some functions of Arrow lose rows of columns that have empty chunks."""
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
