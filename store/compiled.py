"""Compiles a function to machine code on first use and keeps the result on disk.

Only modules that hold kernels import this one, and only when they are needed: Numba takes 0.2 seconds to load.
Numba renews its cache when the kernel's own file changes only: a kernel that calls those of other files must be
touched when they change (see `collect.jsonscan`).
"""

import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numba
from numba.core import config

__all__ = ["jit"]

P = ParamSpec("P")
R = TypeVar("R")


def jit(**options: Any) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Returns a decorator that compiles with `numba.njit`, cached on disk and without the interpreter lock.

    The cache lies where Numba puts it: beside the source, else in the user's cache folder. Where neither can be
    written (a read-only container) it lies in the folder for temporary files, and where even that fails there is no
    cache and every process compiles anew. `options` go to `numba.njit`.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        try:
            return numba.njit(cache=True, nogil=True, **options)(function)
        except RuntimeError:  # "no locator available": Numba found no folder it can write
            return _compile_without_locator(function, options)

    return decorate


def _compile_without_locator(function: Callable[P, R], options: dict[str, Any]) -> Callable[P, R]:
    folder = _temporary_cache()
    if folder is None:
        return numba.njit(nogil=True, **options)(function)
    settings = config.__dict__  # Numba fills the module when it is imported, so checkers see no attributes
    before = settings["CACHE_DIR"]
    settings["CACHE_DIR"] = str(folder)
    try:
        return numba.njit(cache=True, nogil=True, **options)(function)
    finally:
        settings["CACHE_DIR"] = before  # other packages' kernels keep their own place


def _temporary_cache() -> Path | None:
    """Returns a folder that this user alone can write, the same one in every process if possible.

    A cache holds code, so a folder that someone else has put there under our name is not used.
    """
    try:
        folder = Path(tempfile.gettempdir()) / f"tracelode-numba-{os.getuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077:
            return folder
        return Path(tempfile.mkdtemp(prefix="tracelode-numba-"))
    except OSError:
        return None
