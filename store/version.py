"""The version of tracelode."""

from importlib.metadata import PackageNotFoundError, version

__all__ = ["VERSION"]


def _installed() -> str:
    try:
        return version("tracelode")
    except PackageNotFoundError:  # a bare checkout that was never installed
        return "0.0.0"


VERSION = _installed()
