"""Which of many findings are told, so that few of those that are told are chance."""

from collections.abc import Sequence

__all__ = ["discoveries"]


def discoveries(probabilities: Sequence[float], *, share: float = 0.05) -> list[bool]:
    """Which findings to tell, by how likely each is by chance: of those told, `share` is chance on average, at most.

    Benjamini and Hochberg 1995: of n, the k with the smallest probabilities, for the largest k at which the k-th is no
    greater than share × k / n. No findings give none.
    """
    count = len(probabilities)
    ordered = sorted(probabilities)
    held = [one for place, one in enumerate(ordered, 1) if one <= share * place / count]
    return [one <= held[-1] for one in probabilities] if held else [False] * count
