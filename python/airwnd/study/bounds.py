"""Interval arithmetic: the range of possible values of a column, and of expressions over columns.

A confidence interval is clipped to this range, for example at a delay of 0 or a fairness index of 1
(:func:`airwnd.study.statistics.interval`).
"""

import itertools
import math

Bounds = tuple[float, float]
"""Minimum and maximum possible value; infinite: no bound."""

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
    """Multiply; zero times infinity is zero."""
    found = [a * b if a and b else 0.0 for a, b in itertools.product(left, right)]
    return min(found), max(found)


def over(left: Bounds, right: Bounds) -> Bounds:
    """Divide; the quotient is unbounded if the divisor may have either sign."""
    low, high = right
    if low < 0 < high or low == high == 0:
        return ANY
    # As the divisor approaches zero, its inverse is unbounded, with the sign of the divisor.
    inverse = (1 / high if high else -math.inf, 1 / low if low else math.inf)
    return times(left, inverse)


def absolute(of: Bounds) -> Bounds:
    """Take the absolute value."""
    low, high = of
    if low < 0 < high:
        return 0.0, max(-low, high)
    return min(abs(low), abs(high)), max(abs(low), abs(high))


def minimum(*of: Bounds) -> Bounds:
    """Take the minimum."""
    return min(low for low, _ in of), min(high for _, high in of)


def greatest(*of: Bounds) -> Bounds:
    """Take the maximum."""
    return max(low for low, _ in of), max(high for _, high in of)
