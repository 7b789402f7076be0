"""Texts of all families that suffix sorting finds easy or hard."""

from itertools import chain, repeat

import numpy as np
import numpy.typing as npt

__all__ = ["FAMILIES", "Symbols", "fibonacci", "text_of"]

Symbols = npt.NDArray[np.int32]

FAMILIES = (
    *("one symbol", "fibonacci", "all distinct", "periodic", "periodic with edits", "large ids"),
    *("two symbols", "few symbols", "many symbols", "runs", "a run between", "phrases of two lengths"),
)


def fibonacci(size: int) -> list[int]:
    shorter, longer = [0], [0, 1]
    while len(longer) < size:
        shorter, longer = longer, longer + shorter
    return longer[:size]


def text_of(family: str, size: int, seed: int = 0) -> Symbols:
    """Returns a text of a family; of `size` symbols."""
    random = np.random.default_rng(seed)
    match family:
        case "one symbol":
            text = np.full(size, 7)
        case "fibonacci":
            text = np.array(fibonacci(size))
        case "all distinct":
            text = random.permutation(size)
        case "periodic":
            text = np.resize(random.integers(0, 9, int(random.integers(1, 40))), size)
        case "periodic with edits":
            text = np.resize(random.integers(0, 50, int(random.integers(1, 90))), size)
            text = np.where(random.random(size) < 0.01, random.integers(0, 50, size), text)
        case "large ids":
            text = random.integers(0, 2**31, size)
        case "two symbols":
            text = random.integers(0, 2, size)
        case "few symbols":
            text = random.integers(0, 10, size)
        case "many symbols":
            text = random.integers(0, 1000, size)
        case "runs":
            text = np.repeat(random.integers(0, 3, size), random.integers(1, 20, size))[:size]
        case "a run between":
            text = random.integers(0, 300, size)
            text[size // 3 : size // 3 + size // 4] = 5
        case _:
            parts = random.integers(0, 30, (2, 23))
            chosen = random.integers(0, 2, size)
            text = np.fromiter(chain.from_iterable(map(parts.__getitem__, chosen[: size // 20])), np.int64)
            text = np.concatenate([text, list(repeat(3, size))])[:size]
    return text.astype(np.int32)
