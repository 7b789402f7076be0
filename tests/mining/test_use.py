"""P54, P55 and P56: classes of use and what to pin or evict; 10 windows, objects of 100 bytes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracelode.mining.use import Rules, Use, judged, use_rules

RULES = Rules(pin_share=0.8, evict_share=0.1, dense_share=0.5)


def _use(**more: int | bool | None) -> Use:
    plain = {"accesses": 100, "used": 5, "first": 0, "last": 9, "windows": 10, "covered_bytes": 100}
    return Use(**{"bytes": 100, "once": False, "in_order": False} | plain | more)  # pyright: ignore[reportArgumentType] - as made


HOT = _use(accesses=1000, used=9)  # in 9 of 10 windows, 10 accesses a byte
COOL = _use(accesses=10, used=9)  # as often, but a tenth of an access a byte
BURST = _use(accesses=200, used=1, first=3, last=3)  # one window of ten: a span of 0.1
STREAM = _use(accesses=100, used=4, first=2, last=5, once=True, in_order=True)
SPARSE = _use(accesses=400, used=8, covered_bytes=20)
UNKNOWN = _use(covered_bytes=None)


def test_the_classes_of_forest() -> None:
    # Densities: 10, 0.1, 2, 1, 4 accesses a byte; the median is 2.
    kinds = [verdict.kind for verdict in judged([HOT, COOL, BURST, STREAM, SPARSE], RULES)]
    assert kinds == ["dense hot", "dense cool", "dense hot", "streaming", "sparse"]
    assert judged([UNKNOWN], RULES)[0].kind is None


def test_what_is_hot_throughout_is_pinned_and_what_is_one_burst_is_evicted() -> None:
    roles = [verdict.role for verdict in judged([HOT, COOL, BURST, STREAM, SPARSE], RULES)]
    assert roles == ["pin", "keep", "evict", "keep", "pin"]


def test_what_is_used_until_the_end_of_the_run_is_not_evicted() -> None:
    last = _use(used=1, first=9, last=9)
    assert [verdict.role for verdict in judged([last], RULES)] == ["keep"]


def test_the_thresholds_of_the_file_are_those_that_are_documented() -> None:
    assert use_rules() == RULES


@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(st.integers(1, 9), st.integers(0, 10**6), st.integers(0, 19), st.integers(1, 20), st.integers(1, 20)),
        min_size=1,
        max_size=8,
    )
)
def test_nothing_is_both_pinned_and_evicted(told: list[tuple[int, int, int, int, int]]) -> None:
    uses: list[Use] = []
    for size, accesses, first, length, used in told:
        last = min(first + length - 1, 19)
        kept = min(used, last - first + 1)
        uses.append(Use(size, accesses, kept, first, last, 20, size, once=False, in_order=False))
    for use, verdict in zip(uses, judged(uses, RULES), strict=True):
        assert use.persistence <= use.span
        assert verdict.role != "pin" or use.span > RULES.evict_share
        assert verdict.role != "evict" or use.persistence < RULES.pin_share


@pytest.mark.parametrize(("use", "persistence", "span"), [(HOT, 0.9, 1.0), (BURST, 0.1, 0.1), (STREAM, 0.4, 0.4)])
def test_shares_are_of_all_windows(use: Use, persistence: float, span: float) -> None:
    assert (use.persistence, use.span) == (persistence, span)


def test_density_and_coverage_are_by_the_bytes_of_the_object() -> None:
    assert (SPARSE.density, SPARSE.coverage, UNKNOWN.coverage) == (4.0, 0.2, None)
