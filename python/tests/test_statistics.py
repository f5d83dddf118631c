"""Confidence intervals."""

import math

import pytest

from airwnd.study.statistics import interval


def test_it_is_students_interval() -> None:
    # mean 2, s = 1, half-width t(0.975, 2) s / sqrt(3) with t = 4.302653 from tables
    found = interval([1.0, 2.0, 3.0])
    assert found.mean == 2.0
    assert found.half_width == pytest.approx(4.302653 / math.sqrt(3), rel=1e-6)
    assert found.n == 3


@pytest.mark.parametrize("values", [[5.0], [4.0, 6.0], [5.0, 5.0]])
def test_fewer_than_three_values_give_an_infinite_interval(values: list[float]) -> None:
    found = interval(values)
    assert (found.mean, found.low, found.high) == (5.0, -math.inf, math.inf)


def test_equal_values_give_a_zero_width_interval() -> None:
    found = interval([5.0, 5.0, 5.0])
    assert (found.mean, found.low, found.high) == (5.0, 5.0, 5.0)


def test_an_interval_is_clipped_to_its_range() -> None:
    values = [0.1, 0.2, 0.6]
    whole, cut = interval(values), interval(values, (0.0, 1.0))
    assert whole.low < 0
    assert (cut.mean, cut.low, cut.high) == (whole.mean, 0, whole.high)
    assert interval([0.9, 0.99, 0.999], (0.0, 1.0)).high == 1
    few = interval([0.5, 0.6], (0.0, 1.0))
    assert (few.low, few.high) == (-math.inf, math.inf), "two values give no interval, not even a clipped one"
