"""Carries out a sweep, from the check of every setting to the data set."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from airwnd.batch import Processes, Results, Store, Task, Workers
from airwnd.batch import carry_out as carry_out_tasks
from airwnd.files import check_folder, remove_partial_files
from airwnd.locks import locked
from airwnd.sweeps.dataset import DataSet
from airwnd.sweeps.design import Design
from airwnd.text import counted


@dataclass(frozen=True, slots=True)
class Swept:
    """What a sweep came to.

    Attributes
    ----------
    settings
        How many there are.
    results
        A run for each setting and seed.
    seeds_alike
        Whether there are several seeds and each setting has the same flows with all of them.
    """

    settings: int
    results: Results
    seeds_alike: bool

    def __repr__(self) -> str:
        settings, runs = counted(self.settings, "setting"), counted(len(self.results), "run")
        return f"<Swept: {settings}, {runs} in {self.results.store.folder}>"


def carry_out(
    design: Design,
    out: Path,
    workers: Workers | None = None,
    progress: Callable[[float], object] | None = None,
    *,
    force: bool = False,
) -> Swept:
    """Run what is not yet done, and write the data set; arguments as for :func:`airwnd.sweep`."""
    settings = list(design.settings())
    # All of them before anything runs: a mistake in the last setting is told at once.
    scenarios = [design.scenario_for(setting) for setting in settings]
    # Seed by seed: an interrupted sweep has something for every setting.
    tasks = [Task(scenario, seed) for seed in range(1, design.seeds + 1) for scenario in scenarios]
    check_folder(out)
    with locked(out):
        remove_partial_files(out)
        data_set = DataSet(out, design)
        data_set.claim(force=force)
        results = carry_out_tasks(tasks, Store(out / "runs"), workers or Processes(), progress)
        from airwnd.sweeps.tables import tables

        data_set.write(tables(design, settings, results))
    return Swept(len(settings), results, design.seeds > 1 and _seeds_alike(results, len(settings)))


def _seeds_alike(results: Results, settings: int) -> bool:
    """Whether every seed has the flows of the first; stops at the first difference."""
    return all(
        results[place].outcome["flows"] == results[place % settings].outcome["flows"]
        for place in range(settings, len(results))
    )
