"""A run: the events that one rank of a workload records, made anew at each reading and never all in memory."""

from collections.abc import Iterator

from .records import Segment
from .simulation import Arrival, Programs, Rank
from .training import program_of
from .workload import Workload

__all__ = ["KINETO_BASE_NS", "START_NS", "Run"]

START_NS = 1_769_948_520_123_456_789  # Unix time at which the capture begins; all times of a run count from here
KINETO_BASE_NS = 1_767_225_600_000_000_000  # what a Kineto file's times count from


class Run:
    """What the workload's rank does, segment by segment: training, or the programs given."""

    def __init__(self, workload: Workload, programs: Programs = program_of) -> None:
        self.workload = workload
        self.programs = programs

    def segments(self) -> Iterator[Segment]:
        """Yields the segments in order of time; each call plays the run again, with the same result.

        All ranks are played in step: a collective ends for all of them when it is done after the last arrival.
        """
        plays = [Rank(self.workload, rank, self.programs).segments() for rank in range(self.workload.ranks)]
        results = [next(play) for play in plays]
        while True:
            arrivals = [result for result in results if isinstance(result, Arrival)]
            try:
                if arrivals:
                    end = max(arrival.start_ns for arrival in arrivals) + arrivals[0].duration_ns
                    results = [play.send(end) for play in plays]
                else:
                    mine = results[self.workload.rank]
                    assert isinstance(mine, Segment)
                    yield mine
                    results = [next(play) for play in plays]
            except StopIteration:
                return
