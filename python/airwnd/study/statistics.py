"""Means over a few seeds, with confidence intervals."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from airwnd.study.bounds import ANY, Bounds
from airwnd.support.errors import InputError
from airwnd.support.student import half_width

CONFIDENCE = 0.95
"""Confidence level of all intervals in tables, plots and verdicts."""

MIN_SEEDS = 3
"""Minimum number of seeds for an interval; with two, Student's t gives 12.7 standard errors."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean over `n` seeds with its Student-t confidence interval."""

    mean: float
    low: float
    high: float
    n: int

    @property
    def half_width(self) -> float:
        """Half of the interval; infinite if there are too few seeds."""
        return (self.high - self.low) / 2


def interval(values: Sequence[float], within: Bounds = ANY, confidence: float = CONFIDENCE) -> Interval:
    """Estimate the mean of independent values.

    Fewer than `MIN_SEEDS` values give an infinite interval. Equal values give an interval of zero width. If
    any value is undefined (NaN), so are mean and interval.

    Parameters
    ----------
    values
        One value per seed, in any unit; to compare two settings, the differences seed by seed.
    within
        Range of possible values; the interval is clipped to it.
    confidence
        Confidence level, between 0 and 1.

    Returns
    -------
    Interval
        ``mean``, ``low`` and ``high`` in the unit of the values, and their number ``n``.

    Raises
    ------
    InputError
        If there are no values.

    Examples
    --------
    >>> found = interval([1.0, 2.0, 3.0])
    >>> round(found.mean, 3), round(found.low, 3), round(found.high, 3)
    (2.0, -0.484, 4.484)
    """
    n = len(values)
    if n == 0:
        raise InputError("values: expected at least one value")
    if any(map(math.isnan, values)):
        return Interval(math.nan, math.nan, math.nan, n)
    if n < MIN_SEEDS:
        return Interval(math.fsum(values) / n, -math.inf, math.inf, n)
    if len(set(values)) == 1:
        return Interval(values[0], values[0], values[0], n)
    mean = math.fsum(values) / n
    error = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1) / n)
    if error == 0.0:  # the squares of the differences underflow
        return Interval(mean, mean, mean, n)
    half = half_width(confidence, n - 1) * error
    low, high = mean - half, mean + half
    minimum, greatest = within
    return Interval(mean, max(float(low), min(minimum, mean)), min(float(high), max(greatest, mean)), n)
