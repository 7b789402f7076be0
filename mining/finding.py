"""What an analysis returns."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from ..store.trace import Trace

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

__all__ = ["Comparer", "Finder", "Finding", "Miner", "total"]


@dataclass(frozen=True)
class Finding:
    """One sentence, the rows that show it, and the SQL that gives exactly those rows.

    `rows` is what `sql` returned over the views of the trace; every number in `sentence` is one of them or computed
    from them. `notes` say what limits the finding: what was not collected, what was left out, how sure it is.
    """

    name: str
    sentence: str
    rows: "pl.DataFrame"
    sql: str
    notes: tuple[str, ...] = ()


class Miner(Protocol):
    """A module in `mining/analyses/` that derives tables from a trace, stored in the archive beside its events.

    `NEEDS` names miners that must have run before. `VERSION` rises when the same trace would give other rows or when
    `NEEDS` changes; where fewer are needed, above `mine.version` of before, since the greatest number is the newest.
    """

    VERSION: int
    NEEDS: tuple[str, ...]

    def mine(self, trace: Trace) -> Mapping[str, "pa.Table"]:
        """The derived tables by name, complete with their schemas even when empty."""
        ...


class Comparer(Protocol):
    """A module in `mining/comparisons/` that says how a trace differs from another, its base.

    `VERSION` and `NEEDS` are those of a miner. `TABLE` is the table it gives; it has a column `base`, the id of the
    base, and is stored with the other trace, the rows of several bases together.
    """

    VERSION: int
    NEEDS: tuple[str, ...]
    TABLE: str

    def compare(self, base: Trace, trace: Trace) -> Mapping[str, "pa.Table"]:
        """The rows of that base, by table."""
        ...

    def find(self, base: Trace, trace: Trace) -> Finding:
        """The answer, from the tables of the trace."""
        ...


class Finder(Protocol):
    """A module in `mining/analyses/` that answers a question about a trace. `NEEDS` names the miners it reads."""

    NEEDS: tuple[str, ...]

    def find(self, trace: Trace) -> Finding:
        """The answer; `NotCollected` when the trace lacks what it needs."""
        ...


def total(rows: "pl.DataFrame", column: str) -> int:
    """The sum of a column of whole numbers."""
    return int(rows[column].sum())
