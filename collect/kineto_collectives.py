"""What NCCL and RCCL kernels say of their collective in their arguments, as columns of the table `collective`."""

from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.compute

from .jsonrepair import loads, text_of
from .kineto_record import whole

__all__ = ["collective_columns"]

pc: Any = pyarrow.compute  # its functions are made at import, so its types say nothing

TEXTS = {"kind": "Collective name", "type": "dtype", "group": "Process Group Name"}
NUMBERS = {
    "input_elements": "In msg nelems",
    "output_elements": "Out msg nelems",
    "group_size": "Group size",
    "sequence": "Seq",
}


def collective_columns(args: pa.DictionaryArray) -> dict[str, pa.Array]:
    """The columns that are told by arguments, given as JSON objects. One parse for each distinct object."""
    distinct = args.unique()
    which = pc.index_in(args.dictionary_decode(), value_set=distinct.dictionary_decode())
    said: list[dict[str, Any]] = [loads(text or "{}") for text in distinct.to_pylist()]
    columns = {name: pa.array([_text(one.get(key)) for one in said], pa.string()) for name, key in TEXTS.items()}
    columns |= {name: pa.array([whole(one.get(key)) for one in said], pa.int64()) for name, key in NUMBERS.items()}
    ranks = [one.get("Process Group Ranks") for one in said]
    columns["ranks"] = pa.array([_text(r) if _is_list(r) else None for r in ranks], pa.string())
    return {name: column.take(which) for name, column in columns.items()}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str | None) else text_of(value)


def _is_list(value: Any) -> bool:
    """Whether it is a list or the text of one: profilers cut long lists short, which is then none."""
    return _spells_list(value) if isinstance(value, str) else isinstance(value, list)


@cache
def _spells_list(text: str) -> bool:
    try:
        return isinstance(loads(text), list)
    except (ValueError, RecursionError):
        return False
