"""The column `args`: JSON objects of what no other column holds, and what is added to them."""

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
    member = pc.binary_join_element_wise(f'"{key}": ', texts, "}", "")
    open_ended = pc.binary_slice(args.cast(pa.binary()), 0, -1).cast(pa.string())
    joined = pc.binary_join_element_wise(open_ended, member, ", ")
    return pc.coalesce(joined, pc.binary_join_element_wise("{", member, ""), args)


def in_object(key: str, args: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Objects whose only member is the given one; null where that is null."""
    return pc.binary_join_element_wise(f'{{"{key}": ', _whole(args), "}", "")


def _whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """One array: some functions of Arrow lose rows of columns that have empty chunks."""
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
