"""Parallel runs of many scenarios and seeds, kept in memory; :mod:`airwnd.study.batch` keeps them on disk."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from airwnd.scenario.scenario import Scenario
from airwnd.support.arguments import CALLABLE, DURATION, MEMORY, NONE, POSITIVE, SEED, SEVERAL, checked
from airwnd.support.errors import InputError
from airwnd.support.memory import share
from airwnd.support.threads import concurrent, side_by_side

if TYPE_CHECKING:
    from airwnd.scenario.run import Run


@checked(
    tasks=SEVERAL,
    jobs=POSITIVE | NONE,
    series=DURATION | NONE,
    progress=CALLABLE | NONE,
    max_memory=MEMORY | NONE,
    threads=POSITIVE | NONE,
)
def run_many(  # noqa: PLR0913 (options of a public function)
    tasks: Sequence[tuple[Scenario, int]],
    jobs: int | None = None,
    series: str | None = None,
    progress: Callable[[float], None] | None = None,
    max_memory: int | str | None = None,
    *,
    threads: int | None = None,
) -> "list[Run]":
    """Simulate scenarios with seeds in parallel; the runs are returned in the order of the tasks.

    Parameters
    ----------
    tasks
        Pairs of a scenario and a seed, 0 to 2**63 - 1.
    jobs
        Number of concurrent runs; ``None``: as many as there are cores for the threads of each.
    series
        Sampling interval of the time series with its unit, as in ``"10ms"``; ``None``: no series.
    progress
        Called periodically, in the calling thread, with the finished fraction of all runs, 0 to 1.
    max_memory
        Memory limit of each run, as for :meth:`Scenario.run`; ``None``: concurrent runs share 80 % of the
        free memory.
    threads
        Threads of each run, as for :meth:`Scenario.run`.

    Returns
    -------
    list[Run]
        One run per task.

    Raises
    ------
    InputError
        If `series` is not a time with a unit.
    EngineError
        If an invariant of the engine is violated.

    Examples
    --------
    >>> import airwnd
    >>> base = airwnd.Scenario.load("experiments/arwa-2019/table6/scenario.toml").with_(duration="100ms")
    >>> tasks = [(base.with_({"flow[0].rwnd": word}), seed) for word in ("drwa", "arwa") for seed in (1, 2)]
    >>> [run.seed for run in airwnd.run_many(tasks)]
    [1, 2, 1, 2]
    """
    for task in tasks:
        match task:
            case (Scenario(), seed):
                SEED.check("seed", seed)
            case _:
                raise InputError("tasks: expected pairs of a Scenario and a seed")
    jobs = concurrent(jobs, threads)
    each = share(min(jobs, len(tasks)), max_memory)
    calls = [
        partial(scenario.run, seed, series, max_memory=each, threads=threads) for scenario, seed in tasks
    ]
    return side_by_side(calls, jobs, progress)
