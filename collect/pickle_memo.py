"""Looks through a pickle for numbers of its memo that it cannot have: unpickling makes room for any number it is told.

Twenty bytes can so ask for 64 GB. An object takes at least a byte to make, so no number of a sound pickle is greater
than the place at which it stands.
"""

import pickletools

import numpy as np
import numpy.typing as npt

from ..store.compiled import jit

__all__ = ["first_impossible"]

SIZED_BY_1, SIZED_BY_4, SIZED_BY_8, LINE, LINES, UNKNOWN = 100, 101, 102, 103, 104, 105
SIZES = {-1: LINE, -2: SIZED_BY_1, -3: SIZED_BY_4, -4: SIZED_BY_4, -5: SIZED_BY_8}
PUT, LONG_BINPUT, STOP, NEWLINE, ZERO, NINE = ord("p"), ord("r"), ord("."), ord("\n"), ord("0"), ord("9")


def _arguments() -> npt.NDArray[np.uint8]:
    """What follows each opcode: that many bytes, or one of the forms above."""
    found = np.full(256, UNKNOWN, np.uint8)
    for opcode in pickletools.opcodes:
        size = opcode.arg.n if opcode.arg else 0
        found[ord(opcode.code)] = SIZES.get(size, size)
    found[[ord("c"), ord("i")]] = LINES
    return found


ARGUMENTS = _arguments()


def first_impossible(content: bytes) -> int:
    """Where the first such number stands; -1 where there is none up to the end, or up to what is no pickle."""
    return int(_walk(np.frombuffer(content, np.uint8), ARGUMENTS))


@jit()
def _number(data: npt.NDArray[np.uint8], at: int, size: int) -> int:
    value = 0
    for place in range(min(size, 7)):  # of eight bytes the last would be the sign of a length beyond all files
        if at + place < len(data):
            value |= int(data[at + place]) << (8 * place)
    return value


@jit()
def _walk(data: npt.NDArray[np.uint8], arguments: npt.NDArray[np.uint8]) -> int:
    at, end = 0, len(data)
    while at < end:
        begin, opcode = at, int(data[at])
        kind = int(arguments[opcode])
        at += 1
        if opcode == LONG_BINPUT and _number(data, at, 4) > begin:
            return begin
        if kind < SIZED_BY_1:
            at += kind
        elif kind == SIZED_BY_1:
            at += 1 + _number(data, at, 1)
        elif kind == SIZED_BY_4:
            at += 4 + _number(data, at, 4)
        elif kind == SIZED_BY_8:
            at += 8 + _number(data, at, 8)
        elif kind == UNKNOWN:
            return -1
        else:
            number = 0
            for _ in range(2 if kind == LINES else 1):
                while at < end and data[at] != NEWLINE:
                    if ZERO <= data[at] <= NINE and number <= begin:
                        number = 10 * number + int(data[at]) - ZERO
                    at += 1
                at += 1
            if opcode == PUT and number > begin:
                return begin
        if opcode == STOP:
            return -1
    return -1
