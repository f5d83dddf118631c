"""Execution of an experiment: settings x seeds in parallel, reusing finished runs."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from airwnd.plots import style
from airwnd.study.batch import Stored, Workers
from airwnd.study.batch.carry import Progress
from airwnd.study.reproduce.claims import ClaimResult, judge
from airwnd.study.reproduce.design import Experiment
from airwnd.study.reproduce.expression import Values
from airwnd.study.reproduce.measure import Measure
from airwnd.study.reproduce.measured import FILE as MEASURED_FILE
from airwnd.study.reproduce.measured import Measured
from airwnd.study.reproduce.readings import Gathering, Readings, Tables
from airwnd.study.reproduce.sequential import Decide, confidence_at, undecided
from airwnd.study.runner import Swept, carry_out, tasks_of
from airwnd.study.space import Setting
from airwnd.study.statistics import CONFIDENCE, MIN_SEEDS, Interval, interval
from airwnd.support.errors import InputError


@dataclass(frozen=True, slots=True)
class Effort:
    """Extent of a reproduction: number of seeds and length of runs.

    Attributes
    ----------
    seeds, quick
        Number of seeds, and whether ``--quick`` was given.
    changes
        Changes of the scenario by ``--quick``.
    specified
        Number of seeds specified by the experiment.
    overrides
        Changes of the scenario by ``--set``, as ``KEY=VALUE``; they are not part of the experiment.
    decide
        Seeds are added until the claims are decided; ``None``: all settings have `seeds` seeds.
    """

    seeds: int
    quick: bool
    changes: Mapping[str, Any]
    specified: int
    overrides: tuple[str, ...] = ()
    decide: Decide | None = None

    @property
    def preview(self) -> bool:
        """Whether no verdicts are possible: a quick run, or too few seeds for an interval.

        Runs of full length with fewer seeds than the experiment specifies do give verdicts: their intervals
        are wider, but valid. These verdicts are shown with the number of seeds.
        """
        return self.quick or self.seeds < MIN_SEEDS

    @property
    def full(self) -> bool:
        """Whether the scenario is the experiment's, and runs have full length and all its seeds."""
        return not self.preview and not self.overrides and self.seeds >= self.specified

    @classmethod
    def of(
        cls,
        experiment: Experiment,
        seeds: int | None,
        *,
        quick: bool,
        decide: Decide | None = None,
    ) -> "Effort":
        """Create an effort, with the number of seeds of the experiment unless `seeds` is given.

        Seeds can be added by `decide` to full runs, not to measurements.
        """
        usual = experiment.quick.seeds if quick else experiment.seeds
        if experiment.measured is not None:
            usual = min(usual, experiment.measured.seeds)
        return cls(
            seeds=usual if seeds is None else seeds,
            decide=None if quick or experiment.measured is not None else decide,
            quick=quick,
            changes=experiment.quick.changes if quick else {},
            specified=experiment.seeds,
            overrides=tuple(f"{key}={value}" for key, value in experiment.overrides),
        )


@dataclass(frozen=True)
class Results:
    """Results of an experiment.

    Attributes
    ----------
    readings
        Readings from the runs of each setting and seed.
    swept
        The runs; ``None``: the experiment is measured.
    jobs
        Number of concurrent runs; ``None``: unknown.
    """

    experiment: Experiment
    effort: Effort
    readings: Readings
    swept: Swept | None
    jobs: int | None

    def __repr__(self) -> str:
        return f"<Results of {self.experiment.name}: {self.runs} runs with {self.effort.seeds} seeds>"

    @property
    def runs(self) -> int:
        """Number of runs or measurements; settings with the same scenario share their runs."""
        if self.swept:
            return self.swept.fresh + self.swept.reused
        measured = self.experiment.measured
        return measured.values.filter(measured.values["seed"] <= self.effort.seeds).height if measured else 0

    def values(self, setting: Setting, measure: Measure) -> list[float]:
        """Return the value of a measure for each seed."""
        return self.readings.of(setting, measure.name).to_list()

    def estimate(self, setting: Setting, measure: Measure) -> Interval:
        """Return the mean over the seeds with its confidence interval."""
        return interval(self.values(setting, measure), measure.bounds)

    def paper(self, setting: Setting, measure: Measure) -> float | None:
        """Return the paper's number; ``None``: its table does not have it."""
        return self.experiment.paper_value(setting, measure.name)

    @cached_property
    def max_seeds(self) -> int:
        """The largest number of seeds of a setting."""
        return max(map(int, self.readings.values["seed"].unique()), default=self.effort.seeds)

    def claims(self) -> list[ClaimResult]:
        """Judge the paper's claims."""
        return self._judged

    @cached_property
    def _judged(self) -> list[ClaimResult]:
        setting = self.experiment.setting

        @cache
        def read(setting: Setting, measure: str) -> Values:
            return self.readings.of(setting, measure).to_numpy()

        def ours(levels: Mapping[str, str], measure: str) -> Values:
            return read(setting(levels), measure)

        def paper(levels: Mapping[str, str], measure: str) -> Values:
            printed = self.experiment.paper_value(setting(levels), measure)
            if printed is None:
                raise KeyError(measure)
            return np.array([printed])

        def level(seeds: int) -> float:
            return CONFIDENCE if self.effort.decide is None else confidence_at(seeds, self.effort.seeds)

        preview = self.effort.preview
        return [
            judge(claim, ours, paper, preview=preview, confidence=level) for claim in self.experiment.claims
        ]


MAX_RUNS = 1_000_000


def check(experiment: Experiment, effort: Effort) -> int:
    """Check, before the first run, that an experiment can be run; return its number of runs, 0 if measured.

    Settings with the same scenario share their runs; seeds that are added later do not count.

    Raises
    ------
    InputError
        If there are more than `MAX_RUNS` runs, or the scenario of a setting is invalid, or ``--set`` changes
        no run, or nothing has been measured for an experiment with measurements, or Matplotlib is missing.
    """
    style.require()
    if experiment.measured is not None and experiment.measured.seeds < effort.seeds:
        raise InputError(
            f"{experiment.name}: {MEASURED_FILE} has {experiment.measured.seeds} of {effort.seeds} seeds"
        )
    if effort.seeds == 0:
        raise InputError(f"{experiment.name}: nothing has been measured; {MEASURED_FILE} is missing or empty")
    settings = sum(1 for _ in experiment.settings())
    if settings * effort.seeds > MAX_RUNS:
        raise InputError(
            f"{experiment.name}: {settings} settings of {effort.seeds} seeds each are over {MAX_RUNS} runs"
        )
    scenarios = experiment.scenarios(effort.changes)
    if experiment.overrides:
        named = f"{experiment.name}: --set {' --set '.join(effort.overrides)}"
        if experiment.measured is not None:
            raise InputError(f"{named}: the experiment is measured, not simulated")
        if scenarios == replace(experiment, overrides=()).scenarios(effort.changes):
            raise InputError(f"{named}: changes no run; the axes set the key, or it has this value")
    return 0 if experiment.measured is not None else len({*scenarios.values()}) * effort.seeds


def reproduce(  # noqa: PLR0913
    experiment: Experiment,
    effort: Effort,
    folder: Path,
    workers: Workers,
    progress: Progress | None = None,
    *,
    force: bool = True,
) -> Results:
    """Execute the missing runs, write the data set, and read the measures; measurements are only read.

    With `effort.decide`, the settings that open claims need next (:func:`undecided`) get twice as many seeds,
    again and again, until these claims are decided, or the seeds or the time are used up.

    Parameters
    ----------
    experiment
        Experiment to run.
    effort
        Number of seeds, and whether runs are shortened.
    folder
        Folder of the data set, with the finished runs in its folder ``runs``.
    workers
        Workers that execute the runs.
    progress
        Called periodically with the finished fraction of the missing runs, of each look.
    force
        Use a folder that holds other data, such as those of another version of the experiment.
    """
    if experiment.measured is not None:
        return _measured(experiment, experiment.measured, effort)
    base = experiment.base(effort.changes)
    design = replace(experiment, scenario=base, overrides=(), seeds=effort.seeds)
    tasks = tasks_of(design)
    reading = _Reading(experiment, effort, workers.jobs)
    folder.mkdir(parents=True, exist_ok=True)
    swept = carry_out(design, tasks, folder, workers, progress, reader=reading, force=force)
    return reading.results(swept)


class _Reading:
    """Reads the measures of runs, and requests the seeds that open claims need."""

    def __init__(self, experiment: Experiment, effort: Effort, jobs: int | None) -> None:
        self._experiment = experiment
        self._effort = effort
        self._jobs = jobs
        self._gathering = Gathering(experiment)
        self._latest: tuple[Stored, Tables] | None = None
        self._found: Results | None = None

    def add(self, setting: Setting, seed: int, run: Stored) -> None:
        """Read a run of a setting; settings that share a run share its tables."""
        if self._latest is None or self._latest[0] is not run:
            self._latest = run, Tables(run)
        self._gathering.add(setting, seed, self._latest[1])

    def results(self, swept: Swept) -> Results:
        """Return the results of all runs so far."""
        if self._found is None or self._found.swept is not swept:
            self._found = Results(
                experiment=self._experiment,
                effort=self._effort,
                readings=self._gathering.readings(),
                swept=swept,
                jobs=self._jobs,
            )
        return self._found

    def further(self, swept: Swept) -> Mapping[Setting, int]:
        """Return the number of seeds of the settings that open claims need; empty: none, or the end."""
        decide = self._effort.decide
        if decide is None or swept.elapsed_s > decide.budget_s:
            return {}
        still_open = undecided(self.results(swept).claims(), decide)
        runs = dict(zip((task.key for task in swept.tasks.values()), swept.seeds, strict=True))
        needed: dict[Setting, int] = {}
        for each in still_open.values():
            for levels, seeds in each.measures:
                setting = self._experiment.setting(levels)
                needed[setting] = max(needed.get(setting, 0), decide.after(seeds) or 0)
                key = swept.tasks[setting].key
                runs[key] = max(runs[key], needed[setting])
        before = swept.fresh + swept.reused
        if sum(runs.values()) == before or sum(runs.values()) > MAX_RUNS:
            return {}
        if decide.on_look:
            decide.on_look(still_open, sum(runs.values()) - before, max(runs.values()))
        return needed


def _measured(experiment: Experiment, measured: Measured, effort: Effort) -> Results:
    """Read the measurements; those that are missing are undefined."""
    import polars as pl

    axes = tuple(axis.name for axis in experiment.axes)
    keys = {name: measured.values.schema[name] for name in (*axes, "seed")}
    wanted = [(*setting, seed) for setting in experiment.settings() for seed in range(1, effort.seeds + 1)]
    every = pl.DataFrame(wanted, schema=keys, orient="row")
    values = every.join(measured.values, on=list(keys), how="left", maintain_order="left")
    names = [measure.name for measure in experiment.measures]
    return Results(
        experiment=experiment,
        effort=effort,
        readings=Readings(axes, values.with_columns(pl.col(names).fill_null(math.nan)), {}),
        swept=None,
        jobs=None,
    )
