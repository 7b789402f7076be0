import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tracelode.mining.runs import runs

compiled = settings(deadline=None)  # the first call compiles

Run = tuple[int, int, int]


def _found(text: list[int]) -> list[Run]:
    found = runs(np.array(text, np.int32))
    return list(zip(found.begin.tolist(), found.stop.tolist(), found.period.tolist(), strict=True))


def _brute(text: list[int]) -> set[Run]:
    """Every stretch equal to itself shifted by a period, at least two periods long, with the smallest such period."""
    found: set[Run] = set()
    for period in range(1, len(text) // 2 + 1):
        begin = 0
        while begin + period < len(text):
            stop = begin + period
            while stop < len(text) and text[stop] == text[stop - period]:
                stop += 1
            if stop - begin >= 2 * period and not any(b <= begin and stop <= s for b, s, p in found if period % p == 0):
                found.add((begin, stop, period))
            begin = max(begin + 1, stop - period + 1)
    return found


@compiled
@given(st.lists(st.integers(0, 2), max_size=40))
def test_all_runs_are_found_and_nothing_else(text: list[int]) -> None:
    found = _found(text)
    assert set(found) == _brute(text)
    assert found == sorted(found, key=lambda run: (run[0], run[2]))


@compiled
@given(st.lists(st.integers(0, 2), min_size=1, max_size=7), st.integers(2, 5), st.lists(st.integers(0, 2), max_size=5))
def test_all_runs_of_repetitions_are_found(body: list[int], repeat: int, rest: list[int]) -> None:
    text = (body * repeat + rest) * 2
    assert set(_found(text)) == _brute(text)


def test_a_run_goes_on_into_a_part_of_its_body() -> None:
    assert _found([9, 1, 2, 3, 1, 2, 3, 1, 8]) == [(1, 8, 3)]


def test_too_short_a_text_has_none() -> None:
    assert _found([]) == _found([1]) == _found([1, 2]) == []


def test_long_stretches_of_one_symbol_cost_no_more_than_other_texts() -> None:
    # Each place of the first stretch is compared with the second one, and no run comes of it: symbol by symbol these
    # would be 10¹¹ steps.
    size = 500_000
    assert _found([0] * size + [1] + [0] * size + [2]) == [(0, size, 1), (size + 1, 2 * size + 1, 1)]
