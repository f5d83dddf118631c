"""Expressions of claims."""

import math
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from airwnd import InputError
from airwnd.study.reproduce.expression import Expression, Values

LEVELS = {"users": ("20", "40", "60"), "method": ("drwa", "arwa")}
MEASURES = ("delay_ms", "fairness")


def lookup(levels: Mapping[str, str], measure: str) -> Values:
    """Two seeds. 20 users, DRWA: 20, 21; 20 users, ARWA: 120, 121; and so on. Fairness is 0 and 1."""
    if measure == "fairness":
        return np.array([0.0, 1.0])
    return float(levels["users"]) + 100 * (levels["method"] == "arwa") + np.array([0.0, 1.0])


def parse(text: str) -> Expression:
    return Expression.parse(text, LEVELS, MEASURES)


def values(text: str, seed: int = 1) -> list[float]:
    expression = parse(text)
    return [expression.values(place, lookup).tolist()[seed - 1] for place in expression.places()]


def test_an_axis_not_named_is_iterated() -> None:
    assert values("delay_ms(method='arwa') - delay_ms(method='drwa')") == [100, 100, 100]
    assert values("delay_ms(users=20)") == [20, 120]
    assert values("delay_ms(users=40, method='drwa') / 4") == [10]
    assert len(values("delay_ms()")) == 6


def test_previous_is_the_level_before() -> None:
    assert values("delay_ms(method='drwa') - delay_ms(method='drwa', users=previous)") == [20, 20]


def test_arithmetic_and_functions() -> None:
    nought = "0 * delay_ms(users=20, method='drwa')"
    assert values(f"-max(1, 2 * 3, 4) + abs(0 - 2) * min(1, 5) + {nought}") == [-4]
    assert values("max(delay_ms(users=20, method='drwa'), 20.5)") == [20.5]


def test_seeds_are_evaluated_separately() -> None:
    assert values("delay_ms(users=20)", seed=2) == [21, 121]
    assert values("max(delay_ms(users=20, method='drwa'), 20.5)", seed=2) == [21]


def test_a_division_by_zero_is_undefined() -> None:
    expression = "1 / fairness(users=20, method='arwa')"
    assert math.isnan(values(expression)[0])
    assert values(expression, seed=2) == [1]
    assert math.isnan(values(f"max(1, {expression})")[0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("delay_ms(", "was never closed"),
        ("delay(users=20)", "`delay` takes levels"),
        ("delay_ms(users=30)", "the levels of `users` are 20, 40, 60, or previous"),
        ("delay_ms(user=20)", "`user` is not one of the axes users, method"),
        ("delay_ms", "is not allowed in an expression"),
        ("delay_ms(20)", "takes levels as axis=level"),
        ("delay_ms() ** 2", "is not allowed in an expression"),
        ("__import__('os')", "takes levels as axis=level"),
        ("delay_ms().real", "is not allowed in an expression"),
        ("'text'", "is not allowed in an expression"),
        ("1 + 1", "`1 . 1`: no measure; there are delay_ms, fairness"),
        ("max()", "takes levels as axis=level"),
    ],
)
def test_anything_else_is_rejected(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message.replace("(", r"\(").replace("*", r"\*")):
        parse(text)


# Thousandths: numbers closer to zero have an infinite inverse.
ENDS = st.integers(-(10**6), 10**6).map(lambda n: n / 1000) | st.sampled_from([-math.inf, math.inf])


@pytest.mark.parametrize(
    "text",
    ["A + B", "A - B", "A * B", "A / B", "abs(A) - 1", "-min(A, B)", "max(A, B) / 3", "100 * (1 - A / B)"],
)
@given(st.data())
def test_no_value_is_outside_the_bounds_of_an_expression(text: str, data: st.DataObject) -> None:
    bounds, values = {}, {}
    for measure in MEASURES:
        low, high = sorted((data.draw(ENDS) + 0.0, data.draw(ENDS) + 0.0))  # no negative zero
        assume(low < math.inf and high > -math.inf)
        bounds[measure] = (low, high)
        minimum, maximum = round(max(low, -1e6) * 1000), round(min(high, 1e6) * 1000)
        values[measure] = data.draw(st.integers(minimum, maximum)) / 1000
    text = text.replace("A", "delay_ms(users=20, method='drwa')")
    expression = parse(text.replace("B", "fairness(users=20, method='drwa')"))
    (place,) = expression.places()
    found = expression.values(place, lambda _, measure: np.array([values[measure]])).item()
    low, high = expression.bounds(bounds)
    rounding = 1e-9 * max(1, abs(found)) if math.isfinite(found) else 0
    assert math.isnan(found) or low - rounding <= found <= high + rounding


@pytest.mark.parametrize(
    ("text", "bounds"),
    [
        ("delay_ms(users=20, method='arwa') / delay_ms(users=20, method='drwa')", (0, math.inf)),
        ("100 * (1 - fairness(users=20, method='arwa'))", (0, 100)),
        ("fairness(users=20, method='arwa') - fairness(users=20, method='drwa')", (-1, 1)),
        ("abs(fairness(users=20, method='arwa') - 2)", (1, 2)),
    ],
)
def test_bounds_follow_from_those_of_the_measures(text: str, bounds: tuple[float, float]) -> None:
    assert parse(text).bounds({"delay_ms": (0, math.inf), "fairness": (0, 1)}) == bounds
