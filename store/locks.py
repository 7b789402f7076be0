"""Locks of an archive, so that what two processes would both do is done once; none is needed for what is right."""

import errno
import fcntl
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from .errors import ArchiveError

__all__ = ["held"]

FOLDER = ".locks"
NO_LOCKS = frozenset({errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP})
"""What filesystems say that have no locks, as Lustre without the mount option `flock`."""


@contextmanager
def held(archive: Path, name: str, waits: Callable[[], bool] = lambda: True) -> Generator[bool]:
    """Holds the lock of that name, whatever other processes and machines do, until the block is left or is killed.

    If another process holds it, `waits` is asked whether to wait; if not, the block begins with False, without it.
    A filesystem without locks gives it at once.
    """
    folder = archive / FOLDER
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / name, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise ArchiveError(f"{folder}: {error.strerror}", "check space and permissions") from error
    try:
        yield _taken(folder, descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB) or (
            waits() and _taken(folder, descriptor, fcntl.LOCK_EX)
        )
    finally:
        os.close(descriptor)


def _taken(folder: Path, descriptor: int, how: int) -> bool:
    try:
        fcntl.flock(descriptor, how)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise ArchiveError(f"{folder}: {error.strerror}", "check the filesystem, or use one with locks") from error
    return True
