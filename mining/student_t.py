"""Student's t distribution, for intervals around what few runs show."""

from math import exp, lgamma, log, log1p

__all__ = ["cumulative", "quantile"]

LEAST = 1e-300
STEPS = 300


def cumulative(t: float, degrees: float) -> float:
    """The probability of a value of at most `t`, with that many degrees of freedom (above 0)."""
    tail = 0.5 * _incomplete_beta(degrees / (degrees + t * t), degrees / 2, 0.5)
    return tail if t < 0 else 1 - tail


def quantile(probability: float, degrees: float) -> float:
    """The value that is not exceeded with that probability (above 0, below 1); right to 1e-12 of itself."""
    if probability < 0.5:
        return -quantile(1 - probability, degrees)
    low, high = 0.0, 1.0
    while cumulative(high, degrees) < probability:
        low, high = high, 2 * high
    for _ in range(STEPS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if cumulative(middle, degrees) < probability else (low, middle)
    return high


def _incomplete_beta(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function, by its continued fraction (Abramowitz and Stegun, 26.5.8)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(1 - x, b, a)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x)) / a
    above, below = 1.0, 1 / _apart(1 - (a + b) * x / (a + 1))
    value = below
    for step in range(1, STEPS):  # Lentz's way to sum a continued fraction, two terms at a time
        even = step * (b - step) * x / ((a + 2 * step - 1) * (a + 2 * step))
        odd = -(a + step) * (a + b + step) * x / ((a + 2 * step) * (a + 2 * step + 1))
        before = value
        for term in (even, odd):
            below, above = 1 / _apart(1 + term * below), _apart(1 + term / above)
            value *= above * below
        if value == before:
            break
    return front * value


def _apart(number: float) -> float:
    """The number, away from zero, by which it divides."""
    return number if abs(number) > LEAST else LEAST
