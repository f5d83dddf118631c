"""Runs an experiment: settings x seeds in parallel, skipping what is already done."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self

from airwnd.errors import InputError
from airwnd.parallel import Progress, cores, side_by_side
from airwnd.reproduce.cache import Cache, Stored
from airwnd.reproduce.claims import ClaimResult, judge
from airwnd.reproduce.design import Experiment, Setting
from airwnd.reproduce.expression import Lookup
from airwnd.reproduce.measure import Measure
from airwnd.reproduce.paper import FILE as PAPER_FILE
from airwnd.reproduce.paper import Paper
from airwnd.reproduce.plot import Samples
from airwnd.reproduce.statistics import Interval, interval
from airwnd.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Effort:
    """What a reproduction costs.

    Attributes
    ----------
    seeds, quick
        How it was asked for.
    jobs
        Runs at the same time.
    changes
        What ``--quick`` set.
    """

    seeds: int
    jobs: int
    quick: bool
    changes: Mapping[str, Any]

    @classmethod
    def of(cls, experiment: Experiment, seeds: int | None, jobs: int | None, *, quick: bool) -> "Effort":
        """Fill in what was not asked for from the experiment."""
        usual = experiment.quick.seeds if quick else experiment.seeds
        return cls(
            seeds=usual if seeds is None else seeds,
            jobs=jobs or cores(),
            quick=quick,
            changes=experiment.quick.changes if quick else {},
        )


@dataclass(frozen=True, slots=True)
class Reading:
    """What an experiment keeps of a run.

    Attributes
    ----------
    values
        The measures by name.
    samples
        What a plot draws of the run itself, by the plot's name: times in seconds (of a plot over time) and
        values.
    """

    values: Mapping[str, float]
    samples: Mapping[str, tuple[Sequence[float], Sequence[float | None]]]

    @classmethod
    def of(cls, experiment: Experiment, setting: Setting, seed: int, run: Stored) -> Self:
        """Read a run of a setting; a plot over time draws the first seed only."""
        rows = experiment.rows(setting)
        samples: dict[str, tuple[Sequence[float], Sequence[float | None]]] = {}
        for plot in experiment.plots:
            if not isinstance(plot.contents, Samples):
                continue
            selection = plot.contents.selection.among(rows)
            if plot.kind == "distribution":
                samples[plot.name] = ((), selection.values(run).tolist())
            elif seed == 1:
                samples[plot.name] = selection.samples(run)
        values = {measure.name: measure.read(run, rows) for measure in experiment.measures}
        return cls(values, samples)


@dataclass(frozen=True)
class Results:
    """What an experiment gave.

    Attributes
    ----------
    readings
        A reading per seed, by setting.
    runs
        How many runs they are of: settings times seeds, but settings with the same scenario share theirs.
    simulation_s
        Wall-clock time of all runs added up, whenever they were made.
    elapsed_s
        Wall-clock time of this call.
    reused
        How many runs were found finished.
    """

    experiment: Experiment
    effort: Effort
    readings: Mapping[Setting, Sequence[Reading]]
    runs: int
    simulation_s: float
    elapsed_s: float
    reused: int

    def values(self, setting: Setting, measure: Measure) -> list[float]:
        """Give a measure's value per seed."""
        return [reading.values[measure.name] for reading in self.readings[setting]]

    def estimate(self, setting: Setting, measure: Measure) -> Interval:
        """Give the mean over the seeds with its confidence interval."""
        return interval(self.values(setting, measure))

    def paper(self, setting: Setting, measure: Measure) -> float | None:
        """Give the paper's number, if its table has it."""
        return self.experiment.paper_values.get(setting, {}).get(measure.name)

    def claims(self) -> list[ClaimResult]:
        """Judge the paper's claims."""
        setting, table = self.experiment.setting, self.experiment.paper_values

        def lookup(index: int) -> Lookup:
            return lambda levels, measure: self.readings[setting(levels)][index].values[measure]

        by_seed = [lookup(index) for index in range(self.effort.seeds)]
        return [
            judge(claim, by_seed, lambda levels, measure: table[setting(levels)][measure])
            for claim in self.experiment.claims
        ]


def find(name: str) -> list[Path]:
    """Find experiment folders: a path, ``PAPER/FIGURE``, or ``PAPER`` for all of its figures.

    They are looked for in ``experiments`` of this folder, of those above it, and of the installed package.
    """
    roots = _roots()
    for folder in (Path(name), *(root / name for root in roots)):
        if (folder / "experiment.toml").is_file():
            return [folder]
        figures = sorted(path.parent for path in folder.glob("*/experiment.toml"))
        if figures and folder not in roots:
            return figures
    known = ", ".join(f"{folder.parent.name}/{folder.name}" for folder in find_all())
    raise InputError(f"no experiment `{name}`; there are {known or 'none here'}")


def find_all() -> list[Path]:
    """Find all experiment folders; of those with the same name the nearest."""
    nearest: dict[tuple[str, str], Path] = {}
    for root in _roots():
        for path in sorted(root.glob("*/*/experiment.toml")):
            nearest.setdefault((path.parts[-3], path.parts[-2]), path.parent)
    return [nearest[name] for name in sorted(nearest)]


def papers() -> list[Paper]:
    """Read all papers, whether they have experiments or not."""
    nearest: dict[str, Path] = {}
    for root in _roots():
        for path in root.glob(f"*/{PAPER_FILE}"):
            nearest.setdefault(path.parent.name, path.parent)
    return [Paper.load(nearest[key]) for key in sorted(nearest)]


def _roots() -> list[Path]:
    here = Path.cwd()
    return [
        *(folder / "experiments" for folder in (here, *here.parents)),
        Path(__file__).parent.parent / "experiments",
    ]


def reproduce(
    experiment: Experiment,
    effort: Effort,
    out: Path,
    progress: Progress | None = None,
) -> Results:
    """Run what is not yet done and gather the measures.

    Parameters
    ----------
    experiment
        What to run.
    effort
        Seeds 1, 2, ... up to its number, and jobs.
    out
        Finished runs are kept in its folder ``runs``, each as soon as it is finished.
    progress
        Told now and then the finished fraction of the outstanding runs.
    """
    start = time.perf_counter()
    cache = Cache(out / "runs", experiment.series)
    scenarios = experiment.scenarios(effort.changes)
    seeds = range(1, effort.seeds + 1)
    # Seed by seed: an interrupted reproduction has whole tables for the first seeds.
    tasks = [(scenario, seed) for seed in seeds for scenario in dict.fromkeys(scenarios.values())]
    found = {task: cache.get(*task) for task in tasks}
    stored = {task: run for task, run in found.items() if run}
    reused = len(stored)
    missing = [task for task in tasks if task not in stored]
    calls = [partial(_run, cache, *task) for task in missing]
    stored.update(zip(missing, side_by_side(calls, effort.jobs, progress), strict=True))
    return Results(
        experiment=experiment,
        effort=effort,
        readings={
            setting: [Reading.of(experiment, setting, seed, stored[scenario, seed]) for seed in seeds]
            for setting, scenario in scenarios.items()
        },
        runs=len(stored),
        simulation_s=sum(run.wall_s for run in stored.values()),
        elapsed_s=time.perf_counter() - start,
        reused=reused,
    )


def _run(cache: Cache, scenario: Scenario, seed: int, tell: Progress) -> Stored:
    return cache.put(scenario, scenario.run(seed, cache.series, tell))
