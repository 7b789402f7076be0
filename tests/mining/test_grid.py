import numpy as np

from tracelode.mining.cadence import Cadence, cadences
from tracelode.mining.grid import bounds, grid

STEP = np.arange(10, 50)
EVALUATION = np.arange(100, 125)


def _cadence(sequence: np.ndarray, period: int) -> Cadence:
    return next(cadence for cadence in cadences(sequence) if cadence.period == period)


def test_every_anchor_has_the_column_at_which_it_stands() -> None:
    found = grid(_cadence(np.tile(STEP, 5), 40))
    assert found.period == 40
    assert np.unique((found.position - found.column) % 40).tolist() == [0]
    assert np.unique(found.number).tolist() == [0, 1, 2, 3, 4]


def test_bounds_begin_at_the_chosen_column_and_leave_out_what_the_ends_cut() -> None:
    found = grid(_cadence(np.tile(STEP, 5), 40))
    first, stop = bounds(found, 0, 200)
    assert first.tolist() == [0, 40, 80, 120, 160]
    assert stop.tolist() == [40, 80, 120, 160, 200]
    first, stop = bounds(found, 15, 200)
    assert first.tolist() == [15, 55, 95, 135]
    assert stop.tolist() == [55, 95, 135, 175]


def test_what_interrupts_belongs_to_no_repeat_and_skips_a_number() -> None:
    sequence = np.concatenate([np.tile(STEP, 3), EVALUATION, np.tile(STEP, 3)])
    found = grid(_cadence(sequence, 40))
    first, stop = bounds(found, 0, len(sequence))
    assert first.tolist() == [0, 40, 80, 145, 185, 225]
    assert stop.tolist() == [40, 80, 120, 185, 225, 265]
    assert np.unique(found.number).tolist() == [0, 1, 2, 4, 5, 6]


def test_a_missing_anchor_does_not_move_the_bounds() -> None:
    sequence = np.tile(STEP, 6)
    sequence[80] = 99
    first, stop = bounds(grid(_cadence(sequence, 40)), 0, len(sequence))
    assert len(first) >= 5
    assert np.unique(np.diff(first)).tolist() == [40]
    assert (stop[:-1] == first[1:]).all()
