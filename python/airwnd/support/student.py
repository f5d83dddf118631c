"""Student's t distribution with a whole number of degrees of freedom."""

import math
from functools import lru_cache
from statistics import NormalDist

_MANY = 1000
"""Degrees of freedom from which on an expansion has 12 digits; the time of the exact sum grows with them."""


def probability_within(angle: float, degrees: int) -> float:
    """Return the probability that a value lies within ``±sqrt(degrees) * tan(angle)``.

    Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4.

    Parameters
    ----------
    angle
        From 0 to π/2.
    degrees
        Degrees of freedom, 1 or more.
    """
    sine, cosine = math.sin(angle), math.cos(angle)
    is_odd = degrees % 2 == 1
    term, total = (cosine, 0.0) if is_odd else (1.0, 0.0)
    for power in range(1 if is_odd else 0, degrees - 1, 2):
        total += term
        term *= cosine**2 * (power + 1) / (power + 2)
    return 2 / math.pi * (angle + sine * total) if is_odd else sine * total


@lru_cache(maxsize=1024)
def half_width(confidence: float, degrees: int) -> float:
    """Return half the width, in standard errors, of a confidence interval of a mean.

    Parameters
    ----------
    confidence
        Probability of the interval, above 0 and below 1.
    degrees
        Degrees of freedom, 1 or more: the number of values minus one.

    Examples
    --------
    >>> round(half_width(0.95, 9), 3)
    2.262
    """
    if degrees >= _MANY:
        return _expansion(NormalDist().inv_cdf((1 + confidence) / 2), degrees)
    low, high = 0.0, math.pi / 2
    while low < (middle := (low + high) / 2) < high:
        if probability_within(middle, degrees) < confidence:
            low = middle
        else:
            high = middle
    return math.sqrt(degrees) * math.tan(high)


def _expansion(x: float, degrees: int) -> float:
    """Return a quantile from that of the normal distribution, by Abramowitz and Stegun, 26.7.5."""
    terms = (
        x,
        (x**3 + x) / 4,
        (5 * x**5 + 16 * x**3 + 3 * x) / 96,
        (3 * x**7 + 19 * x**5 + 17 * x**3 - 15 * x) / 384,
        (79 * x**9 + 776 * x**7 + 1482 * x**5 - 1920 * x**3 - 945 * x) / 92160,
    )
    return math.fsum(term / degrees**power for power, term in enumerate(terms))
