"""What the array engine is run on: an array module and its way to do the steps that deserve a kernel."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from . import plain
from .arrays import Array

__all__ = ["Steps"]


@dataclass(frozen=True)
class Steps:
    """An array module with a function for each step; those of `plain` unless others are given."""

    xp: Any
    mark_phrase_starts: Callable[[Any, Array, int], Array] = plain.mark_phrase_starts
    hash_phrases: Callable[[Any, Array, Array, int], Array] = plain.hash_phrases
    count_unlike: Callable[[Any, Array, Array, Array], int] = plain.count_unlike
    pack_symbols: Callable[[Any, Array, Array, int, int, int], Array] = plain.pack_symbols
    count_below: Callable[[Any, Array, Array, Array, Array], Array] = plain.count_below
    common_prefixes: Callable[[Any, Array, Array, Array], Array] = plain.common_prefixes
    previous_at_most: Callable[[Any, Array, Array], Array] = plain.previous_at_most
    next_smaller: Callable[[Any, Array, Array], Array] = plain.next_smaller
