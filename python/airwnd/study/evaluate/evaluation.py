"""Evaluation of a candidate: runs of each criterion in turn, and more seeds where they decide."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from msgspec.structs import replace

from airwnd.study.batch import Store, Workers, carry_out
from airwnd.study.batch.carry import Progress
from airwnd.study.evaluate.contest import Contest, Point
from airwnd.study.evaluate.judge import Answer, Check, CriterionResult, checks_of, judge, with_extremes
from airwnd.study.evaluate.suite import CriterionEntry, FigureEntry, ScenarioEntry
from airwnd.study.reproduce.expression import Lookup, Values
from airwnd.study.reproduce.readings import STATISTICS, Tables, read
from airwnd.study.reproduce.sequential import confidence_at

MAX_FACTOR = 8
"""Maximum number of seeds of a criterion, as a multiple of the suite's."""

Bar = Callable[[str], AbstractContextManager[Progress | None]]
"""Returns a progress bar with a title."""


@dataclass(frozen=True, slots=True)
class Effort:
    """Extent of an evaluation.

    Attributes
    ----------
    budget_s
        Wall-clock time after which no further criterion begins, in seconds. Time that is left is used for
        more seeds of criteria that are too close to tell. ``None``: every criterion is run with the suite's
        number of seeds.
    seeds
        Number of seeds by criterion, in place of that, as in an earlier report.
    only
        Ids or sections of criteria; empty: all.
    """

    budget_s: float | None = None
    seeds: Mapping[str, int] | None = None
    only: tuple[str, ...] = ()

    def selects(self, criterion: CriterionEntry) -> bool:
        """Return whether a criterion is evaluated."""
        return not self.only or any(
            name == criterion.id or f"{criterion.section}.".startswith(f"{name}.") for name in self.only
        )


@dataclass
class Counts:
    """Number of runs, and the time that they took."""

    runs: int = 0
    reused: int = 0
    simulation_s: float = 0.0
    elapsed_s: float = 0.0


@dataclass
class Evaluator:
    """Runs the criteria of a contest.

    Attributes
    ----------
    contest, store, workers
        The contest, the store of finished runs, and the workers that execute missing ones.
    bar
        Returns a progress bar for each criterion.
    """

    contest: Contest
    store: Store
    workers: Workers
    bar: Bar = lambda _: nullcontext()
    counts: Counts = field(default_factory=Counts)
    _values: dict[tuple[str, Point, int], Mapping[str, float]] = field(default_factory=dict)

    def results(self, effort: Effort) -> list[CriterionResult]:
        """Evaluate the criteria that an effort selects, in the order of the suite."""
        begin = time.perf_counter()
        suite = self.contest.suite.entry
        chosen = [each for each in suite.criterion if effort.selects(each)]
        checks = {
            each.id: () if self.contest.unsupported(each) else checks_of(self.contest, each)
            for each in chosen
        }
        if not _is_over(begin, effort):
            self._try_code([check for each in checks.values() for check in each])
        done: dict[str, CriterionResult] = {}
        for number, criterion in enumerate(chosen, start=1):
            seeds = (effort.seeds or {}).get(criterion.id, suite.seeds)
            title = f"{number}/{len(chosen)} {criterion.id} {criterion.title}"
            done[criterion.id] = self._evaluate(
                criterion, checks[criterion.id], seeds, title, out_of_time=_is_over(begin, effort)
            )
        if effort.budget_s is not None:
            self._decide(checks, done, begin, effort)
        return [done[each.id] for each in chosen]

    def _try_code(self, checks: Sequence[Check]) -> None:
        """Execute a single run of the candidate's code first: code that fails does so in each of its runs."""
        if not (self.contest.candidate.is_code and checks):
            return
        entry = self.contest.suite.scenarios[checks[0].entry.scenario]
        point = next(self.contest.points(entry))
        runs = carry_out([self.contest.task(entry, point, 1)], self.store, self.workers)
        # Its criterion counts it again, as one that has finished earlier.
        self.counts.reused -= runs.fresh
        self.counts.simulation_s += runs.simulation_s
        self.counts.elapsed_s += runs.elapsed_s

    def _decide(
        self,
        checks: Mapping[str, Sequence[Check]],
        done: dict[str, CriterionResult],
        begin: float,
        effort: Effort,
    ) -> None:
        """Double the seeds of criteria that are too close to tell while there is time."""
        first = self.contest.suite.entry.seeds
        seeds = 2 * first
        while seeds <= MAX_FACTOR * first:
            undecided = [
                each for each in done.values() if each.answer is Answer.NONE and each.checks and each.seeds
            ]
            if not undecided:
                return
            for result in undecided:
                if _is_over(begin, effort):
                    return
                entry = result.entry
                title = f"{entry.id} {entry.title}, {seeds} seeds"
                done[entry.id] = self._evaluate(entry, checks[entry.id], seeds, title)
            seeds *= 2

    def _evaluate(
        self,
        criterion: CriterionEntry,
        checks: Sequence[Check],
        seeds: int,
        title: str,
        *,
        out_of_time: bool = False,
    ) -> CriterionResult:
        confidence = confidence_at(seeds, self.contest.suite.entry.seeds)
        if not checks or not seeds:
            reason = self.contest.unsupported(criterion) or criterion.not_evaluated or "not run"
            return CriterionResult(criterion, (), 0, confidence, reason)
        if out_of_time:
            reason = "the budget was used up; the same command with a larger one continues"
            return CriterionResult(criterion, (), 0, confidence, reason)
        scenarios = dict.fromkeys(check.entry.scenario for check in checks)
        entries = [self.contest.suite.scenarios[name] for name in scenarios]
        with self.bar(title) as update:
            self._run(entries, seeds, update)
        results = tuple(
            judge(
                check,
                self._lookup(check.entry.scenario, seeds),
                tuple(self.contest.references),
                confidence,
            )
            for check in checks
        )
        return CriterionResult(criterion, results, seeds, confidence)

    def _run(self, entries: Sequence[ScenarioEntry], seeds: int, update: Progress | None) -> None:
        """Execute the runs of scenarios, and read their figures."""
        wanted = list(self._wanted(entries, seeds))
        tasks = [self.contest.task(entry, point, seed) for entry, point, seed in wanted]
        runs = carry_out(tasks, self.store, self.workers, update)
        self.counts.runs += len({task.key for task in tasks})
        self.counts.reused += runs.reused
        self.counts.simulation_s += runs.simulation_s
        self.counts.elapsed_s += runs.elapsed_s
        read_before: dict[str, Mapping[str, float]] = {}
        for index, ((entry, point, seed), task) in enumerate(zip(wanted, tasks, strict=True)):
            if task.key not in read_before:
                tables = Tables(runs[index])
                read_before[task.key] = {each.name: figure(each, tables) for each in entry.measure}
            self._values[entry.id, point, seed] = read_before[task.key]

    def _wanted(
        self, entries: Sequence[ScenarioEntry], seeds: int
    ) -> Iterator[tuple[ScenarioEntry, Point, int]]:
        # Ordered by seed, so that an interrupted evaluation has complete figures for the first seeds.
        for seed in range(1, seeds + 1):
            for entry in entries:
                for point in self.contest.points(entry):
                    if (entry.id, point, seed) not in self._values:
                        yield entry, point, seed

    def _lookup(self, scenario: str, seeds: int) -> Lookup:
        def found(levels: Mapping[str, str], measure: str) -> Values:
            point = Point(levels["who"], levels.get("beside", ""), levels.get("setting", ""))
            return np.array(
                [self._values[scenario, point, seed][measure] for seed in range(1, seeds + 1)],
                dtype=np.float64,
            )

        return with_extremes(found, self.contest.suite.entry.standard)


def figure(measure: FigureEntry, tables: Tables) -> float:
    """Read a figure from a run; NaN if no row has a value."""
    if measure.each == "row":
        return read(measure, tables)
    flows = tables["flows"]
    for column, allowed in measure.selection.where.items():
        if column in flows.columns:
            flows = flows.filter(pl.col(column).cast(pl.String).is_in([str(value) for value in allowed]))
    mean = replace(measure, each="row", statistic="mean")
    values = np.array([read(mean, tables, {"id": (name,)}) for name in flows["id"]])
    # A flow without a value has received nothing.
    return float(STATISTICS[measure.statistic](np.nan_to_num(values))) if values.size else float("nan")


def _is_over(begin: float, effort: Effort) -> bool:
    return effort.budget_s is not None and time.perf_counter() - begin >= effort.budget_s
