"""The search of one paper: runs, readings, fit, claims."""

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from airwnd.scenario.scenario import Scenario
from airwnd.study.batch import Results, Store, Task, Workers, carry_out
from airwnd.study.batch.carry import Progress
from airwnd.study.reproduce.design import Experiment
from airwnd.study.reproduce.expression import Values
from airwnd.study.reproduce.likeliest.choices import FILE, Choices, Member, Point
from airwnd.study.reproduce.likeliest.fit import (
    PARTS,
    Fit,
    Known,
    Left,
    Profile,
    cross_validate,
    known,
    profile,
)
from airwnd.study.reproduce.likeliest.numbers import Number, gather
from airwnd.study.reproduce.likeliest.race import (
    Combination,
    OutOfTimeError,
    Plan,
    combinations,
    leaders,
    product,
    race,
)
from airwnd.study.reproduce.readings import Tables, read_all
from airwnd.study.reproduce.regions import SetUp
from airwnd.study.reproduce.words import count_text
from airwnd.support.errors import InputError

CHUNK = 200
"""Number of runs between two looks at the clock."""


@dataclass(frozen=True)
class Effort:
    """Extent of a search.

    Attributes
    ----------
    plan
        Seeds and number of set-ups.
    quick
        Whether runs are shortened as in ``[quick]`` of the experiments: a preview.
    budget_s
        Wall-clock time after which no further runs begin, in seconds; infinite: no limit.
    """

    plan: Plan
    quick: bool = False
    budget_s: float = math.inf


Watch = Callable[[str, Path], AbstractContextManager[Progress | None]]
"""Called before each batch of runs with its title and folder; returns a context manager with the progress."""


class Runs:
    """Runs of the experiments of a paper, and readings of them by point and seed."""

    def __init__(self, effort: Effort, out: Path, workers: Workers, watch: Watch | None = None) -> None:
        self._quick = effort.quick
        self._deadline = time.monotonic() + effort.budget_s
        self._out = out
        self._workers = workers
        self._watch = watch
        self._read: dict[tuple[str, Point], list[dict[str, float]]] = {}
        self._scenarios: dict[tuple[str, Point], Scenario] = {}
        self.count = 0
        self.fresh = 0

    def values(self, member: Member, point: Point, measure: str, seeds: int | None = None) -> Values:
        """Return a measure by seed, of the first `seeds` or of all runs so far."""
        rows = self._read[member.name, point]
        return np.array([row[measure] for row in rows[:seeds]])

    def has(self, member: Member, point: Point) -> int:
        """Return for how many seeds a point has been read."""
        return len(self._read.get((member.name, point), ()))

    def ensure(self, title: str, wanted: Iterable[tuple[Member, Point]], seeds: int) -> None:
        """Run and read the missing runs of these points, for seeds 1 to `seeds`.

        Raises
        ------
        OutOfTimeError
            If the time is used up; what has been run is kept.
        """
        unique = dict.fromkeys((member.name, point) for member, point in wanted)
        members = {member.name: member for member, _ in wanted}
        lacking = [
            (members[name], point, seed)
            for name, point in unique
            for seed in range(self.has(members[name], point) + 1, seeds + 1)
        ]
        for start in range(0, len(lacking), CHUNK):
            if time.monotonic() > self._deadline:
                raise OutOfTimeError
            self._carry_out(title, lacking[start : start + CHUNK])

    def _carry_out(self, title: str, lacking: Sequence[tuple[Member, Point, int]]) -> None:
        for name in dict.fromkeys(member.name for member, _, _ in lacking):
            chosen = [each for each in lacking if each[0].name == name]
            experiment = chosen[0][0].experiment
            folder = self._out / experiment.name / "runs"
            tasks = [
                Task(self._scenario(member, point), seed, experiment.series) for member, point, seed in chosen
            ]
            results = self._results(f"{experiment.name}, {title}", folder, tasks)
            for (member, point, _), run in zip(chosen, results, strict=True):
                tables, rows = Tables(run), experiment.rows(point.setting)
                self._read.setdefault((name, point), []).append(
                    read_all(member.experiment.measures, tables, rows)
                )
            self.count += len(results)
            self.fresh += results.fresh

    def _results(self, title: str, folder: Path, tasks: Sequence[Task]) -> Results:
        with self._watch(title, folder) if self._watch else nullcontext() as progress:
            return carry_out(tasks, Store(folder), self._workers, progress)

    def _scenario(self, member: Member, point: Point) -> Scenario:
        key = member.name, point
        if key not in self._scenarios:
            changes = member.experiment.quick.changes if self._quick else {}
            self._scenarios[key] = member.scenario(point, changes)
        return self._scenarios[key]


@dataclass(frozen=True)
class Screened:
    """The first part of a search of many set-ups: a comparison in the tables that depend on few choices.

    Attributes
    ----------
    names, tables
        The choices, and the tables that depend on no others.
    count, kept
        Number of their combinations, which were all run, and of those that were searched further.
    """

    names: Sequence[str]
    tables: Sequence[str]
    count: int
    kept: int


@dataclass(frozen=True)
class Found:
    """The result of a search.

    Attributes
    ----------
    touched, untouched
        Choices on which a number depends, and the others.
    screened
        The comparison by which the set-ups were chosen; ``None``: none.
    fit
        The fit of the set-ups that were run.
    left, profiles
        Cross-validation by table, and what the numbers say about each choice.
    total
        Number of combinations of the touched choices.
    runs, fresh
        Number of runs that were read, and of those executed by this call.
    is_complete
        Whether the search ended before the budget did.
    """

    choices: Choices
    effort: Effort
    numbers: Sequence[Number]
    touched: Sequence[str]
    untouched: Sequence[str]
    screened: Screened | None
    fit: Fit
    left: Sequence[Left]
    profiles: Sequence[Profile]
    total: int
    runs: int
    fresh: int
    is_complete: bool

    @property
    def best(self) -> SetUp:
        """The likeliest set-up."""
        return self.fit.setups[self.fit.best]

    @property
    def predicted(self) -> tuple[float, ...]:
        """Shares of the numbers within 5, 10 and 20 %, each table predicted from the others."""
        return tuple(
            sum(each.count * each.predicted[index] for each in self.left) / len(self.numbers)
            for index in range(len(PARTS))
        )


def is_searchable(experiments: Sequence[Experiment]) -> bool:
    """Whether these experiments of a paper have a number that depends on something left open."""
    if any(each.measured is not None for each in experiments):
        return False
    choices = Choices.of(experiments)
    return bool(touching(choices, gather(choices)))


def find(experiments: Sequence[Experiment], effort: Effort, runs: Runs) -> Found:
    """Search for the likeliest set-up of a paper.

    Raises
    ------
    InputError
        If the experiments have no numbers, or leave nothing open on which a number depends, or
        ``likeliest.toml`` is invalid.
    """
    choices = Choices.of(experiments)
    paper = experiments[0].paper.key
    numbers = gather(choices)
    if not numbers:
        raise InputError(
            f"{paper}: no numbers to fit; there are neither a paper.csv nor a [[number]] in {FILE}"
        )
    touched = touching(choices, numbers)
    if not touched:
        raise InputError(f"{paper}: nothing that the paper leaves open changes one of its numbers")
    state = _State(choices, numbers, touched, runs)
    axes = [tuple(choices.by_name[name].levels) for name in touched]
    is_large = combinations(axes) > effort.plan.most
    screened, first = _screen(choices, numbers, touched, runs, effort.plan) if is_large else (None, [])
    shown = tuple(choices.by_name[name].shown for name in touched)
    race(axes, shown, state.score, effort.plan, first)
    if state.fit is None:
        raise InputError(f"{paper}: no set-up is complete within the budget; the same command continues")
    left = cross_validate(state.fit)
    return Found(
        choices=choices,
        effort=effort,
        numbers=numbers,
        touched=touched,
        untouched=[name for name in choices.by_name if name not in touched],
        screened=screened,
        fit=state.fit,
        left=left,
        profiles=[profile(state.fit, name, tuple(choices.by_name[name].levels), left) for name in touched],
        total=combinations(axes),
        runs=runs.count,
        fresh=runs.fresh,
        is_complete=not state.is_out_of_time,
    )


def _screen(
    choices: Choices, numbers: Sequence[Number], touched: Sequence[str], runs: Runs, plan: Plan
) -> tuple[Screened | None, list[Combination]]:
    """Run all combinations of the choices of tables that depend on few, and return the set-ups to run first.

    These are the best combinations with all levels of the other choices, up to `plan.most` set-ups.
    """
    levels = {name: tuple(choices.by_name[name].levels) for name in touched}
    tables, names = _tables_of_few(choices, numbers, levels, plan.most)
    if not names:
        return None, []
    state = _State(choices, [number for number in numbers if number.table in tables], names, runs)
    every = product([levels[name] for name in names])
    with suppress(OutOfTimeError):
        state.score(every, plan.first_seeds)
    if state.fit is None or state.is_out_of_time:
        return None, []
    further = combinations([found for name, found in levels.items() if name not in names])
    kept = [state.fit.setups[index] for index in leaders(state.fit, max(plan.most // further, 1))]
    first = [
        each
        for setup in kept
        for each in product([(setup[name],) if name in setup else levels[name] for name in touched])
    ]
    return Screened(names, tables, len(every), len(kept)), first


def _tables_of_few(
    choices: Choices, numbers: Sequence[Number], levels: Mapping[str, Sequence[str]], most: int
) -> tuple[list[str], list[str]]:
    """Return the tables whose choices have up to `most` combinations together, and these choices."""
    touched = {
        table: touching(choices, [number for number in numbers if number.table == table])
        for table in dict.fromkeys(number.table for number in numbers)
    }

    def count(names: Iterable[str]) -> int:
        return combinations([levels[name] for name in names])

    tables: list[str] = []
    chosen: set[str] = set()
    for table in sorted(touched, key=lambda each: count(touched[each])):
        if count(chosen.union(touched[table])) <= most:
            tables.append(table)
            chosen.update(touched[table])
    return [table for table in touched if table in tables], [name for name in levels if name in chosen]


def touching(choices: Choices, numbers: Sequence[Number]) -> list[str]:
    """Return the choices that change the run of at least one number, in the order of the paper."""
    found = []
    for name, choice in choices.by_name.items():
        is_touched = any(
            len({number.member.point(place, {name: level}) for level in choice.levels}) > 1
            for number in numbers
            for place, _ in number.expression.points(_full(number))
        )
        if is_touched:
            found.append(name)
    return found


def _full(number: Number) -> dict[str, str]:
    """Return the place of a number with the shown levels of the open axes."""
    return {**number.member.experiment.space.shown, **number.place}


def points(number: Number, setup: SetUp) -> list[Point]:
    """Return the points of an experiment that a number needs in a set-up."""
    return [
        number.member.point(number.member.closed(levels), setup)
        for levels, _ in number.expression.points(_full(number))
    ]


class _State:
    """The set-ups that have been run, with their number of seeds."""

    def __init__(
        self, choices: Choices, numbers: Sequence[Number], touched: Sequence[str], runs: Runs
    ) -> None:
        self._choices = choices
        self._numbers = numbers
        self._touched = touched
        self._runs = runs
        self._seeds: dict[Combination, int] = {}
        self._known: dict[tuple[int, tuple[Point, ...], int], Known] = {}
        self._points: dict[Combination, list[tuple[Point, ...]]] = {}
        self.fit: Fit | None = None
        self.is_out_of_time = False

    def score(self, wanted: Sequence[Combination], seeds: int) -> Mapping[Combination, float]:
        """Run set-ups with this number of seeds and compute the fit of all."""
        needed = {
            combination: [
                (number.member, point)
                for number, chosen in zip(self._numbers, self._points_of(combination), strict=True)
                for point in chosen
            ]
            for combination in wanted
        }
        # Set-ups that need the fewest further runs come first, for the case that the time ends.
        order = sorted(
            needed.values(),
            key=lambda chosen: sum(seeds > self._runs.has(member, point) for member, point in chosen),
        )
        title = f"{count_text(len(wanted), 'set-up')}, {count_text(seeds, 'seed')}"
        try:
            self._runs.ensure(title, [each for chosen in order for each in chosen], seeds)
        except OutOfTimeError:
            self.is_out_of_time = True
            raise
        finally:
            for combination, chosen in needed.items():
                if all(self._runs.has(member, point) >= seeds for member, point in chosen):
                    self._seeds[combination] = max(self._seeds.get(combination, 0), seeds)
            scores = self._refit()
        return scores

    def _refit(self) -> Mapping[Combination, float]:
        if not self._seeds:
            return {}
        # In the order of the product, so that ties are decided alike however the search went.
        order = [tuple(self._choices.by_name[name].levels) for name in self._touched]
        combined = sorted(
            self._seeds,
            key=lambda each: [levels.index(level) for levels, level in zip(order, each, strict=True)],
        )
        self.fit = Fit.of(
            [(number.low, number.high) for number in self._numbers],
            [number.quantity for number in self._numbers],
            [number.table for number in self._numbers],
            [(dict(zip(self._touched, each, strict=True)), self._summary(each)) for each in combined],
        )
        return dict(zip(combined, self.fit.scores.tolist(), strict=True))

    def _points_of(self, combination: Combination) -> list[tuple[Point, ...]]:
        if combination not in self._points:
            setup = dict(zip(self._touched, combination, strict=True))
            self._points[combination] = [tuple(points(number, setup)) for number in self._numbers]
        return self._points[combination]

    def _summary(self, combination: Combination) -> list[Known]:
        """Summarise each number in a set-up: set-ups that do not differ for it share all of its runs."""
        found = []
        setup = dict(zip(self._touched, combination, strict=True))
        for index, chosen in enumerate(self._points_of(combination)):
            number = self._numbers[index]
            key = index, chosen, min(self._runs.has(number.member, point) for point in chosen)
            if key not in self._known:
                self._known[key] = known(values_of(number, setup, self._runs))
            found.append(self._known[key])
        return found


def values_of(number: Number, setup: SetUp, runs: Runs) -> Values:
    """Return our value of a number by seed."""

    def ours(levels: Mapping[str, str], measure: str) -> Values:
        member = number.member
        return runs.values(member, member.point(member.closed(levels), setup), measure)

    return number.expression.values(_full(number), ours)
