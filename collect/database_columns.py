"""Events of a database as columns: the kinds of values, batches of rows, the times and numbers that can be."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute

__all__ = ["BINARY", "FARTHEST", "INT", "REAL", "TEXT", "Rows", "fitting", "near", "placed"]

pc: Any = pyarrow.compute  # its functions are made at import, so its types say nothing

INT, REAL, TEXT, BINARY = pa.int64(), pa.float64(), pa.string(), pa.binary()
FARTHEST = 2**62
"""Times beyond this are damage: sums and differences of them would overflow."""


@dataclass(frozen=True)
class Rows:
    """A batch of events: the columns asked for, and `rest`: what else the table says that is not null or zero."""

    columns: Mapping[str, pa.Array]
    rest: Mapping[str, pa.Array]
    count: int

    def __getitem__(self, column: str) -> pa.Array:
        return self.columns[column]

    def filter(self, mask: pa.Array) -> "Rows":
        """The rows for which the mask is true; these rows themselves where it is true for all."""
        count = pc.sum(mask).as_py() or 0
        if count == self.count:
            return self
        columns = {name: array.filter(mask) for name, array in self.columns.items()}
        return Rows(columns, {name: array.filter(mask) for name, array in self.rest.items()}, count)


def near(times: pa.Array) -> pa.Array:
    """Which of the times can be: sums and differences of them fit."""
    return pc.and_(pc.greater(times, -FARTHEST), pc.less(times, FARTHEST))


def fitting(values: pa.Array, column: str, note: Callable[..., None]) -> pa.Array:
    """Numbers that must fit 32 bits: null, and counted in a note, where they do not."""
    extent = pc.min_max(values).as_py()
    if extent["min"] is None or (extent["min"] >= -(2**31) and extent["max"] < 2**31):
        return values
    wrong = pc.or_(pc.less(values, -(2**31)), pc.greater_equal(values, 2**31))
    meaning = "numbers beyond what can be: read as null"
    note("out-of-range", meaning, count=pc.sum(wrong).as_py(), example=column)
    return pc.if_else(wrong, None, values)


def placed(values: pa.Array, what: str, note: Callable[..., None]) -> pa.Array:
    """A device or stream, which every device operation must have: 0, and counted in a note, where none is said."""
    if not values.null_count:
        return values
    note(f"no-{what}", f"device work of no stated {what}: counted as {what} 0", count=values.null_count)
    return pc.fill_null(values, 0)
