"""Runs an experiment: settings x seeds in parallel, skipping what is already done."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from airwnd.batch import Store, Task, Workers, carry_out
from airwnd.batch.carry import Progress
from airwnd.errors import InputError
from airwnd.reproduce.claims import ClaimResult, judge
from airwnd.reproduce.design import Experiment
from airwnd.reproduce.expression import Values
from airwnd.reproduce.measure import Measure
from airwnd.reproduce.paper import FILE as PAPER_FILE
from airwnd.reproduce.paper import Paper
from airwnd.reproduce.readings import Gathering, Readings, Tables
from airwnd.reproduce.space import Setting
from airwnd.reproduce.statistics import LEAST_SEEDS, Interval, interval

if TYPE_CHECKING:
    from airwnd.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Effort:
    """What a reproduction costs.

    Attributes
    ----------
    seeds, quick
        How it was asked for.
    changes
        What ``--quick`` set.
    asked
        The seeds that the experiment asks for.
    """

    seeds: int
    quick: bool
    changes: Mapping[str, Any]
    asked: int

    @property
    def preview(self) -> bool:
        """Whether it decides nothing: a quick run, or one of too few seeds for an interval.

        Runs of full length with fewer seeds than the experiment asks for do decide: their intervals are
        wider, and just as honest. Their verdicts are shown with the number of seeds.
        """
        return self.quick or self.seeds < LEAST_SEEDS

    @property
    def full(self) -> bool:
        """Whether it is all that the experiment asks for."""
        return not self.preview and self.seeds >= self.asked

    @classmethod
    def of(cls, experiment: Experiment, seeds: int | None, *, quick: bool) -> "Effort":
        """Fill in what was not asked for from the experiment."""
        usual = experiment.quick.seeds if quick else experiment.seeds
        return cls(
            seeds=usual if seeds is None else seeds,
            quick=quick,
            changes=experiment.quick.changes if quick else {},
            asked=experiment.seeds,
        )


@dataclass(frozen=True)
class Results:
    """What an experiment gave.

    Attributes
    ----------
    readings
        What was read from the runs of each setting and seed.
    runs
        How many runs they are of: settings times seeds, but settings with the same scenario share theirs.
    simulation_s
        Wall-clock time of all runs added up, whenever they were made.
    elapsed_s
        Wall-clock time of this call.
    reused
        How many runs were found finished.
    jobs
        Runs at the same time, where that is known.
    """

    experiment: Experiment
    effort: Effort
    readings: Readings
    runs: int
    simulation_s: float
    elapsed_s: float
    reused: int
    jobs: int | None

    def __repr__(self) -> str:
        return f"<Results of {self.experiment.name}: {self.runs} runs with {self.effort.seeds} seeds>"

    def values(self, setting: Setting, measure: Measure) -> list[float]:
        """Return a measure's value per seed."""
        return self.readings.of(setting, measure.name).to_list()

    def estimate(self, setting: Setting, measure: Measure) -> Interval:
        """Return the mean over the seeds with its confidence interval."""
        return interval(self.values(setting, measure), measure.bounds)

    def paper(self, setting: Setting, measure: Measure) -> float | None:
        """Return the paper's number, if its table has it."""
        return self.experiment.paper_value(setting, measure.name)

    def claims(self) -> list[ClaimResult]:
        """Judge the paper's claims."""
        return self._judged

    @cached_property
    def _judged(self) -> list[ClaimResult]:
        setting = self.experiment.setting

        def ours(levels: Mapping[str, str], measure: str) -> Values:
            return self.readings.of(setting(levels), measure).to_numpy()

        def paper(levels: Mapping[str, str], measure: str) -> Values:
            printed = self.experiment.paper_value(setting(levels), measure)
            if printed is None:
                raise KeyError(measure)
            return np.array([printed])

        preview = self.effort.preview
        return [judge(claim, ours, paper, preview=preview) for claim in self.experiment.claims]


MOST_RUNS = 1_000_000


def check(experiment: Experiment, effort: Effort) -> None:
    """Refuse what cannot be run, before the first run.

    Raises
    ------
    InputError
        If there are more than `MOST_RUNS`, or a setting's scenario is wrong.
    """
    settings = sum(1 for _ in experiment.settings())
    if settings * effort.seeds > MOST_RUNS:
        raise InputError(
            f"{experiment.name}: {settings} settings of {effort.seeds} seeds each are over {MOST_RUNS} runs"
        )
    experiment.scenarios(effort.changes)


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
    folder: Path,
    workers: Workers,
    progress: Progress | None = None,
) -> Results:
    """Run what is not yet done and gather the measures.

    Parameters
    ----------
    experiment
        What to run.
    effort
        Seeds 1, 2, ... up to its number, and whether in short.
    folder
        Finished runs are kept in its folder ``runs``, each as soon as it is finished.
    workers
        Who runs.
    progress
        Told now and then the finished fraction of the outstanding runs.
    """
    alike: dict[Scenario, list[Setting]] = {}
    for setting, scenario in experiment.scenarios(effort.changes).items():
        alike.setdefault(scenario, []).append(setting)
    # Seed by seed: an interrupted reproduction has whole tables for the first seeds.
    seeds = range(1, effort.seeds + 1)
    tasks = [Task(scenario, seed, experiment.series) for seed in seeds for scenario in alike]
    runs = carry_out(tasks, Store(folder / "runs"), workers, progress)
    gathering = Gathering(experiment)
    simulation_s = 0.0
    for task, run in zip(tasks, runs, strict=True):
        simulation_s += run.wall_s
        tables = Tables(run)
        for setting in alike[task.scenario]:
            gathering.add(setting, task.seed, tables)
    return Results(
        experiment=experiment,
        effort=effort,
        readings=gathering.readings(),
        runs=len(tasks),
        simulation_s=simulation_s,
        elapsed_s=runs.elapsed_s,
        reused=runs.reused,
        jobs=workers.jobs,
    )
