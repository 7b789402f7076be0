"""Small tables of device work, and the notes made about them."""

from typing import Any

import pyarrow as pa

from tracelode.store import TABLES

PLACE = {"process": 1, "device": 0, "stream": 7}


class Notes(list[tuple[str, int, str | None]]):
    """The notes made: kind, count, example."""

    def __call__(self, kind: str, meaning: str, *, count: int = 1, example: str | None = None) -> None:
        assert meaning
        self.append((kind, count, example))

    def counts(self) -> dict[str, int]:
        """How often each kind was noted."""
        return {kind: count for kind, count, _ in self}


def table(name: str, *rows: dict[str, Any]) -> pa.Table:
    """Rows of a table on one stream, sorted by start."""
    full = [PLACE | row for row in rows]
    return pa.Table.from_pylist(sorted(full, key=lambda row: row["start_ns"]), schema=TABLES[name].schema)
