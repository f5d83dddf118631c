"""Which values are possible: of a column, and of arithmetic over such.

A confidence interval that reaches beyond, to a negative delay or a fairness above 1, is cut there
(:func:`airwnd.reproduce.statistics.interval`).
"""

import itertools
import math

Bounds = tuple[float, float]
"""The least and the greatest possible value; infinite where there is none."""

ANY: Bounds = (-math.inf, math.inf)


def plus(left: Bounds, right: Bounds) -> Bounds:
    """Add."""
    return left[0] + right[0], left[1] + right[1]


def minus(left: Bounds, right: Bounds) -> Bounds:
    """Subtract."""
    return plus(left, negative(right))


def negative(of: Bounds) -> Bounds:
    """Change the sign."""
    return -of[1], -of[0]


def times(left: Bounds, right: Bounds) -> Bounds:
    """Multiply; nothing times however much is nothing."""
    found = [a * b if a and b else 0.0 for a, b in itertools.product(left, right)]
    return min(found), max(found)


def over(left: Bounds, right: Bounds) -> Bounds:
    """Divide; a quotient by what may be of either sign may be anything."""
    low, high = right
    if low < 0 < high or low == high == 0:
        return ANY
    # Towards zero the inverse grows without a bound, on the side on which the divisor lies.
    inverse = (1 / high if high else -math.inf, 1 / low if low else math.inf)
    return times(left, inverse)


def absolute(of: Bounds) -> Bounds:
    """Leave out the sign."""
    low, high = of
    if low < 0 < high:
        return 0.0, max(-low, high)
    return min(abs(low), abs(high)), max(abs(low), abs(high))


def least(*of: Bounds) -> Bounds:
    """Take the least of several."""
    return min(low for low, _ in of), min(high for _, high in of)


def greatest(*of: Bounds) -> Bounds:
    """Take the greatest of several."""
    return max(low for low, _ in of), max(high for _, high in of)
