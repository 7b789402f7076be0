import numpy as np
import pytest

from tests.mining.suffix.strict import FUNCTIONS, METHODS, TYPES, strict, to_device

NUMBERS = to_device(np.array([3, 1, 2], np.int32))


def test_all_it_offers_is_in_cupy():
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    assert all(hasattr(cupy, name) for name in (*FUNCTIONS, *TYPES))
    assert all(hasattr(cupy.ndarray, name) for name in METHODS)


def test_it_offers_no_more_than_it_lists():
    offered = {name for name in dir(strict) if not name.startswith("_")}
    assert offered == {*FUNCTIONS, *TYPES}
    assert {name for name in dir(NUMBERS) if not name.startswith("_")} == {*METHODS, "dtype", "shape", "size"}


@pytest.mark.parametrize("name", ["unique", "maximum.accumulate", "add.reduceat", "argsort", "lexsort", "diff"])
def test_names_that_cupy_lacks_or_that_are_slow_do_not_exist(name: str):
    function, _, method = name.partition(".")
    with pytest.raises(AttributeError):
        getattr(getattr(strict, function), method or function)


def test_arrays_of_numpy_do_not_mix():
    with pytest.raises(TypeError, match="does not mix"):
        NUMBERS + np.array([1, 2, 3])
    with pytest.raises(TypeError, match="implicit conversion"):
        np.asarray(NUMBERS)
    with pytest.raises(TypeError):
        np.array([1, 2, 3]) + NUMBERS


def test_loops_and_conditions_over_arrays_are_refused():
    with pytest.raises(TypeError, match="a loop"):
        list(NUMBERS)
    with pytest.raises(TypeError, match="a condition"):
        bool(NUMBERS == NUMBERS)


def test_indices_outside_and_scatters_that_hit_twice_are_refused():
    with pytest.raises(AssertionError, match="outside"):
        NUMBERS[to_device(np.array([-1], np.int32))]
    twice = to_device(np.array([0, 0], np.int32))
    with pytest.raises(AssertionError, match="twice"):
        NUMBERS.copy()[twice] = to_device(np.array([5, 6], np.int32))


def test_sums_that_overflow_are_refused():
    with pytest.raises(AssertionError, match="overflow"):
        strict.cumsum(to_device(np.array([2**31 - 1, 1], np.int32)), dtype=np.int32)
    with pytest.raises(AssertionError, match="overflow"):
        to_device(np.array([2**31 - 1], np.int32)) + to_device(np.array([1], np.int32))
