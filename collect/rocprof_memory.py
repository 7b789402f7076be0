"""Lives of memory blocks, put together from the records of their allocation and of their release."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .rocprof_rows import Rows

__all__ = ["Blocks"]


@dataclass
class _Block:
    source: Mapping[str, Any]
    values: dict[str, Any]


class Blocks:
    """The blocks of a recording, by process and address."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._living: dict[tuple[int, Any], _Block] = {}

    def allocate(self, source: Mapping[str, Any], **values: Any) -> None:
        """Takes an allocation: the columns of the table but for `death_ns`."""
        key = (values["process"], values["address"])
        if key in self._living:  # its release was not recorded
            self._write(self._living.pop(key))
        self._living[key] = _Block(source, values)

    def release(self, source: Mapping[str, Any], process: int, address: int | None, death_ns: int | None) -> None:
        """Ends the life of a block; one whose allocation was not recorded has no size that is known: it is counted."""
        block = self._living.pop((process, address), None)
        if block is None:
            meaning = "releases of memory whose allocation was not recorded: kept in `other`"
            self._rows.sink.note("unknown-release", meaning)
            self._rows.other("release", source, death_ns)
            return
        self._write(_Block(block.source, {**block.values, "death_ns": death_ns}))

    def finish(self) -> None:
        """Writes the blocks that outlive the recording."""
        for block in self._living.values():
            self._write(block)
        self._living = {}

    def _write(self, block: _Block) -> None:
        self._rows.add("allocation", block.source, **block.values)
