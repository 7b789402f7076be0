"""Compressed files, decompressed as a stream: what is before a damage is given, and the damage is told.

gzip goes through isal (2 GB/s a core, three times the standard library); zstd through Arrow; xz and bzip2 through the
standard library; a zip archive when it holds exactly one file. Nothing is ever extracted to disk.
"""

import bz2
import lzma
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from ..store.errors import UnreadableFile

__all__ = ["BLOCK", "packing_of", "unpack"]

BLOCK = 1 << 20
GZIP = b"\x1f\x8b"
MAGICS = {
    GZIP: "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\xfd7zXZ\x00": "xz",
    b"BZh": "bzip2",
    b"PK\x03\x04": "zip",
}
MOST_RATIO, RATIO_FROM = 1000, 1 << 30
"""A file that grows by more than this, once it has given so much, is a bomb: trace JSON packs about 20 to 1."""


def packing_of(start: bytes) -> str | None:
    """How the file is compressed, by its first bytes; None when it is not."""
    return next((name for magic, name in MAGICS.items() if start.startswith(magic)), None)


def unpack(path: Path, packing: str) -> Iterator[bytes]:
    """Yields the decompressed content in blocks; returns what stopped it early, or None.

    Raises `UnreadableFile` for an archive of several files, and for one that grows beyond all measure.
    """
    with path.open("rb") as file:
        source = _gunzip(file) if packing == "gzip" else _read(_opened(path, file, packing), packing)
        given, size = 0, path.stat().st_size
        while True:
            try:
                block = next(source)
            except StopIteration as end:
                return end.value
            given += len(block)
            if given > RATIO_FROM and given > MOST_RATIO * size:
                raise UnreadableFile(f"{path}: grows more than {MOST_RATIO} times when decompressed", "is it a trace?")
            yield block


def _opened(path: Path, file: IO[bytes], packing: str) -> Any:
    if packing == "xz":
        return lzma.open(file)
    if packing == "bzip2":
        return bz2.open(file)
    if packing == "zstd":
        import pyarrow as pa

        return pa.CompressedInputStream(pa.PythonFile(file, "r"), "zstd")
    try:
        archive = zipfile.ZipFile(file)
        members = [m for m in archive.infolist() if not m.is_dir() and not m.filename.startswith("__MACOSX/")]
    except zipfile.BadZipFile as error:
        raise UnreadableFile(f"{path}: damaged zip archive: {error}", "copy the file again") from error
    if len(members) != 1 or members[0].flag_bits & 1:
        what = "is encrypted" if len(members) == 1 else f"holds {len(members)} files"
        raise UnreadableFile(f"{path}: the zip archive {what}", "unpack it and give the trace file")
    return archive.open(members[0])


def _read(stream: Any, packing: str) -> Iterator[bytes]:
    """The blocks of a stream; returns what stopped it early, or None."""
    while True:
        try:
            block = stream.read(BLOCK // 4)
        except (OSError, EOFError, lzma.LZMAError, zipfile.BadZipFile, ValueError) as error:
            return f"{packing}: {error}"
        if not block:
            return None
        yield block


def _gunzip(file: IO[bytes]) -> Iterator[bytes]:
    """Yields the decompressed content of all members; returns what stopped it early, or None.

    What follows the last member and is no member itself (padding) is ignored, as gzip does.
    """
    from isal import isal_zlib

    zlib: Any = isal_zlib
    decoder = zlib.decompressobj(wbits=31)
    begun, member, given = False, 0, 0
    while data := file.read(BLOCK // 4):
        while data:
            if not begun:
                if not data.startswith(GZIP[: len(data)]):
                    return None
                member, given = file.tell() - len(data), 0
            try:
                block = decoder.decompress(data)
            except zlib.error as error:
                yield from _salvage(file, member, given, zlib)
                return f"gzip: {error}"
            begun, data = True, b""
            if block:
                given += len(block)
                yield block
            if decoder.eof:
                data, begun = decoder.unused_data, False
                decoder = zlib.decompressobj(wbits=31)
    return "gzip: ends in the middle" if begun else None


def _salvage(file: IO[bytes], member: int, given: int, zlib: Any) -> Iterator[bytes]:
    """What a damaged member holds after the bytes already given: decoded again, in small steps up to the damage."""
    file.seek(member)
    decoder = zlib.decompressobj(wbits=31)
    while data := file.read(512):
        try:
            block = decoder.decompress(data)
        except zlib.error:
            return
        if len(block) > given:
            yield block[given:]
        given = max(0, given - len(block))
