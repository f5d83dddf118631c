"""Carries out tasks: finished ones are looked up, the others are run and stored one by one."""

import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, overload

from airwnd.batch.store import DamageError, Store, Stored
from airwnd.batch.task import Finished, Task
from airwnd.batch.workers import Workers
from airwnd.errors import InputError
from airwnd.interrupts import kept_interrupts
from airwnd.text import counted

if TYPE_CHECKING:
    from pathlib import Path

Progress = Callable[[float], object]

_TELLING_S = 0.1


@dataclass(frozen=True)
class Results(Sequence[Stored]):
    """The runs in the order of their tasks; each is read from the store when it is looked at.

    Attributes
    ----------
    tasks, store
        What was to be done, and where it is kept.
    fresh
        How many runs were made now; the same task is run once.
    reused
        How many had been finished earlier.
    simulation_s
        Wall-clock time of the runs made now, added up.
    elapsed_s
        Wall-clock time from the first to the last of them.
    """

    tasks: Sequence[Task]
    store: Store
    fresh: int
    reused: int
    simulation_s: float
    elapsed_s: float

    def __len__(self) -> int:
        return len(self.tasks)

    def __repr__(self) -> str:
        runs = counted(len(self), "run")
        return f"<Results of {runs} in {self.store.folder}: {self.fresh} fresh, {self.reused} reused>"

    @overload
    def __getitem__(self, index: int) -> Stored: ...

    @overload
    def __getitem__(self, index: slice) -> list[Stored]: ...

    def __getitem__(self, index: int | slice) -> Stored | list[Stored]:
        if isinstance(index, slice):
            return [self._read(task) for task in self.tasks[index]]
        return self._read(self.tasks[index])

    def __iter__(self) -> Iterator[Stored]:
        return map(self._read, self.tasks)

    def _read(self, task: Task) -> Stored:
        stored = self.store.get(task)
        if stored is None:
            raise InputError(
                f"{self.store.folder}: the finished run of {task} has been removed or changed meanwhile"
            )
        return stored


def carry_out(
    tasks: Sequence[Task], store: Store, workers: Workers, progress: Progress | None = None
) -> Results:
    """Make the runs that the store does not have; each is stored as soon as it is finished.

    A stored run that does not match its digests is made again, and a warning says so. The first exception of
    a run, in the order of the tasks, is raised when all others are finished.

    Parameters
    ----------
    tasks
        What to run; the same task is run once however often it is there.
    store
        Where finished runs are looked up and kept.
    workers
        Who runs: :class:`Processes` or :class:`Dask`.
    progress
        Told now and then the finished fraction, 0 to 1, of the runs to be made.
    """
    unique = {task.key: task for task in tasks}
    missing = _missing(unique.values(), store)
    reused = len(unique) - len(missing)
    for task in missing:
        task.scenario.check_code()
    start = time.perf_counter()
    with kept_interrupts() as check:
        ledger = _Ledger(missing, store, progress, check)
        if missing:
            store.prepare()
            workers.carry_out(missing, ledger)
    elapsed_s = time.perf_counter() - start
    if progress:
        progress(1.0)
    if ledger.failures:
        raise ledger.failures[min(ledger.failures)]
    return Results(tasks, store, len(missing), reused, ledger.simulation_s, elapsed_s)


def _missing(tasks: Iterable[Task], store: Store) -> list[Task]:
    """Give the tasks whose runs the store does not have; warn of damaged ones."""
    missing: list[Task] = []
    damaged: list[Path] = []
    for task in tasks:
        try:
            if not store.has(task):
                missing.append(task)
        except DamageError as error:
            missing.append(task)
            damaged.append(error.path)
            if error.path.is_dir():
                # A file takes the place of another, but not of a folder; one that is not empty is an error.
                error.path.rmdir()
    if damaged:
        told = (
            f"1 stored run failed verification and is run again: {damaged[0].name}"
            if len(damaged) == 1
            else f"{len(damaged)} stored runs failed verification and are run again; "
            f"the first is {damaged[0].name}"
        )
        warnings.warn(f"{store.folder}: {told}", stacklevel=3)
    return missing


class _Ledger:
    """Stores what is finished, and keeps the tally."""

    def __init__(
        self, tasks: Sequence[Task], store: Store, progress: Progress | None, check: Callable[[], None]
    ) -> None:
        self.failures: dict[int, Exception] = {}
        self.simulation_s = 0.0
        self.check = check
        self._tasks = tasks
        self._store = store
        self._progress = progress
        self._done = 0
        self._under_way: dict[int, float] = {}
        self._next_telling = 0.0

    def finished(self, index: int, result: Finished) -> None:
        self._store.put(self._tasks[index], result)
        self.simulation_s += result.wall_s
        self._end(index)

    def failed(self, index: int, error: Exception) -> None:
        self.failures[index] = error
        self._end(index)

    def reached(self, index: int, fraction: float) -> None:
        self._under_way[index] = fraction
        self._tell()

    def _end(self, index: int) -> None:
        self._done += 1
        self._under_way.pop(index, None)
        self._tell()

    def _tell(self) -> None:
        now = time.monotonic()
        if self._progress and now >= self._next_telling:
            self._next_telling = now + _TELLING_S
            self._progress((self._done + sum(self._under_way.values())) / len(self._tasks))
