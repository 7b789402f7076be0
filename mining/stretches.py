"""The operations of a trace's iterations, as one side of a comparison."""

from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from ..store.trace import Trace
from .differences import Side
from .levels import MAIN
from .sequence import Sequence, sequences

__all__ = ["Dictionary", "Iterations", "side_of"]

Ints = npt.NDArray[np.int64]

ITERATIONS = f"""
with main as ({MAIN})
select process, sequence, first, last, from_ns, end_ns
from iteration
join main using (process, level)
order by process, first
"""


class Dictionary:
    """Numbers symbols alike in several traces, by their keys."""

    def __init__(self) -> None:
        self._number: dict[str, int] = {}
        self.labels: list[str] = []

    def numbers(self, keys: list[str], labels: list[str]) -> npt.NDArray[np.int32]:
        """The common number of each of a trace's symbols."""
        for key, label in zip(keys, labels, strict=True):
            if self._number.setdefault(key, len(self.labels)) == len(self.labels):
                self.labels.append(label)
        return np.array([self._number[key] for key in keys], np.int32)


@dataclass(frozen=True, eq=False)
class Iterations:
    """The iterations of one process: the sequence that shows them, its ordinals, and their time.

    `before` is the number of iterations of earlier processes.
    """

    sequence: int
    before: int
    first: Ints
    last: Ints
    from_ns: Ints
    end_ns: Ints


def side_of(trace: Trace, dictionary: Dictionary, symbols: str, *, whole: bool) -> Side | None:
    """What is compared of a trace: the operations of its processes' main iterations, or, if `whole`, all of them.

    An operation of a sequence that does not show the iterations itself counts to the one in whose time it starts. A
    whole trace is one iteration for each process. None where there are no iterations, or no operations.
    """
    found = sequences(trace, symbols=symbols)
    if whole:
        processes = sorted({one.process for one in found})
        every = [
            (np.arange(len(one.symbols)), np.full(len(one.symbols), processes.index(one.process))) for one in found
        ]
        return _side(found, every, dictionary, len(processes), _extent(found)) if found else None
    main = _main(trace)
    if not main:
        return None
    within = [_within(one, main.get(one.process)) for one in found]
    count = sum(len(one.first) for one in main.values())
    span = sum(int((one.end_ns - one.from_ns).sum()) for one in main.values())
    return _side(found, within, dictionary, count, span)


def _main(trace: Trace) -> dict[int, Iterations]:
    """The main iterations of each process."""
    found: dict[int, Iterations] = {}
    before = 0
    for part in trace.sql(ITERATIONS).partition_by("process", maintain_order=True) if trace.has("iteration") else ():
        columns = (part[name].to_numpy() for name in ("first", "last", "from_ns", "end_ns"))
        found[int(part["process"][0])] = Iterations(int(part["sequence"][0]), before, *columns)
        before += len(part)
    return found


def _side(
    found: list[Sequence], chosen: list[tuple[Ints, Ints]], dictionary: Dictionary, count: int, span: int
) -> Side:
    """The chosen operations of some sequences, given by ordinals and iterations, as one side."""
    numbers = [dictionary.numbers(one.keys, one.labels)[one.symbols] for one in found]
    size = [len(index) for index, _ in chosen]
    begins = [
        before + np.flatnonzero(np.r_[True, index[1:] != index[:-1] + 1])
        for (index, _), before in zip(chosen, [0, *accumulate(size)], strict=False)
        if len(index)
    ]
    none = np.zeros(0, np.int64)
    return Side(
        np.concatenate([none, *(number[index] for number, (index, _) in zip(numbers, chosen, strict=True))]).astype(
            np.int32
        ),
        np.concatenate([none, *((one.end_ns - one.start_ns)[i] for one, (i, _) in zip(found, chosen, strict=True))]),
        np.concatenate([none, *(iteration for _, iteration in chosen)]),
        np.concatenate([none, *begins]),
        count,
        span,
    )


def _within(sequence: Sequence, iterations: Iterations | None) -> tuple[Ints, Ints]:
    """The ordinals of the operations of a sequence that belong to iterations, and to which."""
    if iterations is None:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    ordinal = np.arange(len(sequence.symbols))
    if sequence.number == iterations.sequence:
        at = np.searchsorted(iterations.first, ordinal, "right") - 1
        inside = (at >= 0) & (ordinal <= iterations.last[at])
    else:
        at = np.searchsorted(iterations.end_ns, sequence.start_ns, "right")
        inside = at < len(iterations.end_ns)
        inside &= sequence.start_ns >= iterations.from_ns[np.where(inside, at, 0)]
    return np.flatnonzero(inside), iterations.before + at[inside]


def _extent(found: list[Sequence]) -> int:
    """The time from the first to the last operation of each process, summed."""
    total = 0
    for process in {one.process for one in found}:
        own = [one for one in found if one.process == process]
        total += max(int(one.end_ns.max()) for one in own) - min(int(one.start_ns.min()) for one in own)
    return total
