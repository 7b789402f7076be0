"""Peaks of devices by their names, read from the one file that cites a source for each, and from a user's own."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..store.entries import read_entries
from ..store.errors import Error

__all__ = ["PACKAGED", "TYPES", "VARIABLE", "Peaks", "peaks_of", "read_peaks"]

PACKAGED = Path(__file__).parent / "device_peaks.toml"
VARIABLE = "TRACELODE_DEVICE_PEAKS"
"""The environment variable that names a file with a user's rows, which are tried first."""

TYPES = ("fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8")
HINT = (
    "write rows as in: [[device]] product = 'X1' patterns = ['X1'] vector = { fp32 = 10 } bandwidth = 900 "
    "source = 'its data sheet'"
)
_REQUIRED, _OPTIONAL = {"product", "patterns", "source"}, {"vector", "tensor", "bandwidth", "memory"}
_TERA, _GIGA = 10**12, 10**9
_SPARE = 0.15
"""By how much of its nominal size the memory that a device reports may differ."""


@dataclass(frozen=True)
class Peaks:
    """What a device does at most: FLOP/s by type of its general and its matrix units, and bytes/s of its memory.

    `memory` is in bytes, where the row is for devices with so much alone. What the file leaves out is not there.
    """

    product: str
    source: str
    patterns: tuple[str, ...]
    vector: Mapping[str, float] = field(default_factory=dict[str, float])
    tensor: Mapping[str, float] = field(default_factory=dict[str, float])
    bandwidth: float | None = None
    memory: float | None = None

    def fits(self, name: str, memory_bytes: int | None) -> bool:
        """Whether the row is for a device of that name and memory."""
        if self.memory and (memory_bytes is None or abs(memory_bytes - self.memory) > _SPARE * self.memory):
            return False
        return any(re.search(pattern, name, re.IGNORECASE) for pattern in self.patterns)

    def of(self, arithmetic: str) -> float | None:
        """FLOP/s for a kind of arithmetic: a type in matrix units or, where faster, general ones, or `vector TYPE`."""
        if arithmetic.startswith("vector "):
            return self.vector.get(arithmetic.removeprefix("vector "))
        return max((units[arithmetic] for units in (self.vector, self.tensor) if arithmetic in units), default=None)


def peaks_of(name: str | None, memory_bytes: int | None = None) -> Peaks | None:
    """The peaks of the device of that name and memory: of a user's rows or else the packaged ones the first that fits.

    Raises `Error` where the user's file has a row that is none.
    """
    own = os.environ.get(VARIABLE)
    rows = (*(_read(own) if own else ()), *_read(str(PACKAGED)))
    return next((row for row in rows if name and row.fits(name, memory_bytes)), None)


def read_peaks(path: str) -> tuple[Peaks, ...]:
    """The rows of a file, checked; an `Error` names the first that is none, and why."""
    entries = read_entries(path, "device", variable=VARIABLE, example=HINT)
    return tuple(_row(f"{path}: device {number}", entry) for number, entry in enumerate(entries, 1))


@lru_cache(maxsize=8)
def _read(path: str) -> tuple[Peaks, ...]:
    return read_peaks(path)


def _row(place: str, entry: Any) -> Peaks:
    if not isinstance(entry, Mapping) or not set(entry) >= _REQUIRED or not set(entry) <= _REQUIRED | _OPTIONAL:
        raise Error(
            f"{place}: has not product, patterns and source, or more than vector, tensor, bandwidth and memory", HINT
        )
    product, source, patterns = entry["product"], entry["source"], entry["patterns"]
    if not all(isinstance(text, str) and text.strip() for text in (product, source)):
        raise Error(f"{place}: product or source is no text", HINT)
    if not isinstance(patterns, list) or not patterns or not all(isinstance(one, str) for one in patterns):
        raise Error(f"{place} ({product}): patterns is not a list of strings", HINT)
    for pattern in patterns:
        _check(f"{place} ({product}): pattern {pattern!r}", pattern)
    vector, tensor = (_rates(f"{place} ({product}): {unit}", entry.get(unit, {})) for unit in ("vector", "tensor"))
    bandwidth, memory = (_giga(f"{place} ({product}): {name}", entry.get(name)) for name in ("bandwidth", "memory"))
    return Peaks(product, source, tuple(patterns), vector, tensor, bandwidth, memory)


def _giga(place: str, told: Any) -> float | None:
    if told is not None and not _positive(told):
        raise Error(f"{place} {told!r} is no positive number", HINT)
    return told * _GIGA if told else None


def _rates(place: str, told: Any) -> dict[str, float]:
    if not isinstance(told, Mapping):
        raise Error(f"{place} is no table of TFLOP/s by type", HINT)
    for type, rate in told.items():
        if type not in TYPES or not _positive(rate):
            raise Error(f"{place}: {type} = {rate!r} is no positive TFLOP/s of one of {', '.join(TYPES)}", HINT)
    return {type: rate * _TERA for type, rate in told.items()}


def _positive(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 10**9


def _check(place: str, pattern: str) -> None:
    """Raises `Error` for what is no regular expression, and for what every name matches."""
    try:
        found = re.compile(pattern)
    except re.error as error:
        raise Error(f"{place}: {error}", "write it in the syntax of Python's re") from error
    if found.search(""):
        raise Error(f"{place}: matches every name", "ask for at least one letter: an empty alternative matches all")
