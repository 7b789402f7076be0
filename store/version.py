"""The version of tracelode."""

from importlib.metadata import PackageNotFoundError, version

__all__ = ["VERSION"]

try:
    VERSION = version("tracelode")
except PackageNotFoundError:  # a bare checkout that was never installed
    VERSION = "0.0.0"
