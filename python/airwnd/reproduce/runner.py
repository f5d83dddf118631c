"""Runs an experiment: settings x seeds in parallel, skipping what is already done."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from airwnd.errors import InputError
from airwnd.parallel import Progress, cores, side_by_side
from airwnd.reproduce.cache import Cache, Stored
from airwnd.reproduce.claims import ClaimResult, judge
from airwnd.reproduce.design import Experiment, Measure, Setting
from airwnd.reproduce.expression import Lookup
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


@dataclass(frozen=True)
class Results:
    """What an experiment gave.

    Attributes
    ----------
    values
        A value per seed, by setting and measure.
    simulation_s
        Wall-clock time of all runs added up, whenever they were made.
    elapsed_s
        Wall-clock time of this call.
    reused
        How many runs were found finished.
    """

    experiment: Experiment
    effort: Effort
    values: Mapping[Setting, Mapping[str, Sequence[float]]]
    simulation_s: float
    elapsed_s: float
    reused: int

    @property
    def runs(self) -> int:
        """Settings times seeds."""
        return len(self.values) * self.effort.seeds

    def estimate(self, setting: Setting, measure: Measure) -> Interval:
        """Give the mean over the seeds with its confidence interval."""
        return interval(self.values[setting][measure.name])

    def paper(self, setting: Setting, measure: Measure) -> float | None:
        """Give the paper's number, if its table has it."""
        return self.experiment.paper_values.get(setting, {}).get(measure.name)

    def claims(self) -> list[ClaimResult]:
        """Judge the paper's claims."""
        order = [axis.name for axis in self.experiment.axes]

        def setting(levels: Mapping[str, str]) -> Setting:
            return tuple(levels[axis] for axis in order)

        def lookup(index: int) -> Lookup:
            return lambda levels, measure: self.values[setting(levels)][measure][index]

        by_seed = [lookup(index) for index in range(self.effort.seeds)]
        table = self.experiment.paper_values
        return [
            judge(claim, by_seed, lambda levels, measure: table[setting(levels)][measure])
            for claim in self.experiment.claims
        ]


def find(name: str) -> list[Path]:
    """Find experiment folders: a path, ``PAPER/FIGURE``, or ``PAPER`` for all of its figures.

    They are looked for in ``experiments`` of this folder, of those above it, and of the installed package.
    """
    here = Path.cwd()
    roots = [folder / "experiments" for folder in (here, *here.parents)]
    roots.append(Path(__file__).parent.parent / "experiments")
    for folder in (Path(name), *(root / name for root in roots)):
        if (folder / "experiment.toml").is_file():
            return [folder]
        figures = sorted(path.parent for path in folder.glob("*/experiment.toml"))
        if figures and folder not in roots:
            return figures
    known = sorted(
        {f"{p.parent.parent.name}/{p.parent.name}" for r in roots for p in r.glob("*/*/experiment.toml")}
    )
    raise InputError(f"no experiment `{name}`; there are {', '.join(known) or 'none here'}")


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
    cache = Cache(out / "runs")
    scenarios = {
        setting: experiment.scenario_for(setting, effort.changes) for setting in experiment.settings()
    }
    # Seed by seed: an interrupted reproduction has whole tables for the first seeds.
    tasks = [(setting, seed) for seed in range(1, effort.seeds + 1) for setting in scenarios]
    stored = {task: cache.get(scenarios[task[0]], task[1]) for task in tasks}
    missing = [task for task in tasks if stored[task] is None]
    calls = [partial(_run, cache, scenarios[setting], seed) for setting, seed in missing]
    stored.update(zip(missing, side_by_side(calls, effort.jobs, progress), strict=True))
    runs = {task: run for task, run in stored.items() if run}
    return Results(
        experiment=experiment,
        effort=effort,
        values={
            setting: {
                measure.name: tuple(
                    measure.read(runs[setting, seed].outcome) for seed in range(1, effort.seeds + 1)
                )
                for measure in experiment.measures
            }
            for setting in scenarios
        },
        simulation_s=sum(run.wall_s for run in runs.values()),
        elapsed_s=time.perf_counter() - start,
        reused=len(tasks) - len(missing),
    )


def _run(cache: Cache, scenario: Scenario, seed: int, tell: Progress) -> Stored:
    return cache.put(scenario, scenario.run(seed, progress=tell))
