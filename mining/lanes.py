"""Passes over operations as an archive stores them: one stream after the other, each in the order of starts."""

from dataclasses import dataclass

import numpy as np

from ..store.compiled import jit
from .sorting import Ints

__all__ = ["Lanes", "lanes_of", "stream_gaps"]


@dataclass(frozen=True, eq=False)
class Lanes:
    """Where runs of one (process, device, stream) begin and stop in the stored order, and what these are."""

    begin: Ints
    stop: Ints
    process: Ints
    device: Ints
    stream: Ints

    def of(self, process: int, device: int) -> "Lanes":
        """Those of one device."""
        here = (self.process == process) & (self.device == device)
        return Lanes(*(column[here] for column in self._columns))

    def beside(self, other: "Lanes", offset: int) -> "Lanes":
        """These lanes and those of another table, whose operations stand `offset` further on."""
        moved = Lanes(other.begin + offset, other.stop + offset, other.process, other.device, other.stream)
        return Lanes(*(np.concatenate(pair) for pair in zip(self._columns, moved._columns, strict=True)))

    @property
    def _columns(self) -> tuple[Ints, ...]:
        return self.begin, self.stop, self.process, self.device, self.stream


def lanes_of(process: Ints, device: Ints, stream: Ints) -> Lanes:
    """The lanes of a table in its stored order: one pass."""
    cuts = np.empty(len(process) + 1, np.int64)
    count = _cuts(process, device, stream, cuts)
    begin = cuts[:count].copy()
    stop = np.r_[begin[1:], len(process)] if count else begin
    return Lanes(begin, stop, process[begin], device[begin].astype(np.int64), stream[begin])


def stream_gaps(lanes: Lanes, start: Ints, end: Ints) -> Ints:
    """For each operation how long its stream had been idle when it started: one pass, over lanes sorted by start.

    0 for the first of a lane, and where one before it still runs. Summed over a lane the gaps are what the union of its
    operations leaves free between the first start and the last end.
    """
    gaps = np.empty(len(start), np.int64)
    _gaps(lanes.begin, lanes.stop, start, end, gaps)
    return gaps


@jit()
def _cuts(process: Ints, device: Ints, stream: Ints, cuts: Ints) -> int:
    count = 0
    for at in range(len(process)):
        if at == 0 or stream[at] != stream[at - 1] or device[at] != device[at - 1] or process[at] != process[at - 1]:
            cuts[count] = at
            count += 1
    return count


@jit()
def _gaps(begin: Ints, stop: Ints, start: Ints, end: Ints, gaps: Ints) -> None:
    for lane in range(len(begin)):
        latest = start[begin[lane]]
        for at in range(begin[lane], stop[lane]):
            gaps[at] = max(start[at] - latest, 0)
            latest = max(latest, end[at])
