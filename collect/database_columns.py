"""Events of a database as columns: the kinds of values, batches of rows, and the times that can be."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute

__all__ = ["BINARY", "FARTHEST", "INT", "REAL", "TEXT", "Rows", "near"]

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
