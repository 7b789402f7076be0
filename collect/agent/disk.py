"""Has the disk keep room for what is to be written."""

from __future__ import annotations

import errno
import os

__all__ = ["keep_room"]

KEEP_SIZE = 1
"""FALLOC_FL_KEEP_SIZE of Linux: the file does not grow."""


def keep_room(file: int, begin: int, end: int) -> None:
    """Keeps room for the bytes from `begin` to `end` of a file, which it does not grow by; `OSError` if it is full.

    Where that is not possible nothing is kept: not every file system can.
    """
    try:
        import ctypes

        allocate = ctypes.CDLL(None, use_errno=True).fallocate
        failed = allocate(file, KEEP_SIZE, ctypes.c_long(begin), ctypes.c_long(end - begin))
        number = ctypes.get_errno()
    except (ImportError, OSError, AttributeError):  # no ctypes, no such function
        return
    if failed and number in (errno.ENOSPC, errno.EDQUOT):
        raise OSError(number, os.strerror(number))
