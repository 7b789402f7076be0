"""A trace file as a file on this machine, for libraries that read by path: itself, or a copy while it is needed."""

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from ..store.errors import Error
from .files import TraceFile

__all__ = ["local"]


@contextmanager
def local(file: TraceFile) -> Generator[Path]:
    """The whole content under a path, and its hash worked out; a compressed file is unpacked into a copy."""
    there = Path(str(file.path))
    if file.packing is None and there.is_file():
        file.digest()
        yield there
        return
    descriptor, name = tempfile.mkstemp(prefix="tracelode-")
    try:
        try:
            with os.fdopen(descriptor, "wb") as copy:
                for block in file.blocks():
                    copy.write(block)
        except OSError as error:
            raise Error(f"{file.path}: cannot unpack it: {error.strerror}", "free some space, or set TMPDIR") from error
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)
