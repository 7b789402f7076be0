"""The thresholds of the diagnoses, read from the one file that documents them."""

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from ..store.errors import Error

__all__ = ["PACKAGED", "read_thresholds", "thresholds"]

PACKAGED = Path(__file__).parent / "thresholds.toml"
HINT = "thresholds are numbers whose names end in their unit: _share (0 to 1), _ns, _bytes or _count (whole, from 1 on)"


def thresholds(section: str, path: Path = PACKAGED) -> Mapping[str, float]:
    """The thresholds of a section, as that of a diagnosis, by name; a file is read and checked once."""
    return _all(path)[section]


@cache
def _all(path: Path) -> Mapping[str, Mapping[str, float]]:
    return read_thresholds(path)


def read_thresholds(path: Path) -> Mapping[str, Mapping[str, float]]:
    """The thresholds of a file by diagnosis; an `Error` that names the first that is none."""
    try:
        found = tomllib.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise Error(f"{path}: {error}", HINT) from error
    for diagnosis, values in found.items():
        if not isinstance(values, Mapping):
            raise Error(f"{path}: {diagnosis} stands outside any section", HINT)
        for name, value in values.items():
            if not _fits(name, value):
                raise Error(f"{path}: {diagnosis}.{name} = {value!r} is no threshold", HINT)
    return found


def _fits(name: str, value: object) -> bool:
    """Whether a value is of the unit that its name ends in."""
    unit = name.rpartition("_")[2]
    if unit == "share":
        return isinstance(value, float) and 0 < value <= 1
    return unit in ("ns", "bytes", "count") and isinstance(value, int) and not isinstance(value, bool) and value >= 1
