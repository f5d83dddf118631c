"""How likely a paper's numbers are in a set-up, which axes they pin down, how well they predict each other.

The paper's number is our mean times a factor: its logarithm has Student's t distribution with four degrees of
freedom, which tolerates single wild numbers (Lange, Little and Taylor, JASA 84, 1989), around zero. Its scale
combines two errors: our mean's standard error over the seeds, and the *discrepancy* between two simulators,
one unknown relative size for each quantity, so that milliseconds and percentages weigh alike. The
discrepancies are integrated out, uniform in the logarithm from 0.1 % to 200 %. The paper's rounding is exact:
a number has the probability of all values that would be printed like it.

A value of ours that is undefined (a transfer that never ends), zero or more than ten times off counts as ten
times off.

Errors of numbers are taken as independent, although a wrong cell is wrong in each row of a table. Differences
of log likelihoods therefore exaggerate what is known; an axis is *pinned* only if it also has the same best
level when any of the tables is left out. With a single table nothing is pinned.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from airwnd.study.reproduce.regions import SetUp

Floats = NDArray[np.float64]

DEGREES = 4.0
"""Degrees of freedom of the discrepancy."""
DISCREPANCIES: Floats = np.geomspace(0.001, 2.0, 48)
"""Relative sizes of the discrepancy that are integrated over."""
_RESOLVED, _TINY = 1e-12, 1e-300
WORST = math.log(10.0)
"""Maximum distance from the paper's range, as a logarithm."""
PINNED, FREE = 3.0, 1.0
"""Fall of the log likelihood from which a level is excluded, and up to which it is as good as the best."""
PARTS = (0.05, 0.10, 0.20)
"""Relative errors of which the shares of numbers are reported."""


class Status(StrEnum):
    """Information of the numbers about an axis."""

    PINNED = "pinned"
    LEANING = "leaning"
    FREE = "free"
    UNSEARCHED = "not decided: neighbours of the likeliest set-up were not run"
    UNTOUCHED = "no number depends on it"


@dataclass(frozen=True)
class Known:
    """Knowledge of a number in a set-up: our mean, the variance of a run, and the number of seeds.

    `variance` is the sample variance relative to the squared mean; NaN: a single seed, or no mean.
    """

    mean: float
    variance: float
    seeds: int


def known(values: Sequence[float] | Floats) -> Known:
    """Summarise the values of a number by seed; if one is undefined, so is the mean."""
    array = np.asarray(values, dtype=np.float64)
    mean = float(array.mean()) if array.size else math.nan
    is_usable = array.size > 1 and mean > 0.0
    return Known(mean, float(array.var(ddof=1)) / mean**2 if is_usable else math.nan, int(array.size))


def log_probability(low: Floats, high: Floats, ours: Floats, noise: Floats) -> Floats:
    """Return log probabilities of printed numbers, a row for each and a column for each discrepancy.

    Parameters
    ----------
    low, high
        Range of values that the paper would print like this; 0 <= low < high.
    ours
        Our means; NaN: undefined.
    noise
        Their relative standard errors.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        bottom, top, value = np.log(low), np.log(high), np.log(ours)
    lowest = np.where(np.isfinite(bottom), bottom, top) - WORST
    value = np.clip(np.where(np.isnan(value), top + WORST, value), lowest, top + WORST)
    scale = np.hypot(DISCREPANCIES[None, :], noise[:, None])
    lower = (bottom - value)[:, None] / scale
    upper = (top - value)[:, None] / scale
    # Tails are subtracted on the side where they are small.
    is_right = lower > 0.0
    mass = np.where(
        is_right,
        _beyond(lower) - _beyond(upper),
        _beyond(-upper) - _beyond(-lower),
    )
    # A range may be narrower than the difference of two tails can resolve.
    middle = np.where(np.isfinite(lower), (lower + upper) / 2, upper)
    density = _density(middle) * np.where(np.isfinite(lower), upper - lower, 1.0)
    return np.log(np.where(mass > _RESOLVED, mass, np.maximum(density, _TINY)))


def _beyond(t: Floats) -> Floats:
    """Return the probability that Student's t with four degrees of freedom exceeds a value."""
    # With x = t / sqrt(4 + t^2) it is (1 - x)^2 (2 + x) / 4; the difference is computed without cancellation.
    root = np.hypot(2.0, t)
    with np.errstate(invalid="ignore"):
        x = np.where(np.isinf(t), np.sign(t), t / root)
    rest = np.where(t > 0.0, 4.0 / (root * (root + np.abs(t))), 1.0 - x)
    return rest**2 * (2.0 + x) / 4.0


def _density(t: Floats) -> Floats:
    """Return the density of Student's t with four degrees of freedom."""
    return 0.375 * (1.0 + t**2 / DEGREES) ** -((DEGREES + 1.0) / 2.0)


@dataclass(frozen=True)
class Fit:
    """The fit of all set-ups that have been run.

    Attributes
    ----------
    setups
        The set-ups.
    low, high, quantities, tables
        Range, quantity and table of each number.
    means, seeds
        Our means and their numbers of seeds, a row for each set-up and a column for each number.
    noise
        Relative standard errors of the means.
    logs
        Log probabilities by set-up, number and discrepancy.
    """

    setups: Sequence[SetUp]
    low: Floats
    high: Floats
    quantities: Sequence[str]
    tables: Sequence[str]
    means: Floats
    seeds: NDArray[np.int64]
    noise: Floats
    logs: Floats

    @classmethod
    def of(
        cls,
        ranges: Sequence[tuple[float, float]],
        quantities: Sequence[str],
        tables: Sequence[str],
        by_setup: Sequence[tuple[SetUp, Sequence[Known]]],
    ) -> "Fit":
        """Compute the fit.

        The variance of a run is estimated for each number over all set-ups with two seeds or more: two seeds
        in one set-up say little.
        """
        low, high = (np.array(each, dtype=np.float64) for each in zip(*ranges, strict=True))
        means = np.array([[each.mean for each in row] for _, row in by_setup])
        seeds = np.array([[each.seeds for each in row] for _, row in by_setup])
        variance = np.array([[each.variance for each in row] for _, row in by_setup])
        weight = np.where(np.isnan(variance), 0, seeds - 1)
        pooled = (np.nan_to_num(variance) * weight).sum(axis=0) / np.maximum(weight.sum(axis=0), 1)
        noise = np.sqrt(pooled[None, :] / seeds)
        logs = np.stack([log_probability(low, high, *pair) for pair in zip(means, noise, strict=True)])
        setups = [setup for setup, _ in by_setup]
        return cls(setups, low, high, quantities, tables, means, seeds, noise, logs)

    def evidence(self, among: Sequence[int] | None = None) -> Floats:
        """Return the log likelihood of each set-up on these numbers; default: on all."""
        chosen = range(len(self.quantities)) if among is None else among
        total = np.zeros(len(self.setups))
        for quantity in dict.fromkeys(self.quantities[index] for index in chosen):
            columns = [index for index in self.of_quantity(quantity) if index in chosen]
            summed = self.logs[:, columns, :].sum(axis=1)
            top = summed.max(axis=1)
            total += top + np.log(np.exp(summed - top[:, None]).mean(axis=1))
        return total

    @cached_property
    def scores(self) -> Floats:
        """Log likelihood of each set-up on all numbers."""
        return self.evidence()

    @cached_property
    def ranking(self) -> list[int]:
        """Set-ups by likelihood, the likeliest first; ties are in the order of the set-ups."""
        return list(map(int, np.argsort(-self.scores, kind="stable")))

    @property
    def best(self) -> int:
        """The likeliest set-up."""
        return self.ranking[0]

    def fall(self, setup: int) -> float:
        """Return by how much the log likelihood of a set-up is below that of the likeliest."""
        return float(self.scores[self.best] - self.scores[setup])

    def discrepancies(self, setup: int) -> dict[str, float]:
        """Return the relative size of the discrepancy of each quantity: its geometric posterior mean."""
        found = {}
        for quantity in dict.fromkeys(self.quantities):
            columns = self.of_quantity(quantity)
            summed = self.logs[setup][columns, :].sum(axis=0)
            weights = np.exp(summed - summed.max())
            found[quantity] = float(np.exp((weights * np.log(DISCREPANCIES)).sum() / weights.sum()))
        return found

    def is_within(self, setup: int, part: float) -> NDArray[np.bool_]:
        """Return which numbers a set-up has within this part of the paper's range."""
        means = self.means[setup]
        found: NDArray[np.bool_] = (self.low * (1.0 - part) <= means) & (means <= self.high * (1.0 + part))
        return found

    def shares(self, setup: int, among: Sequence[int] | None = None) -> tuple[float, ...]:
        """Return the shares of these numbers within 5, 10 and 20 %; default: of all."""
        chosen = list(range(len(self.quantities)) if among is None else among)
        return tuple(float(self.is_within(setup, part)[chosen].mean()) for part in PARTS)

    def of_table(self, table: str) -> list[int]:
        """Return the numbers of a table."""
        return [index for index, each in enumerate(self.tables) if each == table]

    def of_quantity(self, quantity: str) -> list[int]:
        """Return the numbers of a quantity."""
        return [index for index, each in enumerate(self.quantities) if each == quantity]

    def nearest(self, number: int) -> int:
        """Return the set-up that is nearest to a number; among equally near ones the likeliest."""
        return min(self.ranking, key=lambda setup: float(self.distance[setup, number]))

    @cached_property
    def distance(self) -> Floats:
        """|ln(ours / paper)| by set-up and number; 0 within the paper's range."""
        with np.errstate(divide="ignore", invalid="ignore"):
            below, above = np.log(self.low / self.means), np.log(self.means / self.high)
        found = np.maximum(np.maximum(np.nan_to_num(below, nan=0.0), np.nan_to_num(above, nan=0.0)), 0.0)
        return np.where(np.isnan(self.means), np.inf, found)


@dataclass(frozen=True)
class Left:
    """A table that was left out: the set-up that fits the others best, and how it predicts the table.

    Attributes
    ----------
    setup
        The likeliest set-up of the other tables.
    predicted, fitted
        Shares of the table's numbers within 5, 10 and 20 %, in that set-up and in the likeliest of all.
    gain
        Log probability of the table, predicted by that set-up, above the mean over all set-ups.
    """

    table: str
    count: int
    setup: int
    predicted: tuple[float, ...]
    fitted: tuple[float, ...]
    gain: float


def cross_validate(fit: Fit) -> list[Left]:
    """Predict each table from the others; empty if the paper has a single table."""
    tables = list(dict.fromkeys(fit.tables))
    if len(tables) == 1:
        return []
    found = []
    for table in tables:
        left = fit.of_table(table)
        others = [index for index in range(len(fit.tables)) if index not in set(left)]
        train = fit.evidence(others)
        chosen = int(np.argmax(train))
        predicted = fit.scores - train
        average = _log_mean(predicted)
        found.append(
            Left(
                table,
                len(left),
                chosen,
                fit.shares(chosen, left),
                fit.shares(fit.best, left),
                float(predicted[chosen]) - average,
            )
        )
    return found


def _log_mean(logs: Floats) -> float:
    top = float(logs.max())
    return top + math.log(float(np.exp(logs - top).mean()))


@dataclass(frozen=True)
class Profile:
    """An axis: by how much the log likelihood falls at each level, with all other axes at their best.

    `falls` has ``None`` for a level that was not run. `folds` are the best levels without one of the tables.
    """

    axis: str
    falls: Mapping[str, float | None]
    folds: tuple[str, ...]
    status: Status

    @property
    def best(self) -> str:
        """The level of the likeliest set-up."""
        return min(self.falls, key=lambda level: math.inf if (fall := self.falls[level]) is None else fall)


def profile(fit: Fit, axis: str, levels: Sequence[str], left: Sequence[Left]) -> Profile:
    """Profile an axis; `left` are the results of :func:`cross_validate`."""
    falls: dict[str, float | None] = {}
    for level in levels:
        there = [index for index, setup in enumerate(fit.setups) if setup.get(axis) == level]
        falls[level] = min((fit.fall(index) for index in there), default=None)
    best = fit.setups[fit.best][axis]
    folds = tuple(fit.setups[each.setup][axis] for each in left)
    others = [fall for level, fall in falls.items() if level != best and fall is not None]
    # A level that was only run far from the likeliest set-up falls by the other axes as well.
    around = [{**fit.setups[fit.best], axis: level} for level in levels]
    if others and min(others) < FREE:
        status = Status.FREE
    elif any(setup not in fit.setups for setup in around):
        status = Status.UNSEARCHED
    elif not folds or min(others, default=0.0) < PINNED or any(level != best for level in folds):
        status = Status.LEANING
    else:
        status = Status.PINNED
    return Profile(axis, falls, folds, status)


@dataclass(frozen=True)
class Contradiction:
    """A number that no set-up has within 20 %, or that the likeliest has not although another has."""

    number: int
    nearest: float
    setup: int
    reached: bool


def contradictions(fit: Fit, part: float = PARTS[-1]) -> list[Contradiction]:
    """Return the numbers that the likeliest set-up misses by more than `part`, with the nearest set-up."""
    found = []
    for index in np.flatnonzero(~fit.is_within(fit.best, part)).tolist():
        nearest = fit.nearest(index)
        reached = bool(fit.is_within(nearest, part)[index])
        found.append(Contradiction(index, float(fit.means[nearest, index]), nearest, reached))
    return found
