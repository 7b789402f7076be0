"""Finds everything that repeats in a sequence of symbols; same answers from every engine."""

from .structure import Intervals, SuffixStructure, Symbols, build, non_overlapping

__all__ = ["Intervals", "SuffixStructure", "Symbols", "build", "non_overlapping"]
