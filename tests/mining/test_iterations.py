import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracelode.mining.iterations import Level, iterations, levels, main_level

LAYERS = 24
FORWARD = np.arange(16) % 13
BACKWARD = 100 + np.arange(33) % 29
BATCH = np.concatenate([200 + np.arange(13), np.tile(FORWARD, LAYERS), 220 + np.arange(8), np.tile(BACKWARD, LAYERS)])
OPTIMIZER = np.concatenate([np.repeat(300, 16), np.repeat(301, 16), np.tile([302, 303], 8)])
STEP = np.concatenate([BATCH, OPTIMIZER])
EVALUATION = np.concatenate([400 + np.arange(6), np.tile(FORWARD, LAYERS), 410 + np.arange(6)])


def _levels(*parts: np.ndarray, waits: np.ndarray | None = None, marks_ns: np.ndarray | None = None) -> list[Level]:
    """The levels of operations of 40 ns, launched every 50 ns, `waits` more before each."""
    symbols = np.concatenate(parts).astype(np.int32)
    launch = np.cumsum(np.full(len(symbols), 50) + (0 if waits is None else waits))
    return levels(symbols, launch + 20, launch + 60, launch, marks_ns=marks_ns)


def _main(*parts: np.ndarray, waits: np.ndarray | None = None, marks_ns: np.ndarray | None = None) -> Level:
    main = main_level(_levels(*parts, waits=waits, marks_ns=marks_ns))
    assert main is not None
    return main


def _edited(symbols: np.ndarray, starts: np.ndarray, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Substitutes, deletes or inserts before that share of operations; gives also where starts have moved."""
    random = np.random.default_rng(seed)
    edit = np.where(random.random(len(symbols)) < share, random.integers(1, 4, len(symbols)), 0)
    count = np.choose(edit, [1, 1, 0, 2])
    place = np.cumsum(count) - count
    result = np.repeat(symbols, count)
    changed = place[(edit == 1) | (edit == 3)]
    result[changed] = random.choice(np.unique(symbols), len(changed))
    return result, place[starts] + (edit[starts] == 3)


def test_iterations_of_a_training_are_found_whole() -> None:
    main = _main(np.tile(STEP, 8))
    assert len(STEP) == 1245
    assert (main.period, main.count) == (1245, 8)
    assert main.begin.tolist() == [1245 * n for n in range(8)]
    assert main.stop.tolist() == [1245 * n for n in range(1, 9)]
    assert main.confidence > 0.9
    assert main.phase_confidence > 0.9


def test_loops_of_layers_are_levels_inside_the_iteration() -> None:
    kinds = {level.period: level.kind for level in _levels(np.tile(STEP, 8))}
    assert (kinds[16], kinds[33], kinds[1245]) == ("micro", "micro", "iteration")


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_one_edit_in_a_hundred_moves_hardly_a_boundary(seed: int) -> None:
    symbols, starts = _edited(np.tile(STEP, 40), np.arange(40) * 1245, 0.01, seed)
    main = _main(symbols)
    assert abs(main.period - 1245) <= 1
    rotation = np.median(main.begin[1:-1] - starts[1 : main.count - 1])
    off = np.abs(starts[:, None] + rotation - main.begin[None, :]).min(axis=1)
    assert (off <= 1).mean() >= 0.95


def test_swapped_neighbours_as_of_racing_streams_change_nothing() -> None:
    symbols = np.tile(STEP, 20)
    swap = np.flatnonzero(np.random.default_rng(0).random(len(symbols) // 2) < 0.05) * 2
    symbols[swap], symbols[swap + 1] = symbols[swap + 1], symbols[swap]
    main = _main(symbols)
    assert (main.period, main.count) == (1245, 20)


def test_what_comes_before_and_after_the_iterations_is_left_out() -> None:
    before, after = np.arange(1000, 2500), np.arange(3000, 3400)
    main = _main(before, np.tile(STEP, 6), after, waits=_at([1500 + 1245 * n for n in range(6)], 9370))
    assert (main.first, main.last, main.count) == (1500, 1500 + 6 * 1245 - 1, 6)


def _at(places: list[int], operations: int, wait_ns: int = 10_000) -> np.ndarray:
    waits = np.zeros(operations, dtype=np.int64)
    waits[places] = wait_ns
    return waits


def test_first_iterations_that_differ_are_warm_up() -> None:
    tuning = np.repeat(np.arange(500, 530), 10)
    symbols = np.concatenate([BATCH, tuning, OPTIMIZER, np.tile(STEP, 7)])
    main = _main(symbols)
    time = np.arange(len(symbols)) * 50
    phases = iterations(main, symbols, time, time + 40).phase.tolist()
    assert main.period == 1245
    assert phases == ["warm-up", *["steady"] * 7]


def test_an_iteration_tells_its_span() -> None:
    symbols = np.tile(np.arange(12), 4)
    start = np.arange(48) * 100
    (main,) = levels(symbols, start, start + 90)
    found = iterations(main, symbols, start, start + 90)
    assert (found.first[:2].tolist(), found.last[:2].tolist()) == ([0, 12], [11, 23])
    assert (found.start_ns[:2].tolist(), found.end_ns[:2].tolist()) == ([0, 1200], [1190, 2390])
    assert found.from_ns[:2].tolist() == [0, 1190]  # with the wait before it


def test_accumulated_batches_with_one_optimizer_are_one_iteration() -> None:
    found = _levels(np.tile(np.concatenate([np.tile(BATCH, 4), OPTIMIZER]), 6))
    kinds = {level.period: level.kind for level in found if level.coverage > 0.9}
    assert kinds == {1197: "micro", 4836: "iteration"}


def test_evaluation_between_iterations_belongs_to_none() -> None:
    train = np.tile(STEP, 12)
    main = _main(train, EVALUATION, EVALUATION, train, EVALUATION, EVALUATION, train)
    pause = 2 * len(EVALUATION)
    assert (main.period, main.count) == (1245, 36)
    assert main.begin.tolist() == [1245 * n + pause * (n // 12) for n in range(36)]
    assert (main.stop - main.begin).tolist() == [1245] * 36


def test_stages_with_iterations_of_their_own_are_found_each() -> None:
    other = np.concatenate([600 + np.arange(10), np.tile(700 + FORWARD, 12), np.tile(800 + BACKWARD, 12)])
    found = [level for level in _levels(np.tile(STEP, 10), np.tile(other, 20)) if level.kind == "iteration"]
    assert [(level.period, level.count) for level in found] == [(598, 20), (1245, 10)]
    assert found[0].begin[0] == found[1].stop[-1] == 12450


def test_iterations_of_varying_length_are_found_by_what_they_share() -> None:
    random = np.random.default_rng(0)
    steps = [np.concatenate([STEP[:13], np.tile(FORWARD, n), STEP[400:]]) for n in random.integers(18, 30, 20)]
    starts = np.cumsum([0, *map(len, steps)])
    main = _main(*steps, waits=_at(starts[:-1].tolist(), int(starts[-1])))
    assert main.begin.tolist() == starts[:-1].tolist()


def test_shapes_that_change_every_time_leave_the_rhythm_at_low_confidence() -> None:
    steps = [np.concatenate([BATCH + 1000 * (n + 1), OPTIMIZER]) for n in range(10)]
    main = _main(*steps)
    assert (main.period, main.count) == (1245, 10)
    assert main.confidence < 0.5


def test_two_iterations_are_found_at_low_confidence() -> None:
    main = _main(np.tile(STEP, 2))
    assert (main.period, main.count) == (1245, 2)
    assert main.confidence < 0.5


def test_layers_of_a_single_iteration_are_taken_for_iterations_at_low_confidence_only() -> None:
    main = main_level(_levels(STEP, np.arange(900, 1200)))
    assert main is None or main.confidence < 0.5


def test_a_window_cut_anywhere_holds_its_whole_iterations() -> None:
    window = slice(300, 300 + 5 * 1245 + 700)
    waits = _at([1245 * n for n in range(7)], 8 * 1245)
    main = _main(np.tile(STEP, 8)[window], waits=waits[window])
    assert main.period == 1245
    assert main.begin.tolist() == [945 + 1245 * n for n in range(4)]


def test_marks_move_the_phase_and_not_the_period() -> None:
    marks = 50 * (np.arange(8) * 1245 + 100) + 49
    main = _main(np.tile(STEP, 8), marks_ns=marks)
    assert (main.period, main.phase_evidence) == (1245, "marks")
    assert main.begin.tolist() == [1245 * n + 100 for n in range(7)]


def test_marks_where_nothing_repeats_change_nothing() -> None:
    assert _levels(np.arange(500), marks_ns=np.arange(0, 25_000, 5_000)) == []


@pytest.mark.parametrize("kinds", [3, 20, 1000])
def test_random_operations_have_no_iterations(kinds: int) -> None:
    assert main_level(_levels(np.random.default_rng(1).integers(0, kinds, 5_000))) is None


@pytest.mark.parametrize(("period", "sure"), [(4, False), (7, False), (16, True), (40, True)])
def test_iterations_of_a_handful_of_operations_are_found_at_low_confidence(period: int, sure: bool) -> None:
    symbols = np.tile(np.arange(period), 24)
    start = np.arange(len(symbols)) * 100 + np.arange(len(symbols)) // period * 5_000  # a wait before each
    main = main_level(levels(symbols, start, start + 90))
    assert main is not None
    assert (main.period, main.count) == (period, 24)
    assert (main.confidence > 0.5) == sure


def test_one_operation_repeated_is_its_own_iteration_at_low_confidence() -> None:
    main = _main(np.zeros(40, dtype=np.int32))
    assert (main.period, main.count, main.confidence) == (1, 40, 0.3)


@pytest.mark.parametrize("symbols", [[], [3], [3, 3], [3, 4], [3, 4, 3]])
def test_a_handful_of_operations_has_no_iterations(symbols: list[int]) -> None:
    assert main_level(_levels(np.array(symbols, dtype=np.int64))) is None


def test_launches_need_not_be_known() -> None:
    symbols = np.tile(STEP, 5)
    start = np.arange(len(symbols)) * 50
    main = main_level(levels(symbols, start, start + 40))
    assert main is not None
    assert (main.period, main.count) == (1245, 5)


@given(st.integers(2, 40), st.integers(3, 9))
def test_the_period_is_never_a_multiple(period: int, count: int) -> None:
    main = _main(np.tile(np.arange(period), count + 1))
    assert (main.period, main.count) == (period, count + 1)


@given(st.lists(st.integers(0, 4), max_size=60), st.integers(1, 5))
def test_levels_are_ranges_within_the_sequence(symbols: list[int], repeats: int) -> None:
    sequence = np.array(symbols * repeats, dtype=np.int64)
    for level in _levels(sequence):
        assert level.count == len(level.begin)
        assert 0 <= level.first <= level.last < len(sequence)
        assert bool((level.begin < level.stop).all())
        assert bool((level.stop[:-1] <= level.begin[1:]).all())
        assert 0 <= level.confidence <= 1
        assert 0 <= level.phase_confidence <= 1


def _alone(duration_ns: int, symbols: np.ndarray) -> list[Level]:
    """The levels of operations that start every 100 us."""
    start = np.arange(len(symbols)) * 100_000
    return levels(symbols.astype(np.int32), start, start + duration_ns, start - 50)


def test_a_single_operation_that_takes_the_time_is_an_iteration() -> None:
    main = main_level(_alone(60_000, np.zeros(19)))
    assert main is not None
    assert (main.period, main.count, main.confidence) == (1, 19, 0.3)


def test_a_single_operation_that_hardly_takes_time_is_no_iteration() -> None:
    (level,) = _alone(900, np.zeros(19))
    assert (level.period, level.count, level.kind) == (1, 19, "micro")


def test_more_operations_than_one_are_an_iteration_however_short_they_are() -> None:
    main = main_level(_alone(900, np.tile([0, 1, 2], 19)))
    assert main is not None
    assert (main.period, main.count) == (3, 19)
