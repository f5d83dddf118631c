"""Student's t distribution with a whole number of degrees of freedom."""

import math
from functools import lru_cache


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
    low, high = 0.0, math.pi / 2
    while low < (middle := (low + high) / 2) < high:
        if probability_within(middle, degrees) < confidence:
            low = middle
        else:
            high = middle
    return math.sqrt(degrees) * math.tan(high)
