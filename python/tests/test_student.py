"""Quantiles of Student's t distribution, against SciPy."""

import pytest
from scipy import stats

from airwnd.support.student import half_width


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 15, 16, 99, 4600])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.9999])
def test_an_interval_is_that_of_scipy(degrees: int, confidence: float) -> None:
    expected = float(stats.t.ppf((1 + confidence) / 2, degrees))
    assert half_width(confidence, degrees) == pytest.approx(expected, rel=1e-11)
