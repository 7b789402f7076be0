import numpy as np

from tracelode.mining.openings import completed, majority

STEP = np.arange(100)
TRIED = 200 + np.repeat(np.arange(5), 6)
SPLIT = np.concatenate([STEP[:10], TRIED, STEP[10:]])


def _completed(
    first: list[int], stop: list[int], symbols: np.ndarray, period: int = 100
) -> tuple[list[int], list[int]]:
    begin, end = completed(np.array(first), np.array(stop), period, symbols)
    return begin.tolist(), end.tolist()


def test_an_iteration_cut_behind_something_strange_gets_its_opening_back() -> None:
    symbols = np.concatenate([STEP, SPLIT, STEP, STEP])
    assert _completed([0, 130, 230, 330], [100, 230, 330, 430], symbols) == (
        [0, 100, 230, 330],
        [100, 230, 330, 430],
    )


def test_a_longer_iteration_that_was_missed_is_found_by_its_opening_and_content() -> None:
    symbols = np.concatenate([SPLIT, STEP, SPLIT, STEP, STEP])
    assert _completed([130, 360, 460], [230, 460, 560], symbols) == (
        [0, 130, 230, 360, 460],
        [130, 230, 360, 460, 560],
    )


def test_an_evaluation_between_iterations_stays_outside_though_it_opens_alike() -> None:
    evaluation = np.concatenate([STEP[:10], 300 + np.arange(90)])
    symbols = np.concatenate([STEP, STEP, evaluation, STEP])
    assert _completed([0, 100, 300], [100, 200, 400], symbols) == ([0, 100, 300], [100, 200, 400])


def test_few_or_short_iterations_are_left_as_they_are() -> None:
    symbols = np.concatenate([SPLIT, STEP])
    assert _completed([30, 130], [130, 230], symbols) == ([30, 130], [130, 230])
    assert _completed([30, 130, 230], [130, 230, 330], np.tile(STEP, 4), period=50) == (
        [30, 130, 230],
        [130, 230, 330],
    )


def test_the_majority_is_taken_column_by_column() -> None:
    assert majority(np.array([[1, 5], [1, 6], [2, 6]])).tolist() == [1, 6]
