"""Intervals."""

import math

import pytest

from airwnd.reproduce.statistics import interval


def test_it_is_students() -> None:
    # mean 2, s = 1, half width t(0.975, 2) s / sqrt(3) with t = 4.302653 from tables
    found = interval([1.0, 2.0, 3.0])
    assert found.mean == 2.0
    assert found.half_width == pytest.approx(4.302653 / math.sqrt(3), rel=1e-6)
    assert found.n == 3


@pytest.mark.parametrize("values", [[5.0], [4.0, 6.0], [5.0, 5.0]])
def test_fewer_than_three_values_say_nothing_of_the_spread(values: list[float]) -> None:
    found = interval(values)
    assert (found.mean, found.low, found.high) == (5.0, -math.inf, math.inf)


def test_equal_values_leave_no_doubt() -> None:
    found = interval([5.0, 5.0, 5.0])
    assert (found.mean, found.low, found.high) == (5.0, 5.0, 5.0)
