"""How long the host took to launch each operation."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..store.trace import Trace
from .columns import MISSING, numbers, words
from .extent import UNKNOWN
from .lookup import until
from .sequence import Sequence
from .sorting import lexical_order

__all__ = ["Calls", "host_calls"]

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Calls:
    """Host calls by process, thread and start."""

    process: Ints
    thread: Ints
    start_ns: Ints
    end_ns: Ints

    def durations(self, sequence: Sequence) -> Ints:
        """The duration of the call that launched each operation, `UNKNOWN` where none is known.

        An operation that has the same call as the one before it, as those of a graph have, gets 0.
        """
        launch, thread = (sequence.rows[name].to_numpy() for name in ("launch_ns", "launch_thread"))
        found = np.full(len(launch), UNKNOWN, np.int64)
        own = slice(*np.searchsorted(self.process, [sequence.process, sequence.process + 1]).tolist())
        known = (launch != MISSING) & (thread != MISSING)
        for number in np.unique(thread[known]).tolist() if known.any() else ():
            calls = slice(*(own.start + np.searchsorted(self.thread[own], [number, number + 1])).tolist())
            start, length = self.start_ns[calls], (self.end_ns - self.start_ns)[calls]
            if not len(start):
                continue
            index = np.flatnonzero(known & (thread == number))
            at = np.minimum(until(start, launch[index]), len(start) - 1)
            found[index] = np.where(start[at] == launch[index], length[at], UNKNOWN)
        again = (launch[1:] == launch[:-1]) & (thread[1:] == thread[:-1]) & (found[1:] != UNKNOWN)
        found[1:][again] = 0
        return found


def host_calls(trace: Trace) -> Calls | None:
    """The runtime and driver calls of a trace; None where they were not collected. Cost: a sort."""
    if not trace.has("api"):
        return None
    file = trace.files["api"]
    trusted = words(file, "flaw").are(None)
    columns = [column[trusted] for column in numbers(file, ("process", "thread", "start_ns", "end_ns")).values()]
    order = lexical_order(*columns[:3])
    return Calls(*(column[order] for column in columns))
