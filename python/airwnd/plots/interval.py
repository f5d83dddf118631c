"""Confidence intervals of means over seeds, and the words that describe them in a picture."""

import numpy as np
from numpy.typing import NDArray

# As in the reproductions: with two values, Student's t is too wide to be informative.
_CONFIDENCE, _MIN_SEEDS = 0.95, 3


def half_widths(counts: NDArray[np.uint32], deviations: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return half of the confidence interval of each mean; zero for fewer than three values.

    Parameters
    ----------
    counts
        Number of values of each mean.
    deviations
        Their standard deviations.
    """
    from scipy import stats

    quantile = stats.t.ppf((1 + _CONFIDENCE) / 2, np.maximum(counts, 2) - 1)
    return np.where(counts >= _MIN_SEEDS, quantile * deviations / np.sqrt(np.maximum(counts, 1)), 0.0)


def note(minimum: int, maximum: int) -> str:
    """Describe means over this number of seeds, with the confidence level; empty for a single seed."""
    if maximum == 1:
        return ""
    seeds = f"{maximum} seeds" if minimum == maximum else f"{minimum} to {maximum} seeds"
    return f"mean of {seeds}" + (f", {_CONFIDENCE:.0%} CI" if maximum >= _MIN_SEEDS else "")
