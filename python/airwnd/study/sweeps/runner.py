"""Execution of a sweep, from checking all settings to writing the data set."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from airwnd.study.batch import Processes, Results, Store, Workers
from airwnd.study.batch import carry_out as carry_out_tasks
from airwnd.study.sweeps.dataset import DataSet
from airwnd.study.sweeps.design import Design
from airwnd.support.files import check_folder, remove_partial_files
from airwnd.support.locks import locked
from airwnd.text.quantities import counted


@dataclass(frozen=True, slots=True)
class Swept:
    """Result of a sweep.

    Attributes
    ----------
    settings
        Number of settings.
    results
        A run for each setting and seed.
    seeds_alike
        Whether there are several seeds and the flows of each setting are equal for all of them.
    has_series
        Whether the runs have time series.
    """

    settings: int
    results: Results
    seeds_alike: bool
    has_series: bool

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
    """Execute the missing runs and write the data set; arguments as for :func:`airwnd.sweep`."""
    settings = list(design.settings())
    # All scenarios are checked before the first run: an error in the last setting must be reported at once.
    first = [design.task(setting, 1) for setting in settings]
    # Ordered by seed, so that an interrupted sweep has results for every setting.
    tasks = [replace(task, seed=seed) for seed in range(1, design.seeds + 1) for task in first]
    check_folder(out)
    with locked(out):
        remove_partial_files(out)
        data_set = DataSet(out, design)
        data_set.claim(force=force)
        results = carry_out_tasks(tasks, Store(out / "runs"), workers or Processes(), progress)
        from airwnd.study.sweeps.tables import tables

        data_set.write(tables(design, settings, results))
    alike = design.seeds > 1 and _seeds_alike(results, len(settings))
    return Swept(len(settings), results, seeds_alike=alike, has_series=design.series is not None)


def _seeds_alike(results: Results, settings: int) -> bool:
    """Return whether all seeds give the flows of the first seed; stops at the first difference."""
    return all(
        results[place].outcome["flows"] == results[place % settings].outcome["flows"]
        for place in range(settings, len(results))
    )
