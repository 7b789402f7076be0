"""Compressed content, decompressed as a stream: what is before a damage is given, and the damage is told.

gzip goes through isal (2 GB/s a core, three times the standard library); zstd through Arrow; xz and bzip2 through the
standard library. Nothing is ever extracted to disk.
"""

import bz2
import lzma
import zipfile
import zlib as slow_zlib
from collections.abc import Callable, Generator, Iterator
from typing import IO, Any, NamedTuple

from ..store.errors import Error, OpaqueFile, UnreadableFile
from .places import Place

__all__ = [
    "ALTERED",
    "BLOCK",
    "DAMAGE",
    "HEAD",
    "MOST_RATIO",
    "PARQUET",
    "RATIO_FROM",
    "beginning",
    "packing_of",
    "unpack",
]

BLOCK = 1 << 20
HEAD = 1 << 18
GZIP, XZ, BZIP2 = b"\x1f\x8b", b"\xfd7zXZ\x00", b"BZh"
PARQUET = b"PAR1"
"""Begins and ends every Parquet file, which packs its content itself."""

MAGICS = {
    GZIP: "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    XZ: "xz",
    BZIP2: "bzip2",
}
MOST_RATIO, RATIO_FROM = 1000, 1 << 30
"""Content that is more than this many times larger than what holds it, once so much was given, is a bomb.

Trace JSON packs about 20 to 1.
"""

DAMAGE = (OSError, EOFError, ValueError, lzma.LZMAError, zipfile.BadZipFile, slow_zlib.error)
"""What the decompressors raise for content that is damaged.

`ValueError` is Arrow's `ArrowInvalid` for zstd, and zipfile's for names that are no text and offsets beyond measure.
"""

STEP = 512
"""Bytes at a time in which a damaged member is decoded again, before it is done byte by byte."""

LENGTH = 4
"""Bytes of a gzip member after its checksum."""

ALTERED = "all of it is there, with another checksum than was packed with it"
"""The damage of content that is whole but not what was packed; other packings than gzip give no such content."""

FOLLOWS = "bytes that are no member follow the last one"
STOPPED = "was the recording stopped before it was written?"

Heard = Callable[[int], None]
"""Is told how many bytes more of the packed content were taken."""


def packing_of(start: bytes) -> str | None:
    """How the content is compressed, by its first bytes; None when it is not."""
    return next((name for magic, name in MAGICS.items() if start.startswith(magic)), None)


class Beginning(NamedTuple):
    """How a file is compressed, None when it is not, the first 256 KiB of its content, and what cut these short."""

    packing: str | None
    head: bytes
    damage: str | None


def beginning(place: Place) -> Beginning:
    """What can be told of the file by its beginning.

    Raises `Error` when it cannot be opened, `UnreadableFile` when it is empty, `OpaqueFile` when nothing of it
    decompresses.
    """
    try:
        start, damage = _first(unpack(place, None))
    except OSError as error:
        raise Error(f"{place}: {error.strerror or error}", "check the permissions") from error
    if not start and damage:
        raise OpaqueFile(f"{place}: {damage}", "copy the file again")
    if not start:
        raise UnreadableFile(f"{place}: the file is empty", STOPPED)
    packing = packing_of(start)
    if packing is None:
        return Beginning(None, start, damage)
    head, damage = _first(unpack(place, packing))
    if not head and damage:
        raise OpaqueFile(f"{place}: does not decompress: {damage}", "copy the file again")
    if not head:
        raise UnreadableFile(f"{place}: the file is empty, once decompressed", STOPPED)
    return Beginning(packing, head, damage)


def _first(blocks: Generator[bytes, None, str | None]) -> tuple[bytes, str | None]:
    """The first 256 KiB or more, and what stopped them early."""
    head = b""
    while len(head) < HEAD:
        try:
            head += next(blocks)
        except StopIteration as end:
            return head[:HEAD], end.value
    blocks.close()
    return head[:HEAD], None


def unpack(
    place: Place, packing: str | None, *, weight: int | None = None, heard: Heard | None = None
) -> Generator[bytes, None, str | None]:
    """Yields the decompressed content in blocks; returns what stopped it early, or None.

    Raises `UnreadableFile` for what grows beyond all measure. `weight` is the size that is measured against: that of
    what holds the place, where it is a member of an archive.
    """
    weight = place.stat().st_size if weight is None else weight
    with place.open("rb") as file:
        source = _source(file, packing)
        given, taken = 0, 0
        while True:
            try:
                block = next(source)
            except StopIteration as end:
                return end.value
            except DAMAGE as error:
                if getattr(error, "errno", None) is not None:  # the disk's fault, not the content's
                    raise Error(f"{place}: {error}", "is the disk sound?") from error
                return f"{packing}: {error}" if packing else str(error)
            if heard:
                taken, before = file.tell(), taken
                heard(taken - before)
            given += len(block)
            if given > RATIO_FROM and given > MOST_RATIO * weight:
                raise UnreadableFile(f"{place}: grows more than {MOST_RATIO} times when decompressed", "is it a trace?")
            yield block


def _source(file: IO[bytes], packing: str | None) -> Generator[bytes, None, str | None]:
    if packing == "gzip":
        return _gunzip(file)
    if packing == "xz":
        return _members(file, packing, XZ, lzma.LZMADecompressor)
    if packing == "bzip2":
        return _members(file, packing, BZIP2, bz2.BZ2Decompressor)
    if packing == "zstd":
        import pyarrow as pa

        return _read(pa.CompressedInputStream(pa.PythonFile(file, "r"), "zstd"), BLOCK // 4)
    return _read(file, BLOCK)


def _read(stream: Any, size: int) -> Generator[bytes, None, str | None]:
    while block := stream.read(size):
        yield block
    return None


def _members(file: IO[bytes], packing: str, magic: bytes, new: Callable[[], Any]) -> Generator[bytes, None, str | None]:
    """Yields the decompressed content of all members; returns what stopped it early, or None.

    Zeros after a member are padding; anything else there that is no member is damage.
    """
    decoder: Any = None
    while data := file.read(BLOCK // 4):
        while data:
            if decoder is None:
                data = data.lstrip(b"\0")
                if not data:
                    break
                if not data.startswith(magic[: len(data)]):
                    return f"{packing}: {FOLLOWS}"
                decoder = new()
            block = decoder.decompress(data, BLOCK)
            while block:
                yield block
                block = b"" if decoder.eof or decoder.needs_input else decoder.decompress(b"", BLOCK)
            data, decoder = (decoder.unused_data, None) if decoder.eof else (b"", decoder)
    return f"{packing}: ends in the middle" if decoder is not None else None


def _gunzip(file: IO[bytes]) -> Generator[bytes, None, str | None]:
    """Yields the decompressed content of all members; returns what stopped it early, or None.

    Zeros after a member are padding; anything else there that is no member is damage.
    """
    from isal import isal_zlib

    zlib: Any = isal_zlib
    decoder = zlib.decompressobj(wbits=31)
    begun, member, given = False, 0, 0
    while data := file.read(BLOCK // 4):
        while data:
            if not begun:
                data = data.lstrip(b"\0")
                if not data:
                    break
                if not data.startswith(GZIP[: len(data)]):
                    return f"gzip: {FOLLOWS}"
                member, given = file.tell() - len(data), 0
            try:
                block = decoder.decompress(data, 4 * BLOCK)
            except zlib.error as error:
                yield from _salvage(file, member, given, zlib)
                whole = "checksum" in str(error) and len(file.read(LENGTH + 1)) <= LENGTH
                return f"gzip: {ALTERED if whole else error}"
            begun, data = True, decoder.unconsumed_tail
            if block:
                given += len(block)
                yield block
            if decoder.eof:
                data, begun = decoder.unused_data, False
                decoder = zlib.decompressobj(wbits=31)
    while begun and not decoder.eof and (block := decoder.decompress(b"", 4 * BLOCK)):
        yield block
    return "gzip: ends in the middle" if begun and not decoder.eof else None


def _salvage(file: IO[bytes], member: int, given: int, zlib: Any) -> Iterator[bytes]:
    """What a damaged member holds after the bytes already given: decoded again up to the byte that shows damage."""
    sound = member
    for step in (STEP, 1):
        file.seek(member)
        decoder, left = zlib.decompressobj(wbits=31), given
        while data := file.read(step if file.tell() >= sound else STEP):
            try:
                block = decoder.decompress(data)
            except zlib.error:
                break
            sound = max(sound, file.tell())
            if len(block) > left:
                yield block[left:]
                given += len(block) - left
            left = max(0, left - len(block))
