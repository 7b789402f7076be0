import pickle
import pickletools
import struct

from hypothesis import given, settings
from hypothesis import strategies as st

from tracelode.collect.pickle_memo import first_impossible

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(max_size=300),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=30,
)


@settings(deadline=None)  # the first call compiles
@given(value=VALUES, protocol=st.integers(0, pickle.HIGHEST_PROTOCOL))
def test_no_pickle_that_python_writes_is_suspected(value: object, protocol: int) -> None:
    assert first_impossible(pickle.dumps(value, protocol)) == -1
    assert first_impossible(pickle.dumps([value] * 300, protocol)) == -1


@settings(deadline=None)
@given(value=VALUES, protocol=st.integers(0, pickle.HIGHEST_PROTOCOL), number=st.integers(1 << 20, (1 << 32) - 1))
def test_a_number_beyond_its_place_is_found_behind_anything(value: object, protocol: int, number: int) -> None:
    whole = pickle.dumps(value, protocol)
    places = [place for _, _, place in pickletools.genops(whole)]
    stop = places[-1]
    assert first_impossible(whole[:stop] + b"r" + struct.pack("<I", number) + b".") == stop
    assert first_impossible(whole[:stop] + b"p%d\n." % number) == stop
    assert first_impossible(whole + b"r" + struct.pack("<I", number)) == -1  # nothing is read behind the end


def test_what_is_no_pickle_is_left_to_the_unpickler() -> None:
    for content in (
        b"",
        b"\xff",
        b"\x80",
        b"X\xff\xff\xff\xff",
        b"\x8d" + b"\xff" * 8,
        b"cos\nsystem\n",
        b"r\x00",
        b"p",
    ):
        assert first_impossible(content) == -1
