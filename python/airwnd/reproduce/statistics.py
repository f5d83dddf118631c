"""Means of a few seeds, and how well they are known."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from airwnd.errors import InputError
from airwnd.reproduce.bounds import ANY, Bounds

CONFIDENCE = 0.95
"""Of every interval in tables, plots and verdicts."""

LEAST_SEEDS = 3
"""Fewer give no interval: Student's t for two is so wide, 12.7 standard errors, that it says nothing."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean over `n` seeds with its Student-t confidence interval."""

    mean: float
    low: float
    high: float
    n: int

    @property
    def half_width(self) -> float:
        """Half of the interval; infinite where too few seeds give none."""
        return (self.high - self.low) / 2


def interval(values: Sequence[float], within: Bounds = ANY, confidence: float = CONFIDENCE) -> Interval:
    """Estimate the mean of independent values.

    Fewer than `LEAST_SEEDS` values say nothing about the spread: their interval is infinite. Values that are
    all equal give an interval of no width. If any is undefined, NaN, so are mean and interval.

    Parameters
    ----------
    values
        One value per seed, in any unit; of two settings, the differences seed by seed.
    within
        The values that are possible; the interval is cut there.
    confidence
        The probability with which the interval holds the mean, between 0 and 1.

    Returns
    -------
    Interval
        ``mean``, ``low`` and ``high`` in the values' unit, and their number ``n``.

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
    if n < LEAST_SEEDS:
        return Interval(math.fsum(values) / n, -math.inf, math.inf, n)
    if len(set(values)) == 1:
        return Interval(values[0], values[0], values[0], n)
    from scipy import stats

    mean = math.fsum(values) / n
    error = float(stats.sem(values))
    if error == 0.0:  # the differences are too small to be squared
        return Interval(mean, mean, mean, n)
    low, high = stats.t.interval(confidence, n - 1, loc=mean, scale=error)
    least, greatest = within
    return Interval(mean, max(float(low), min(least, mean)), min(float(high), max(greatest, mean)), n)
