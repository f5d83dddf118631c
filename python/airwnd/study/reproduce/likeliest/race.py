"""The order in which set-ups are run: few seeds for all of them, more for those that fit best.

Up to `Plan.most` combinations are all run. Of larger products those that :func:`leaders` have chosen are run,
or the shown set-up and a Latin hypercube, and every set-up that differs from the best so far in one axis,
until none of these is better.

After that the better third has twice as many seeds, the better ninth four times, and so on (successive
halving: Jamieson and Talwalkar, AISTATS 2016); the best set-up of each level of each axis is among them, so
that no level is judged by few seeds alone. Finally the likeliest `Plan.kept` set-ups have all seeds.

The choice depends on the scores only, which depend on the runs only: a repeated command makes the same
choices, and continues an interrupted one.
"""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from airwnd.study.reproduce.likeliest.fit import Fit

Combination = tuple[str, ...]
"""A level of each axis."""

Score = Callable[[Sequence[Combination], int], Mapping[Combination, float]]
"""Runs set-ups with at least this number of seeds; returns the log likelihoods of all that have been run."""

KEPT_PART = 3
"""One in this number of set-ups is kept when the seeds are doubled."""


class OutOfTimeError(Exception):
    """The budget is used up; the set-ups that are complete are kept."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Extent of a search.

    Attributes
    ----------
    first_seeds, last_seeds
        Seeds of the first look at a set-up, and of the likeliest.
    most
        Maximum number of combinations that are all run.
    designed
        Number of combinations of a larger product that are run as a Latin hypercube.
    kept
        Number of set-ups with all seeds.
    """

    first_seeds: int = 2
    last_seeds: int = 16
    most: int = 256
    designed: int = 8
    kept: int = 5


def combinations(axes: Sequence[Sequence[str]]) -> int:
    """Return the number of combinations of levels."""
    return math.prod(map(len, axes))


def leaders(fit: Fit, count: int) -> list[int]:
    """Return the `count` set-ups that fit best, with all tables and without each of them, in turn.

    A table that is later predicted from the others has thus no say in one part of the choice.
    """
    tables = list(dict.fromkeys(fit.tables))
    rankings = [fit.ranking]
    for table in tables if len(tables) > 1 else ():
        others = [index for index, each in enumerate(fit.tables) if each != table]
        rankings.append(np.argsort(-fit.evidence(others), kind="stable").tolist())
    return list(dict.fromkeys(each for rank in zip(*rankings, strict=True) for each in rank))[:count]


def race(
    axes: Sequence[Sequence[str]],
    shown: Combination,
    score: Score,
    plan: Plan,
    first: Sequence[Combination] = (),
) -> None:
    """Run set-ups until the likeliest have `plan.last_seeds` seeds.

    Parameters
    ----------
    axes
        Levels of each axis.
    shown
        The set-up of plots and tables.
    score
        Runs set-ups; a raised :class:`OutOfTimeError` ends the search.
    plan
        Extent of the search.
    first
        The set-ups of a larger product that are run first, next to the shown one; without any, those of a
        Latin hypercube.
    """
    try:
        _race(axes, shown, score, plan, first)
    except OutOfTimeError:
        return


def _race(
    axes: Sequence[Sequence[str]],
    shown: Combination,
    score: Score,
    plan: Plan,
    first: Sequence[Combination],
) -> None:
    is_complete = combinations(axes) <= plan.most
    seeds: dict[Combination, int] = {}

    def look(wanted: Sequence[Combination], count: int) -> Mapping[Combination, float]:
        """Run set-ups, and of a larger product the neighbours of the best until none of them is better."""
        while True:
            scores = score(wanted, count)
            seeds.update({each: max(count, seeds.get(each, 0)) for each in wanted})
            wanted = [each for each in neighbours(axes, _best(scores)) if each not in scores]
            count = plan.first_seeds
            if is_complete or not wanted:
                return scores

    if is_complete:
        scores = look(product(axes), plan.first_seeds)
    elif first:
        scores = look(list(dict.fromkeys([*first, shown])), plan.first_seeds)
    else:
        scores = look([shown], plan.first_seeds)
        if further := [each for each in design(axes, plan.designed) if each not in scores]:
            scores = look(further, plan.first_seeds)
    count, part = plan.first_seeds, 1
    while count < plan.last_seeds:
        count, part = min(2 * count, plan.last_seeds), part * KEPT_PART
        kept = max(math.ceil(len(scores) / part), plan.kept)
        alive = dict.fromkeys([*_ranked(scores)[:kept], *_champions(axes, scores)])
        scores = look(list(alive), count)
    while low := [each for each in _ranked(scores)[: plan.kept] if seeds[each] < plan.last_seeds]:
        scores = look(low, plan.last_seeds)


def design(axes: Sequence[Sequence[str]], count: int) -> list[Combination]:
    """Return a Latin hypercube of combinations: each level of an axis about equally often."""
    # The draws of SciPy's LatinHypercube: searches that began with it are continued.
    draws = np.random.default_rng(1).spawn(1)[0]
    within = draws.uniform(size=(count, len(axes)))
    strata = np.tile(np.arange(1, count + 1), (len(axes), 1))
    for row in strata:
        draws.shuffle(row)
    drawn = [
        tuple(levels[int(value * len(levels))] for levels, value in zip(axes, point, strict=True))
        for point in ((strata.T - within) / count).tolist()
    ]
    return list(dict.fromkeys(drawn))


def neighbours(axes: Sequence[Sequence[str]], at: Combination) -> list[Combination]:
    """Return the combinations that differ in one axis."""
    return [
        (*at[:index], level, *at[index + 1 :])
        for index, levels in enumerate(axes)
        for level in levels
        if level != at[index]
    ]


def product(axes: Sequence[Sequence[str]]) -> list[Combination]:
    """Return all combinations; the level of the last axis changes fastest."""
    return list(itertools.product(*axes))


def _ranked(scores: Mapping[Combination, float]) -> list[Combination]:
    return sorted(scores, key=lambda each: (-scores[each], each))


def _best(scores: Mapping[Combination, float]) -> Combination:
    return _ranked(scores)[0]


def _champions(axes: Sequence[Sequence[str]], scores: Mapping[Combination, float]) -> list[Combination]:
    """Return the best set-up of each level of each axis."""
    ranked = _ranked(scores)
    return [
        found
        for index, levels in enumerate(axes)
        for level in levels
        if (found := next((each for each in ranked if each[index] == level), None)) is not None
    ]
