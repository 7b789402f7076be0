import numpy as np

from tracelode.mining.cadence import cadences
from tracelode.mining.cuts import cut
from tracelode.mining.grid import Grid, grid

# A long iteration whose only anchors stand close to its end, as where a loop of layers fills it.
STEP = np.concatenate([np.tile([0, 1, 2, 3], 30), [10, 11, 12, 13]])


def _grid(sequence: np.ndarray, period: int) -> Grid:
    return grid(next(cadence for cadence in cadences(sequence) if cadence.period == period))


def test_iterations_follow_each_other_without_gaps() -> None:
    sequence = np.tile(STEP, 6)
    found = cut(_grid(sequence, 124), 0, sequence)
    assert len(found.first) in (5, 6)
    assert (found.stop[:-1] == found.first[1:]).all()


def test_content_brings_back_iterations_whose_anchors_are_lost() -> None:
    sequence = np.tile(STEP, 8)
    anchors = _grid(sequence, 124)
    kept = (anchors.position > 300) & (anchors.position < 650)
    few = Grid(124, anchors.slack, anchors.position[kept], anchors.column[kept], anchors.number[kept])
    phase = int((anchors.column[0] - anchors.position[0]) % 124)
    assert cut(few, phase, sequence).first.tolist() == [0, 124, 248, 372, 496, 620, 744, 868]


def test_other_content_before_and_after_is_left_out() -> None:
    sequence = np.concatenate([np.arange(1000, 1400), np.tile(STEP, 5), np.arange(2000, 2300)])
    anchors = _grid(sequence, 124)
    found = cut(anchors, int((anchors.column[0] - anchors.position[0] + 400) % 124), sequence)
    assert found.first.tolist() == [400, 524, 648, 772, 896]
    assert found.stop[-1] == 1020


def test_starts_move_to_where_their_surroundings_agree() -> None:
    sequence = np.tile(STEP, 6)
    sequence = np.insert(sequence, [124 * 2 + 30, 124 * 4 + 60], [77, 78])
    anchors = _grid(sequence, 124)
    phase = int((anchors.column[0] - anchors.position[0]) % 124)
    assert cut(anchors, phase, sequence).first.tolist() == [0, 124, 248, 373, 497, 622]
