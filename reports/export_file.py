"""Where an export goes: a file that is compressed if its name says so, and that is there whole or not at all."""

import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ..store.errors import Error, NotCollected

if TYPE_CHECKING:
    from ..store.archive import Archive
    from ..store.trace import Trace

__all__ = ["Out", "mined", "opened", "whole"]

_LEVEL = 2


class Out(Protocol):
    """What bytes are written to."""

    def write(self, data: bytes | memoryview, /) -> int:
        """Writes the bytes."""
        ...


@contextmanager
def opened(path: Path) -> Generator[Out]:
    """The file, open to be written; through gzip where its name ends in `.gz`, the same bytes each time."""
    with path.open("wb") as raw:
        if path.suffix != ".gz":
            yield raw
            return
        from isal import igzip

        with igzip.IGzipFile(filename="", mode="wb", compresslevel=_LEVEL, fileobj=raw, mtime=0) as packed:
            yield packed


@contextmanager
def whole(target: Path, *, force: bool, folder: bool = False) -> Generator[Path]:
    """A temporary path beside the target, which becomes the target when all went well, and is removed when not.

    `Error` where the target is there already, unless `force`. A folder is only replaced by a folder if it holds
    nothing but files with endings of data.
    """
    _check(target, force=force, folder=folder)
    temporary = target.with_name(f".{os.getpid()}-{target.name}")
    try:
        if folder:
            temporary.mkdir()
        yield temporary
        if folder and target.is_dir():
            shutil.rmtree(target)
        temporary.replace(target)
    except OSError as error:
        raise Error(f"{target}: {error.strerror or error}", "choose another place with -o") from error
    finally:
        if temporary.is_dir():
            shutil.rmtree(temporary, ignore_errors=True)
        else:
            temporary.unlink(missing_ok=True)


def mined(trace: "Trace", archive: "Archive", analyses: tuple[str, ...]) -> "Trace":
    """The trace with the tables that those analyses need, as far as it has what they need themselves."""
    from ..mining.mine import find

    for name in analyses:
        with suppress(NotCollected):
            find(trace, archive, name)
    return archive.open(trace.id) if analyses else trace


def _check(target: Path, *, force: bool, folder: bool) -> None:
    if not target.name:
        raise Error(f"{target}: names no file", "choose another place with -o")
    if not target.exists() and not target.is_symlink():
        return
    if target.is_dir() != folder:
        there, wanted = ("a folder", "a file") if target.is_dir() else ("a file", "a folder")
        raise Error(f"{target}: is {there}, and this form writes {wanted}", "choose another place with -o")
    if not force:
        raise Error(f"{target}: is there already", "choose another place with -o, or replace it with --force")
    if folder:
        other = sorted(p.name for p in target.iterdir() if p.is_dir() or p.suffix not in (".csv", ".parquet"))
        if other:
            raise Error(f"{target}: holds what no export wrote: {other[0]}", "choose another place with -o")
