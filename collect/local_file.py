"""A trace file as a file on this machine, for libraries that read by path: itself, or a copy while it is needed."""

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from ..store.errors import Error
from .files import TraceFile

__all__ = ["copied", "local", "path_here"]


def path_here(file: TraceFile) -> Path | None:
    """Where the content lies on this machine as it is; None for what is packed or elsewhere."""
    return file.path if isinstance(file.path, Path) and file.packing is None else None


def copied(file: TraceFile, suffix: str = "") -> Path:
    """The whole content in a temporary file, which the caller removes. When copying fails nothing is left behind."""
    try:
        descriptor, name = tempfile.mkstemp(prefix="tracelode-", suffix=suffix)
        try:
            with os.fdopen(descriptor, "wb") as copy:
                for block in file.blocks():
                    copy.write(block)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise Error(f"{file.path}: cannot copy it: {error.strerror}", "free some space, or set TMPDIR") from error
    return Path(name)


@contextmanager
def local(file: TraceFile) -> Generator[Path]:
    """The whole content under a path, and its hash worked out; a compressed file is unpacked into a copy."""
    here = path_here(file)
    if here is not None:
        file.digest()
        yield here
        return
    copy = copied(file)
    try:
        yield copy
    finally:
        copy.unlink(missing_ok=True)
