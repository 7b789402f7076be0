import io
import weakref

from tracelode.collect.stream import Stream


class _Owner:
    """What a stream is a part of."""


def test_a_stream_is_read_at_any_position_and_closes_the_file_below_once() -> None:
    closed: list[bool] = []

    class Counted(io.BytesIO):
        def close(self) -> None:
            closed.append(self.closed)
            super().close()

    file = Counted(b"abcdef")
    stream = Stream(file, file.readinto)
    assert (stream.readable(), stream.seekable()) == (True, True)
    assert (stream.seek(2), stream.read(3), stream.tell(), stream.seek(-1, 2), stream.read()) == (2, b"cde", 5, 5, b"f")
    stream.close()
    stream.close()
    assert closed == [False]


def test_what_a_stream_is_a_part_of_stays_as_long_as_the_stream() -> None:
    owner, file = _Owner(), io.BytesIO()
    alive = weakref.ref(owner)
    stream = Stream(file, file.readinto, owner)
    del owner
    assert alive() is not None
    del stream
    assert alive() is None
