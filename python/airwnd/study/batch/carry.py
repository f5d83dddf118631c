"""Execution of tasks: finished runs are read from the store, missing ones are executed and stored."""

import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, overload

from airwnd.study.batch.store import DamageError, Store, Stored
from airwnd.study.batch.task import Finished, Task
from airwnd.study.batch.workers import Workers
from airwnd.support.errors import InputError
from airwnd.support.interrupts import kept_interrupts
from airwnd.text.quantities import counted

if TYPE_CHECKING:
    from pathlib import Path

Progress = Callable[[float], object]

_REPORT_INTERVAL_S = 0.1


@dataclass(frozen=True)
class Results(Sequence[Stored]):
    """Runs in the order of their tasks; each is read from the store on access.

    Attributes
    ----------
    tasks, store
        The tasks, and the store of their runs.
    fresh
        Number of runs executed by this call; identical tasks are run once.
    reused
        Number of runs finished earlier.
    simulation_s
        Total wall-clock time of the fresh runs, in seconds.
    elapsed_s
        Wall-clock time from the start of the first fresh run to the end of the last, in seconds.
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
                f"{self.store.folder}: the finished run of {task} has since been removed or changed"
            )
        return stored


def carry_out(
    tasks: Sequence[Task], store: Store, workers: Workers, progress: Progress | None = None
) -> Results:
    """Execute the runs that the store does not have; each is stored as soon as it is finished.

    A stored run that does not match its digests is executed again, with a warning. If runs fail, the first
    exception in the order of the tasks is raised after all other runs have finished.

    Parameters
    ----------
    tasks
        Tasks to run; identical tasks are run once.
    store
        Store of finished runs.
    workers
        :class:`Processes` or :class:`Dask`.
    progress
        Called periodically with the finished fraction, 0 to 1, of the runs to execute.
    """
    unique = {task.key: task for task in tasks}
    missing = _missing(unique.values(), store)
    reused = len(unique) - len(missing)
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
    """Return the tasks without a stored run; warn about damaged runs."""
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
                # A file can replace a file, but not a folder. A folder that is not empty is an error.
                error.path.rmdir()
    if damaged:
        message = (
            f"1 stored run failed verification and is run again: {damaged[0].name}"
            if len(damaged) == 1
            else f"{len(damaged)} stored runs failed verification and are run again; "
            f"the first is {damaged[0].name}"
        )
        warnings.warn(f"{store.folder}: {message}", stacklevel=3)
    return missing


class _Ledger:
    """Stores finished runs and counts them."""

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
        self._running: dict[int, float] = {}
        self._next_report = 0.0

    def finished(self, index: int, result: Finished) -> None:
        self._store.put(self._tasks[index], result)
        self.simulation_s += result.wall_s
        self._end(index)

    def failed(self, index: int, error: Exception) -> None:
        self.failures[index] = error
        self._end(index)

    def reached(self, index: int, fraction: float) -> None:
        self._running[index] = fraction
        self._report_progress()

    def _end(self, index: int) -> None:
        self._done += 1
        self._running.pop(index, None)
        self._report_progress()

    def _report_progress(self) -> None:
        now = time.monotonic()
        if self._progress and now >= self._next_report:
            self._next_report = now + _REPORT_INTERVAL_S
            self._progress((self._done + sum(self._running.values())) / len(self._tasks))
