import numpy as np

from tracelode.mining.cadence import cadences
from tracelode.mining.grid import grid
from tracelode.mining.phase import Cut, Times, choose, pauses

STEP = np.concatenate([np.arange(10, 40), np.tile([1, 2, 3], 20), np.arange(50, 60)])


def _times(operations: int, wait_before: list[int] | None = None, wait_ns: int = 5_000) -> Times:
    gap = np.full(operations, 100)
    gap[wait_before or []] += wait_ns
    launch = np.cumsum(gap)
    return Times(launch + 10, launch + 60, launch)


def _choose(sequence: np.ndarray, times: Times, marks_ns: np.ndarray | None = None) -> Cut:
    anchors = grid(next(cadence for cadence in cadences(sequence) if cadence.period == 100))
    return choose(anchors, sequence, times, marks_ns)


def test_a_recording_of_whole_iterations_is_cut_at_its_ends() -> None:
    sequence = np.roll(np.tile(STEP, 5), 37)
    found = _choose(sequence, _times(500))
    assert found.segments.first.tolist() == [0, 100, 200, 300, 400]
    assert found.confidence > 0.9
    assert "whole number of iterations recorded" in found.evidence


def test_the_longest_wait_decides_where_the_recording_begins_anywhere() -> None:
    sequence = np.tile(STEP, 6)[42:571]
    found = _choose(sequence, _times(len(sequence), wait_before=[58, 158, 258, 358, 458]))
    assert found.segments.first.tolist() == [58, 158, 258, 358]
    assert "host waits stand out" in found.evidence


def test_without_evidence_the_confidence_is_low() -> None:
    sequence = np.tile(STEP, 6)[42:571]
    assert _choose(sequence, _times(len(sequence))).confidence < 0.5


def test_marks_move_the_cut_and_say_so() -> None:
    sequence, times = np.tile(STEP, 5), _times(500)
    found = _choose(sequence, times, times.order_ns[[25, 125, 225, 325, 425]] - 1)
    assert found.segments.first.tolist() == [25, 125, 225, 325]
    assert (found.evidence, found.confidence) == ("marks", 1.0)


def test_marks_that_agree_on_no_column_are_not_heard() -> None:
    sequence, times = np.tile(STEP, 5), _times(500)
    found = _choose(sequence, times, times.order_ns[[3, 118, 250, 371, 480]])
    assert found.segments.first.tolist() == [0, 100, 200, 300, 400]


def test_device_starts_serve_where_launches_are_unknown() -> None:
    sequence, known = np.tile(STEP, 5), _times(500)
    times = Times(known.start_ns, known.end_ns)
    found = _choose(sequence, times, times.order_ns[[40, 140, 240, 340, 440]])
    assert found.segments.first.tolist() == [40, 140, 240, 340]


def test_pauses_are_waits_at_the_starts_that_no_other_wait_equals() -> None:
    sequence = np.tile(STEP, 5)
    starts = [100, 200, 300, 400]
    at_starts, elsewhere = _times(500, starts), _times(500, [x + 7 for x in range(0, 500, 20)])
    assert pauses(_choose(sequence, at_starts).segments, at_starts)
    assert not pauses(_choose(sequence, elsewhere).segments, elsewhere)


def test_marks_after_the_last_operation_are_not_heard() -> None:
    sequence, times = np.tile(STEP, 5), _times(500)
    assert _choose(sequence, times, times.order_ns[-1:] + 1_000).evidence != "marks"
