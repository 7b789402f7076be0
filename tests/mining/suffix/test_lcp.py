from typing import Any

import numpy as np
import pytest

from tests.mining.suffix.strict import on_host, strict, to_device
from tests.mining.suffix.texts import FAMILIES, Symbols, text_of
from tracelode.mining.suffix import plain
from tracelode.mining.suffix.arrays import enclosed
from tracelode.mining.suffix.cpu import sort
from tracelode.mining.suffix.lcp import lcp_array
from tracelode.mining.suffix.steps import Steps


def left_changes(text: Symbols, order: Symbols) -> list[int]:
    before = [text[at - 1] if at else -1 for at in order.tolist()]
    return [0, *(slot for slot in range(1, text.size) if before[slot] != before[slot - 1])]


@pytest.mark.parametrize("family", FAMILIES)
def test_lengths_and_changes_of_the_left_symbol_are_right(family: str):
    text = text_of(family, 3000)
    expected = sort(text)
    order = to_device(expected.sa)
    lcp, changes = lcp_array(Steps(strict), enclosed(strict, to_device(text)), order)
    assert on_host(lcp).tolist() == expected.lcp.tolist()
    assert on_host(changes).tolist() == left_changes(text, expected.sa)


def test_in_a_periodic_text_few_suffixes_are_compared():
    pairs: list[int] = []

    def counting(xp: Any, enclosed: Symbols, one: Symbols, other: Symbols) -> Symbols:
        pairs.append(one.size)
        return plain.common_prefixes(xp, enclosed, one, other)

    text = np.resize(np.random.default_rng(4).permutation(100), 50_000).astype(np.int32)
    expected = sort(text)
    lcp, _ = lcp_array(Steps(np, common_prefixes=counting), enclosed(np, text), expected.sa)
    assert np.array_equal(lcp, expected.lcp)
    assert sum(pairs) < 300
