import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from suffix_trees.STree import STree

import tracelode.mining.suffix as suffix
from tests.mining.suffix.texts import fibonacci
from tracelode.mining.suffix import Intervals, build, non_overlapping

Repeat = tuple[tuple[int, ...], int, bool]  # positions, length, left diverse

units = st.lists(st.integers(0, 3), max_size=6)
periodic = st.tuples(units, st.integers(1, 15), units).map(lambda parts: parts[0] * parts[1] + parts[2])
texts = st.one_of(st.lists(st.integers(0, 2), max_size=60), st.lists(st.integers(0, 2**31 - 1), max_size=20), periodic)


def array(text: Sequence[int] | str) -> npt.NDArray[np.int32]:
    return np.array([ord(letter) for letter in text] if isinstance(text, str) else text, dtype=np.int32)


def random_text(seed: int) -> list[int]:
    """Returns a text of up to 200 symbols; every family and alphabet comes round."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(0, 201))
    match seed % 10:
        case 0:
            return [7] * size
        case 1:
            return fibonacci(size)
        case 2:
            return rng.permutation(size).tolist()
        case 3:
            period = rng.integers(0, 4, int(rng.integers(1, 12)))
            return np.resize(period, size).tolist()
        case 4:
            text = np.resize(rng.integers(0, 5, int(rng.integers(1, 30))), size)
            edited = rng.random(size) < 0.03
            return np.where(edited, rng.integers(0, 5, size), text).tolist()
        case 5:
            return rng.integers(0, 2**31, size).tolist()
        case family:
            return rng.integers(0, (2, 3, 10, 100)[family - 6], size).tolist()


def sorted_suffixes(text: list[int]) -> list[int]:
    return sorted(range(len(text)), key=lambda start: text[start:])


def common_prefix(text: list[int], one: int, other: int) -> int:
    length = 0
    while max(one, other) + length < len(text) and text[one + length] == text[other + length]:
        length += 1
    return length


def branching_repeats(text: list[int]) -> Iterator[Repeat]:
    """Yields the inner nodes of the suffix tree, found by splitting groups of equal substrings symbol by symbol."""
    groups = [list(range(len(text)))]
    length = 0
    while groups:
        parts: list[list[int]] = []
        for group in groups:
            by_symbol: dict[int, list[int]] = {}
            for start in group:
                if start + length < len(text):
                    by_symbol.setdefault(text[start + length], []).append(start)
            parts += [part for part in by_symbol.values() if len(part) > 1]
        groups = parts
        length += 1
        for group in groups:
            if len({text[start + length] if start + length < len(text) else None for start in group}) > 1:
                before = {text[start - 1] if start else None for start in group}
                yield tuple(group), length, len(before) > 1


def maximal_repeats(text: list[int]) -> set[tuple[int, ...]]:
    """Returns the maximal repeats from all pairs of positions that can be extended neither left nor right."""
    size = len(text)
    found: set[tuple[int, ...]] = set()
    common = [0] * (size + 1)
    for one in range(size - 1, -1, -1):
        for other in range(one + 1, size):  # ascending, so common[other + 1] is still that of one + 1
            common[other] = common[other + 1] + 1 if text[one] == text[other] else 0
            if common[other] and (one == 0 or text[one - 1] != text[other - 1]):
                found.add(tuple(text[one : one + common[other]]))
    return found


def as_repeats(intervals: Intervals) -> list[Repeat]:
    return [
        (tuple(intervals.occurrences(k).tolist()), int(intervals.length[k]), bool(intervals.left_diverse[k]))
        for k in range(len(intervals))
    ]


def tree_nodes(text: list[int]) -> set[tuple[tuple[int, ...], int]]:
    """Returns positions and length of each inner node of the reference tree, its root left out."""
    tree = STree("".join(map(chr, text)))
    nodes: set[tuple[tuple[int, ...], int]] = set()
    order = [tree.root]
    for node in order:
        order += node.transition_links.values()
    leaves: dict[int, list[int]] = {}
    for node in reversed(order):
        below = [leaf for child in node.transition_links.values() for leaf in leaves[id(child)]]
        leaves[id(node)] = below or [node.idx]
        if below and node is not tree.root:
            nodes.add((tuple(sorted(below)), node.depth))
    return nodes


def test_the_module_exports_what_it_lists():
    assert suffix.__all__ == ["Intervals", "SuffixStructure", "Symbols", "build", "non_overlapping"]
    assert all(hasattr(suffix, name) for name in suffix.__all__)


def test_banana():
    structure = build(array("banana"))
    assert structure.sa.tolist() == [5, 3, 1, 0, 4, 2]
    assert structure.lcp.tolist() == [0, 1, 3, 0, 0, 2]
    intervals = structure.intervals()
    assert intervals.left.tolist() == [0, 1, 4]  # a, ana, na
    assert intervals.right.tolist() == [2, 2, 5]
    assert intervals.length.tolist() == [1, 3, 2]
    assert intervals.count.tolist() == [3, 2, 2]
    assert intervals.left_diverse.tolist() == [True, True, False]
    assert intervals.occurrences(1).tolist() == [1, 3]
    assert len(intervals) == 3


def test_the_start_of_the_text_is_a_left_neighbour_of_its_own():
    intervals = build(array("abxab")).intervals()
    assert as_repeats(intervals) == [((0, 3), 2, True), ((1, 4), 1, False)]


@pytest.mark.parametrize("text", [[], [5], [2**31 - 1]])
def test_a_text_of_no_or_one_symbol_has_no_repeats(text: list[int]):
    structure = build(array(text))
    assert structure.sa.tolist() == list(range(len(text)))
    assert structure.lcp.tolist() == [0] * len(text)
    assert len(structure.intervals()) == 0


def test_a_run_of_one_symbol_repeats_at_every_length_but_its_own():
    structure = build(array([4] * 5))
    assert structure.sa.tolist() == [4, 3, 2, 1, 0]
    assert structure.lcp.tolist() == [0, 1, 2, 3, 4]
    intervals = structure.intervals()
    assert intervals.left.tolist() == [0, 1, 2, 3]
    assert intervals.right.tolist() == [4, 4, 4, 4]
    assert intervals.length.tolist() == [1, 2, 3, 4]


def test_arrays_are_int32_and_the_result_names_engine_time_and_memory():
    structure = build(array("banana" * 100))
    intervals = structure.intervals()
    arrays = [structure.symbols, structure.sa, structure.lcp]
    arrays += [intervals.left, intervals.right, intervals.length, intervals.count, intervals.occurrences(0)]
    assert {numbers.dtype for numbers in arrays} == {np.dtype(np.int32)}
    assert structure.engine == "cpu"
    assert structure.seconds > 0
    assert structure.peak_bytes == 600 * 16


def test_thousand_random_texts_agree_with_brute_force():
    for seed in range(1000):
        text = random_text(seed)
        structure = build(array(text))
        expected = sorted_suffixes(text)
        assert structure.sa.tolist() == expected, text
        assert (
            structure.lcp.tolist() == [0, *(common_prefix(text, *pair) for pair in pairwise(expected))][: len(text)]
        ), text
        found = as_repeats(structure.intervals())
        assert len(found) == len(set(found)), text
        assert set(found) == set(branching_repeats(text)), text


def test_left_diverse_intervals_are_the_maximal_repeats():
    for seed in range(200):
        text = random_text(seed)
        intervals = build(array(text)).intervals()
        found: list[tuple[int, ...]] = []
        for k in np.flatnonzero(intervals.left_diverse):
            length = intervals.length[k]
            copies = {tuple(text[start : start + length]) for start in intervals.occurrences(k)}
            assert len(copies) == 1, text  # each position verifies by equality
            found += copies
        assert len(found) == len(set(found)), text
        assert set(found) == maximal_repeats(text), text


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(np.random.default_rng(1).integers(0, 5, 2000).tolist(), id="random"),
        pytest.param(np.random.default_rng(2).integers(0, 0xE000, 2000).tolist(), id="many symbols"),
        pytest.param(np.resize(np.random.default_rng(3).integers(0, 9, 37), 2000).tolist(), id="periodic"),
        pytest.param(fibonacci(2000), id="fibonacci"),
        pytest.param([3] * 300, id="one symbol"),  # the reference recurses once per level: 500 are too deep
    ],
)
def test_intervals_are_the_inner_nodes_of_the_reference_suffix_tree(text: list[int]):
    intervals = build(array(text)).intervals()
    assert {(positions, length) for positions, length, _ in as_repeats(intervals)} == tree_nodes(text)


def test_occurrences_are_those_the_reference_suffix_tree_finds():
    text = random_text(14) + np.random.default_rng(5).integers(0, 5, 1500).tolist()
    letters = "".join(map(chr, text))  # ids below U+E000, where the reference keeps its terminals
    tree = STree(letters)
    intervals = build(array(text)).intervals()
    for k in range(0, len(intervals), 7):
        positions = intervals.occurrences(k)
        substring = letters[positions[0] : positions[0] + intervals.length[k]]
        assert set(positions.tolist()) == set(tree.find_all(substring))


@settings(deadline=None)  # the first call compiles
@given(texts)
def test_suffixes_ascend_and_share_just_the_stated_prefix(text: list[int]):
    structure = build(array(text))
    assert sorted(structure.sa.tolist()) == list(range(len(text)))
    for slot in range(1, len(text)):
        one, other = structure.sa[slot - 1 : slot + 1].tolist()
        assert text[one:] < text[other:]
        assert structure.lcp[slot] == common_prefix(text, one, other)


@settings(deadline=None)  # the first call compiles
@given(texts)
def test_only_the_order_of_the_ids_matters(text: list[int]):
    ranks = {symbol: rank for rank, symbol in enumerate(sorted(set(text)))}
    structure, ranked = build(array(text)), build(array([ranks[symbol] for symbol in text]))
    assert structure.sa.tolist() == ranked.sa.tolist()
    assert structure.lcp.tolist() == ranked.lcp.tolist()
    assert as_repeats(structure.intervals()) == as_repeats(ranked.intervals())


@settings(deadline=None)  # the first call compiles
@given(texts)
def test_intervals_are_ordered_by_first_slot_then_length(text: list[int]):
    intervals = build(array(text)).intervals()
    keys = list(zip(intervals.left.tolist(), intervals.length.tolist(), strict=True))
    assert keys == sorted(set(keys))


@settings(deadline=None)  # the first call compiles
@given(texts, st.integers(1, 8), st.one_of(st.none(), st.integers(0, 8)))
def test_bounds_on_the_length_select_and_change_nothing(text: list[int], least: int, most: int | None):
    structure = build(array(text))
    wanted = [
        repeat
        for repeat in as_repeats(structure.intervals())
        if least <= repeat[1] and (most is None or repeat[1] <= most)
    ]
    assert as_repeats(structure.intervals(least, most)) == wanted


def test_a_longer_interval_leaves_no_stump_at_the_upper_bound():
    structure = build(array("abcabc"))
    assert as_repeats(structure.intervals()) == [((0, 3), 3, True), ((1, 4), 2, False), ((2, 5), 1, False)]
    assert as_repeats(structure.intervals(max_length=2)) == [((1, 4), 2, False), ((2, 5), 1, False)]
    assert as_repeats(structure.intervals(min_length=2, max_length=2)) == [((1, 4), 2, False)]
    assert as_repeats(structure.intervals(min_length=3, max_length=2)) == []


def test_positions_overlapping_the_last_one_kept_are_dropped():
    assert non_overlapping(array([0, 2, 3, 5, 6, 9]), 3).tolist() == [0, 3, 6, 9]
    assert non_overlapping(array([4, 5, 6]), 1).tolist() == [4, 5, 6]
    assert non_overlapping(array([]), 2).tolist() == []


@settings(deadline=None)  # the first call compiles
@given(st.sets(st.integers(0, 60)), st.integers(1, 10))
def test_greedy_choice_keeps_as_many_as_any_choice_can(starts: set[int], length: int):
    kept = non_overlapping(array(sorted(starts)), length).tolist()
    best = [0] * (62 + length)  # most stretches in the text from here on
    for start in range(60, -1, -1):
        best[start] = max(best[start + 1], best[start + length] + 1 if start in starts else 0)
    assert len(kept) == best[0]
    assert all(later - earlier >= length for earlier, later in pairwise(kept))


def test_later_changes_to_the_callers_array_do_not_reach_the_structure():
    symbols = array("banana")
    structure = build(symbols)
    symbols[:] = 0
    assert structure.symbols.tolist() == array("banana").tolist()


def test_views_and_read_only_arrays_are_accepted():
    symbols = np.repeat(array("banana"), 2)[::2]
    symbols.flags.writeable = False
    assert build(symbols).sa.tolist() == [5, 3, 1, 0, 4, 2]
    positions = array([0, 1, 2])
    positions.flags.writeable = False
    assert non_overlapping(positions, 2).tolist() == [0, 2]


@pytest.mark.parametrize("symbols", [np.zeros(3), np.zeros(3, np.int64), np.zeros((2, 2), np.int32)])
def test_other_types_and_shapes_are_refused(symbols: npt.NDArray[np.int32]):
    with pytest.raises(TypeError, match="one-dimensional int32"):
        build(symbols)


def test_negative_symbols_and_lengths_below_one_are_refused():
    with pytest.raises(ValueError, match="not be negative: the least is -2"):
        build(array([1, -2]))
    with pytest.raises(ValueError, match="min_length must be at least 1, not 0"):
        build(array([1])).intervals(0)
    with pytest.raises(ValueError, match="length must be at least 1, not 0"):
        non_overlapping(array([1]), 0)


def test_a_text_beyond_int32_is_refused_before_any_work():
    symbols = np.broadcast_to(np.int32(0), 2**31 - 1)
    with pytest.raises(ValueError, match="the limit is 2147483646"):
        build(symbols)


def test_importing_does_not_load_numba():
    code = "import sys, tracelode.mining.suffix; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
