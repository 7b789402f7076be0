import tracemalloc

import numpy as np
import numpy.typing as npt
import pydivsufsort
import pytest

from tracelode.mining.suffix import build
from tracelode.mining.suffix.cpu import lcp_array, suffix_array

RNG_SEED = 11
SIZE = 100_000


def kernel_like(size: int, edited: float) -> npt.NDArray[np.int32]:
    """Returns iterations of 1245 symbols, mostly of repeated layers, with a share of the symbols replaced."""
    rng = np.random.default_rng(RNG_SEED)
    forward, backward, rest = rng.integers(0, 40, 16), rng.integers(30, 80, 33), rng.integers(70, 100, 69)
    iteration = np.concatenate([np.tile(forward, 24), np.tile(backward, 24), rest])
    text = np.resize(iteration, size)
    return np.where(rng.random(size) < edited, rng.integers(0, 100, size), text).astype(np.int32)


TEXTS = {
    "random": np.random.default_rng(RNG_SEED).integers(0, 1000, SIZE).astype(np.int32),
    "two symbols": np.random.default_rng(RNG_SEED).integers(0, 2, SIZE).astype(np.int32),
    "large ids": np.random.default_rng(RNG_SEED).integers(0, 2**31, SIZE).astype(np.int32),
    "all distinct": np.random.default_rng(RNG_SEED).permutation(SIZE).astype(np.int32),
    "periodic": kernel_like(SIZE, 0),
    "periodic with edits": kernel_like(SIZE, 0.002),
    "one symbol": np.full(SIZE, 3, np.int32),
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_long_texts_are_sorted_as_divsufsort_sorts_them(text: npt.NDArray[np.int32]):
    expected = pydivsufsort.divsufsort(text)
    sa, _ = suffix_array(text)
    assert np.array_equal(sa, expected)
    assert np.array_equal(lcp_array(text, sa)[1:], pydivsufsort.kasai(text, expected)[:-1])


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_the_stated_peak_of_memory_is_that_of_the_arrays_allocated(text: npt.NDArray[np.int32]):
    build(text[:2])  # compiles
    tracemalloc.start()
    structure = build(text)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert structure.peak_bytes == pytest.approx(peak, rel=0.01, abs=20_000)
