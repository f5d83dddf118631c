"""Execution of a study, from checking all settings to writing the data set."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import msgspec

from airwnd.study.batch import Processes, Results, Store, Stored, Task, Workers
from airwnd.study.batch import carry_out as carry_out_tasks
from airwnd.study.batch.carry import Progress
from airwnd.study.design import Design
from airwnd.study.space import Setting
from airwnd.support.files import check_folder, remove_partial_files
from airwnd.support.locks import locked
from airwnd.text.quantities import counted


@dataclass(frozen=True, slots=True)
class Swept:
    """Runs of a study.

    Attributes
    ----------
    store
        The finished runs.
    tasks
        The run of each setting with seed 1.
    seeds
        Number of seeds of each setting, in the order of the settings.
    fresh, reused
        Number of runs executed by this call, and of those finished earlier. Settings with the same scenario
        share their runs.
    fresh_s, simulation_s
        Total wall-clock time of the fresh runs, and of all, in seconds.
    elapsed_s
        Wall-clock time of the execution, in seconds.
    seeds_alike
        Whether there are several seeds and the flows of each setting are equal for all of them.
    has_series
        Whether the runs have time series.
    """

    store: Store
    tasks: Mapping[Setting, Task]
    seeds: Sequence[int]
    fresh: int
    reused: int
    fresh_s: float
    simulation_s: float
    elapsed_s: float
    seeds_alike: bool
    has_series: bool

    def __len__(self) -> int:
        """Return the number of runs, of each setting with each seed."""
        return sum(self.seeds)

    def runs(self) -> Results:
        """Return the runs, in the order of settings and seeds; each is read on access."""
        tasks = [
            replace(task, seed=seed)
            for task, seeds in zip(self.tasks.values(), self.seeds, strict=True)
            for seed in range(1, seeds + 1)
        ]
        return Results(tasks, self.store, self.fresh, self.reused, self.fresh_s, self.elapsed_s)

    def __repr__(self) -> str:
        settings, runs = counted(len(self.tasks), "setting"), counted(len(self), "run")
        return f"<Swept: {settings}, {runs} in {self.store.folder}>"


class Reader(Protocol):
    """Reads the runs of a study, and may request more seeds."""

    def add(self, setting: Setting, seed: int, run: Stored) -> None:
        """Read a run of a setting."""

    def further(self, swept: Swept) -> Mapping[Setting, int]:
        """Return the number of seeds that settings need beyond those that they have; empty: none."""


@contextmanager
def reserved(out: Path) -> Iterator[None]:
    """Check and lock the folder of a study, and remove what an interrupted writer has left."""
    check_folder(out)
    with locked(out):
        remove_partial_files(out)
        yield


def sweep(
    design: Design,
    out: Path,
    workers: Workers | None = None,
    progress: Callable[[float], object] | None = None,
    *,
    force: bool = False,
) -> Swept:
    """Execute the missing runs and write the data set; arguments as for :func:`airwnd.sweep`."""
    # All scenarios are checked before the first run: an error in the last setting must be reported at once.
    tasks = tasks_of(design)
    with reserved(out):
        return carry_out(design, tasks, out, workers or Processes(), progress, force=force)


def tasks_of(design: Design) -> dict[Setting, Task]:
    """Return the run of each setting with seed 1; an error in any of them is raised."""
    return {setting: design.task(setting) for setting in design.settings()}


def carry_out(  # noqa: PLR0913
    design: Design,
    tasks: Mapping[Setting, Task],
    out: Path,
    workers: Workers,
    progress: Progress | None = None,
    *,
    reader: Reader | None = None,
    force: bool = False,
) -> Swept:
    """Execute the missing runs of a study and write its data set.

    Parameters
    ----------
    design, tasks
        The study, and the run of each setting with seed 1.
    out
        Folder of the data set, which the caller has :func:`reserved`. Each run is stored in its folder
        ``runs`` as soon as it is finished.
    workers
        Workers that execute the runs.
    progress
        Called periodically with the finished fraction of the missing runs, of each look.
    reader
        Receives each run; as long as it requests further seeds, these are executed, too.
    force
        Use a folder that holds other data; its tables are replaced.
    """
    from airwnd.study.dataset import DataSet, Tables

    store = Store(out / "runs")
    data_set = DataSet(out, design)
    data_set.claim(force=force)
    tables = Tables(design, list(tasks))
    places = {setting: place for place, setting in enumerate(tasks)}
    alike: dict[str, tuple[Task, list[Setting]]] = {}
    for setting, task in tasks.items():
        alike.setdefault(task.key, (task, []))[1].append(setting)
    seeds, read = dict.fromkeys(alike, design.seeds), dict.fromkeys(alike, 0)
    keys = {setting: key for key, (_, settings) in alike.items() for setting in settings}
    same = _SameSeeds()
    fresh, reused, fresh_s, simulation_s, elapsed_s = 0, 0, 0.0, 0.0, 0.0
    while True:
        # Ordered by seed, so that an interrupted study has results for every setting.
        wanted = [
            (key, seed)
            for seed in range(1, max(seeds.values()) + 1)
            for key in alike
            if read[key] < seed <= seeds[key]
        ]
        batch = [replace(alike[key][0], seed=seed) for key, seed in wanted]
        results = carry_out_tasks(batch, store, workers, progress)
        for (key, seed), run in zip(wanted, results, strict=True):
            simulation_s += run.wall_s
            same.add(key, run)
            for setting in alike[key][1]:
                tables.add(places[setting], seed, run)
                if reader is not None:
                    reader.add(setting, seed, run)
        read = dict(seeds)
        fresh, reused = fresh + results.fresh, reused + results.reused
        fresh_s, elapsed_s = fresh_s + results.simulation_s, elapsed_s + results.elapsed_s
        swept = Swept(
            store=store,
            tasks=tasks,
            seeds=[seeds[keys[setting]] for setting in tasks],
            fresh=fresh,
            reused=reused,
            fresh_s=fresh_s,
            simulation_s=simulation_s,
            elapsed_s=elapsed_s,
            seeds_alike=same.found and max(seeds.values()) > 1,
            has_series=design.series is not None,
        )
        for setting, number in (reader.further(swept) if reader else {}).items():
            seeds[keys[setting]] = max(seeds[keys[setting]], number)
        if seeds == read:
            data_set.write(tables.files())
            return swept


class _SameSeeds:
    """Whether the flows of each setting are equal for all seeds, as far as runs have been added."""

    def __init__(self) -> None:
        self.found = True
        self._first: dict[str, int] = {}

    def add(self, key: str, run: Stored) -> None:
        """Compare a run with the first of its setting."""
        if self.found:
            flows = hash(msgspec.json.encode(run.outcome["flows"]))
            self.found = self._first.setdefault(key, flows) == flows
