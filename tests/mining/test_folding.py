import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.generator.planted import Training, plant
from tracelode.mining.folding import LOOP, ROOT, SYMBOL, Tree, fold

compiled = settings(deadline=None)  # the first call compiles

TEXTS = st.recursive(
    st.lists(st.integers(0, 3), max_size=6),
    lambda part: st.one_of(
        st.tuples(part, st.integers(1, 4)).map(lambda pair: pair[0] * pair[1]),
        st.tuples(part, part).map(lambda pair: pair[0] + pair[1]),
    ),
    max_leaves=6,
)


def _loops(tree: Tree) -> list[tuple[int, int, int]]:
    kept = tree.kind == LOOP
    return list(zip(tree.offset[kept].tolist(), tree.period[kept].tolist(), tree.repeat[kept].tolist(), strict=True))


@compiled
@given(TEXTS)
def test_the_tree_gives_the_text_back(text: list[int]) -> None:
    assert fold(np.array(text, np.int32)).expand().tolist() == text


@compiled
@given(TEXTS)
def test_children_tile_the_first_pass_and_follow_their_parent(text: list[int]) -> None:
    tree = fold(np.array(text, np.int32))
    assert tree.kind[0] == ROOT
    assert tree.parent[0] == -1
    assert tree.period[0] == len(text)
    for node in range(len(tree.kind)):
        children = np.flatnonzero(tree.parent == node)
        assert (children > node).all()
        assert (tree.depth[children] == tree.depth[node] + 1).all()
        if tree.kind[node] == SYMBOL:
            assert len(children) == 0
            assert text[tree.offset[node]] == tree.symbol[node]
        elif text:
            ends = (tree.offset + tree.length)[children].tolist()
            assert [*tree.offset[children].tolist(), ends[-1]] == [tree.offset[node], *ends]
            assert ends[-1] == tree.offset[node] + tree.period[node]


@compiled
@given(TEXTS)
def test_passes_hold_the_same_symbols(text: list[int]) -> None:
    tree = fold(np.array(text, np.int32))
    for node, begins in tree.passes().items():
        period = int(tree.period[node])
        assert len({tuple(text[begin : begin + period]) for begin in begins.tolist()}) == 1


@pytest.mark.parametrize("accumulation", [1, 4])
@pytest.mark.parametrize("layers", [12, 24, 96])
def test_planted_loops_are_found_exactly(layers: int, accumulation: int) -> None:
    planted = plant(Training(iterations=4, layers=layers, accumulation=accumulation))
    found = _loops(fold(planted.consensus))
    assert sorted(found) == sorted((loop.offset, loop.period, loop.count) for loop in planted.loops)


def test_layers_hold_micro_patterns() -> None:
    layer = [1, 2, 2, 2, 3, 4, 3, 4]
    tree = fold(np.array([8, *layer * 3, 9], np.int32))
    assert _loops(tree) == [(1, 8, 3), (2, 1, 3), (5, 2, 2)]
    assert tree.depth[tree.kind == LOOP].tolist() == [1, 2, 2]
    assert tree.symbol[tree.kind == SYMBOL].tolist() == [8, 1, 2, 3, 4, 9]
    assert tree.passes()[int(np.flatnonzero(tree.kind == LOOP)[1])].tolist() == [2, 3, 4, 10, 11, 12, 18, 19, 20]


def test_an_epoch_folds_to_training_evaluation_and_checkpoint() -> None:
    train, evaluate, checkpoint = 0, 1, 2
    tree = fold(np.array(([train] * 200 + [evaluate] * 5 + [checkpoint]) * 3, np.int32))
    assert _loops(tree) == [(0, 206, 3), (0, 1, 200), (200, 1, 5)]


def test_an_empty_text_has_a_root_alone() -> None:
    tree = fold(np.zeros(0, np.int32))
    assert tree.kind.tolist() == [ROOT]
    assert tree.expand().tolist() == []
