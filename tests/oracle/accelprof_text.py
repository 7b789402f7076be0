"""What the texts of AccelProf have in common: their lines and their numbers."""

from pathlib import Path

from tests.oracle.rows import Damaged, Odd, unpacked

SIZE = r"(\d+(?:\.\d\d)? \w+)"
"""A size as the tool prints it for reading, behind its bytes."""

UNITS = {"bytes": 1, "KB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40}

MOST = 2**62


def lines_of(path: Path) -> list[str]:
    """The lines without their ends; `Damaged` where the last has none."""
    *lines, rest = unpacked(path).decode("utf-8-sig", "replace").split("\n")
    if rest:
        raise Damaged("a last line without an end")
    return [line.removesuffix("\r") for line in lines]


def whole(text: str) -> int:
    """The number; `Odd` for one that no machine has."""
    if len(text) > 19 or int(text) > MOST:
        raise Odd("a number that no machine has")
    return int(text)


def size_of(text: str, rounded: str) -> int:
    """The bytes; `Damaged` where the tool would not round them so."""
    size, (number, unit) = whole(text), rounded.split(" ")
    if unit not in UNITS or abs(float(number) * UNITS[unit] - size) > (UNITS[unit] > 1) * 0.00501 * UNITS[unit]:
        raise Damaged(f"{size} bytes that are not {rounded}")
    return size
