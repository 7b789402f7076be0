import numpy as np

from tracelode.mining.typical import typical

LAYER = [1, 2, 3, 4, 5, 6, 7, 8]
CONTENT = [10, *LAYER * 12, 11, 12]


def _cut(iterations: list[list[int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    stop = np.cumsum([len(one) for one in iterations])
    return np.concatenate([np.array(one, np.int32) for one in iterations]), np.r_[0, stop[:-1]], stop - 1


def _edited(content: list[int], generator: np.random.Generator, share: float) -> list[int]:
    return [int(generator.integers(1, 13)) if generator.random() < share else symbol for symbol in content]


def test_equal_iterations_show_best_themselves_what_repeats() -> None:
    assert typical(*_cut([CONTENT] * 10)) == []
    none = np.zeros(0, np.int64)
    assert typical(none.astype(np.int32), none, none) == []


def test_of_noisy_iterations_the_common_content_is_given() -> None:
    generator = np.random.default_rng(0)
    ((content, weight),) = typical(*_cut([_edited(CONTENT, generator, 0.04) for _ in range(40)]))
    assert content.tolist() == CONTENT
    assert weight == 40


def test_a_little_noise_does_not_count() -> None:
    generator = np.random.default_rng(0)
    assert typical(*_cut([_edited(CONTENT, generator, 0.004) for _ in range(40)])) == []


def test_each_kind_of_iteration_has_its_content_the_most_frequent_first() -> None:
    other = [symbol + 20 for symbol in CONTENT]
    found = typical(*_cut([CONTENT, other, CONTENT] * 8))
    assert [(content.tolist(), weight) for content, weight in found] == [(CONTENT, 16), (other, 8)]


def test_of_many_iterations_a_sample_is_looked_at() -> None:
    other = [symbol + 20 for symbol in CONTENT]
    found = typical(*_cut([CONTENT, other] * 150))
    assert sum(weight for _, weight in found) == 128
