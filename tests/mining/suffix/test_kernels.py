from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.mining.suffix.host_kernels import compiled_steps
from tests.mining.suffix.texts import FAMILIES, Symbols, text_of
from tracelode.mining.suffix import fused, plain
from tracelode.mining.suffix.array import sort_on
from tracelode.mining.suffix.arrays import enclosed
from tracelode.mining.suffix.cpu import sort
from tracelode.mining.suffix.intervals import tree_of_minima
from tracelode.mining.suffix.kernels import SOURCE
from tracelode.mining.suffix.steps import Steps

ARCHITECTURES = ("sm_80", "sm_90", "sm_100")


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> Steps:
    return compiled_steps(tmp_path_factory.mktemp("kernels"))


def phrases_of(text: Symbols) -> tuple[Symbols, Symbols]:
    whole = enclosed(np, text)
    return whole, np.flatnonzero(plain.mark_phrase_starts(np, whole, 0)).astype(np.int32)


@pytest.mark.parametrize("size", [1, 2, 3, 50, 3000])
@pytest.mark.parametrize("family", FAMILIES)
def test_phrases_begin_hash_and_differ_alike_in_kernels_and_array_operations(steps: Steps, family: str, size: int):
    text, bounds = phrases_of(text_of(family, size))
    for seed in (0, 3):
        marked = plain.mark_phrase_starts(np, text, seed)
        assert np.array_equal(steps.mark_phrase_starts(np, text, seed), marked)
    hashes = plain.hash_phrases(np, text, bounds, 1)
    assert np.array_equal(steps.hash_phrases(np, text, bounds, 1), hashes)
    assert steps.count_unlike(np, text, bounds, np.arange(bounds.size - 1, dtype=np.int32)) == 0
    _, equal = np.unique(hashes, return_inverse=True)
    _, example = np.unique(equal, return_index=True)
    right = example[equal].astype(np.int32)
    assert steps.count_unlike(np, text, bounds, right) == plain.count_unlike(np, text, bounds, right) == 0
    wrong = np.roll(right, 1)
    expected = plain.count_unlike(np, text, bounds, wrong) > 0
    assert (steps.count_unlike(np, text, bounds, wrong) > 0) == expected


def test_phrases_too_long_for_a_thread_are_left_to_array_operations(steps: Steps):
    text = np.full(4 * fused.LONGEST_PHRASE, 5, np.int32)
    text[7] = 6
    whole = enclosed(np, text)
    bounds = np.array([0, 9, 3 * fused.LONGEST_PHRASE, text.size], np.int32)

    def refuse(*_: Any) -> None:
        raise AssertionError("a kernel was launched")

    array_operations = fused.fused_steps(np, refuse)
    assert np.array_equal(array_operations.hash_phrases(np, whole, bounds, 0), plain.hash_phrases(np, whole, bounds, 0))
    assert array_operations.count_unlike(np, whole, bounds, np.array([0, 1, 2], np.int32)) == 0
    assert array_operations.count_unlike(np, whole, bounds, np.array([0, 1, 1], np.int32)) > 0


@pytest.mark.parametrize(("count", "symbol_bits", "index_bits"), [(1, 32, 31), (4, 10, 13), (16, 3, 9)])
def test_symbols_are_packed_alike(steps: Steps, count: int, symbol_bits: int, index_bits: int):
    text = text_of("few symbols", 300)
    ends = np.repeat(np.array([100, 101, 300], np.int32), [100, 1, 199])
    given_sizes = count, symbol_bits, index_bits
    assert np.array_equal(
        steps.pack_symbols(np, text, ends, *given_sizes), plain.pack_symbols(np, text, ends, *given_sizes)
    )


@settings(deadline=None)
@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=40).map(sorted),
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40), st.integers(-1, 11)), max_size=20),
)
def test_as_many_values_are_below_a_limit_for_both(steps: Steps, values: list[int], asked: list[tuple[int, int, int]]):
    begin = np.array([min(one, len(values)) for one, _, _ in asked], np.int32)
    length = np.array(
        [min(many, len(values) - b) for (_, many, _), b in zip(asked, begin.tolist(), strict=True)], np.int32
    )
    limit = np.array([most for _, _, most in asked], np.int32)
    expected = [
        sum(value < most for value in values[b : b + many])
        for b, many, most in zip(begin.tolist(), length.tolist(), limit.tolist(), strict=True)
    ]
    ordered = np.array(values, np.int32)
    assert steps.count_below(np, ordered, begin, length, limit).tolist() == expected
    assert plain.count_below(np, ordered, begin, length, limit).tolist() == expected


@pytest.mark.parametrize("family", FAMILIES)
def test_common_prefixes_are_as_long_for_both(steps: Steps, family: str):
    text = text_of(family, 9000)
    random = np.random.default_rng(2)
    one = random.integers(0, text.size, 300).astype(np.int32)
    other = (one + random.integers(1, text.size, 300)).astype(np.int32) % np.int32(text.size)
    other[:5] = text.size  # the end
    found = steps.common_prefixes(np, enclosed(np, text), one, other)
    assert np.array_equal(found, plain.common_prefixes(np, enclosed(np, text), one, other))
    assert found[:5].tolist() == [0] * 5
    for a, b, length in zip(one.tolist(), other.tolist(), found.tolist(), strict=True):
        assert np.array_equal(text[a : a + length], text[b : b + length])
        assert max(a, b) + length == text.size or text[a + length] != text[b + length]


@pytest.mark.parametrize("leaves", [1, 2, 3, 64, 1000])
def test_nearest_smaller_values_are_the_same_for_both(steps: Steps, leaves: int):
    values = np.random.default_rng(leaves).integers(0, 6, leaves).astype(np.int32)
    values[0] = 0  # there must be one that is at most as great
    tree = tree_of_minima(np, values)
    asked = np.flatnonzero(values > 0).astype(np.int32)
    before = [max(k for k in range(at) if values[k] <= values[at]) for at in asked.tolist()]
    none = tree.size // 2
    after = [min((k for k in range(at, leaves) if values[k] < values[at]), default=none) for at in asked.tolist()]
    assert steps.previous_at_most(np, tree, asked).tolist() == before
    assert plain.previous_at_most(np, tree, asked).tolist() == before
    assert steps.next_smaller(np, tree, asked).tolist() == after
    assert plain.next_smaller(np, tree, asked).tolist() == after


@pytest.mark.parametrize("size", [1, 100, 20_000])
@pytest.mark.parametrize("family", FAMILIES)
def test_an_engine_of_kernels_gives_what_the_cpu_engine_gives(steps: Steps, family: str, size: int):
    text = text_of(family, size)
    ours, theirs = sort_on(steps, text), sort(text)
    assert np.array_equal(ours.sa, theirs.sa)
    assert np.array_equal(ours.lcp, theirs.lcp)
    for one, other in zip(ours.find_intervals(1, 64), theirs.find_intervals(1, 64), strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_kernels_compile_for_every_supported_device(architecture: str):
    nvrtc = pytest.importorskip("cupy_backends.cuda.libs.nvrtc", reason="CuPy is not installed")
    program = nvrtc.createProgram(SOURCE, "kernels.cu", (), ())
    try:
        nvrtc.compileProgram(program, (f"--gpu-architecture={architecture}", "-std=c++14"))
    except nvrtc.NVRTCError:
        pytest.fail(nvrtc.getProgramLog(program))
    assert nvrtc.getCUBIN(program)
