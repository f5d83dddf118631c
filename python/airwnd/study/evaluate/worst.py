"""The result of a check that is farthest on the wrong side, and its text."""

import math
from collections.abc import Mapping

from airwnd.study.evaluate.report import CheckText, Figure, Result

_ORDER = ("does not", "not evaluated", "meets")


def worst(check: CheckText) -> Result:
    """Return the result with the worst answer, and among these the one farthest on the wrong side."""
    return min(check.results, key=lambda each: (_ORDER.index(each.answer), _distance(check, each.figure)))


def _distance(check: CheckText, figure: Figure) -> float:
    """Return the distance to the nearest limit, negative on the wrong side; undefined values are worst."""
    if figure.mean is None:
        return -math.inf
    above = math.inf if check.above is None else figure.mean - check.above
    below = math.inf if check.below is None else check.below - figure.mean
    return min(above, below)


def number(value: float | None, digits: int) -> str:
    """Format a figure."""
    return "–" if value is None else f"{value:z.{digits}f}"


def value_text(check: CheckText, result: Result) -> str:
    """Format a mean with its interval."""
    figure = result.figure
    if figure.mean is None:
        return "no value in some run"
    mean = number(figure.mean, check.digits)
    if figure.low is None or figure.high is None:
        return mean
    if figure.low == figure.high:
        return mean
    return f"{mean} [{number(figure.low, check.digits)}, {number(figure.high, check.digits)}]"


def place_text(result: Result, settings: Mapping[str, str]) -> str:
    """Describe the point of a result: the reference beside it, and the setting."""
    beside = f"beside {result.beside}" if result.beside else ""
    setting = settings.get(result.setting, result.setting) if result.setting else ""
    return ", ".join(filter(None, [beside, setting]))
