"""The version of tracelode, and the state of its code."""

import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

__all__ = ["VERSION", "code_hash", "code_mark"]


def _installed() -> str:
    try:
        return version("tracelode")
    except PackageNotFoundError:  # a bare checkout that was never installed
        return "0.0.0"


VERSION = _installed()


FOLDERS = ("collect", "store", "mining", "reports")
ROOT = Path(__file__).parents[1]


def code_mark() -> str:
    """Tells this state of the code from any other on this machine: by the name, size and time of every file of it."""
    told = hashlib.sha256(VERSION.encode())
    for path in _files():
        state = path.stat()
        told.update(f"{path.relative_to(ROOT)} {state.st_size} {state.st_mtime_ns}\n".encode())
    return told.hexdigest()[:16]


@cache
def code_hash() -> str:
    """Tells the code that this process began with from any other, on every machine: by the content of its files."""
    told = hashlib.sha256(VERSION.encode())
    for path in _files():
        told.update(f"{path.relative_to(ROOT)} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return told.hexdigest()[:16]


def _files() -> Iterator[Path]:
    for folder in FOLDERS:
        yield from (
            path for path in sorted((ROOT / folder).rglob("*")) if path.suffix in (".py", ".toml", ".js", ".css")
        )
