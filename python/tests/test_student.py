"""Quantiles of Student's t distribution, against SciPy and a published table."""

import pytest
from scipy import stats

from airwnd.support.student import half_width


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 15, 16, 99, 999, 1000, 4600, 1_000_000])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.9999])
def test_an_interval_is_that_of_scipy(degrees: int, confidence: float) -> None:
    expected = float(stats.t.ppf((1 + confidence) / 2, degrees))
    assert half_width(confidence, degrees) == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize(
    ("degrees", "expected"),
    [(1, 12.706), (2, 4.303), (3, 3.182), (9, 2.262), (29, 2.045), (100, 1.984), (1_000_000_000, 1.960)],
)
def test_an_interval_is_that_of_the_table(degrees: int, expected: float) -> None:
    """NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2: upper critical values, column 0.975."""
    assert round(half_width(0.95, degrees), 3) == expected
