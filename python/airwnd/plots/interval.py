"""Confidence intervals of means over seeds, and the words that describe them in a picture."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from airwnd.support.student import half_width

# As in the reproductions.
_CONFIDENCE = 0.95
#: Minimum number of seeds for a spread: with two values, Student's t is too wide to be informative.
MIN_SEEDS = 3
#: The interval in a picture.
CI = f"{_CONFIDENCE:.0%} CI"


def half_widths(counts: NDArray[np.uint32], deviations: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return half of the confidence interval of each mean; zero for fewer than three values.

    Parameters
    ----------
    counts
        Number of values of each mean.
    deviations
        Their standard deviations.
    """
    widths = {count: half_width(_CONFIDENCE, max(count, 2) - 1) for count in set(counts.tolist())}
    quantile = np.array([widths[count] for count in counts.tolist()])
    return np.where(counts >= MIN_SEEDS, quantile * deviations / np.sqrt(np.maximum(counts, 1)), 0.0)


def note(counts: Sequence[int], spread: str = CI) -> str:
    """Describe means over these numbers of seeds, and the spread around them; empty for a single seed."""
    minimum, maximum = min(counts), max(counts)
    if maximum == 1:
        return ""
    seeds = f"{maximum} seeds" if minimum == maximum else f"{minimum} to {maximum} seeds"
    return f"mean of {seeds}" + (f", {spread}" if maximum >= MIN_SEEDS else "")
