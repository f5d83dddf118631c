"""Runs side by side: a run is one thread of native code, and threads share the process."""

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from airwnd.run import Run
    from airwnd.scenario import Scenario

T = TypeVar("T")
Progress = Callable[[float], None]


class StoppedError(Exception):
    """Another run failed or the user interrupted; this one ends early."""


def cores() -> int:
    """Processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_many(
    tasks: "Sequence[tuple[Scenario, int]]",
    jobs: int | None = None,
    series: str | None = None,
    progress: Progress | None = None,
) -> "list[Run]":
    """Simulate scenarios with seeds in parallel; the runs come in the order of the tasks.

    Parameters
    ----------
    tasks
        Scenarios with the seed of each, 0 to 2**64 - 1.
    jobs
        Runs at the same time; as many as there are cores by default.
    series
        Sampling interval of the time series with its unit, as in ``"10ms"``; no series without it.
    progress
        Called now and then, in the calling thread, with the finished fraction of the whole, 0 to 1.

    Returns
    -------
    list[Run]
        One run per task.

    Raises
    ------
    InputError
        If `series` is no time with a unit.
    EngineError
        If an invariant of the engine was broken.

    Examples
    --------
    >>> import airwnd
    >>> base = airwnd.Scenario.load("experiments/arwa-2019/table6/scenario.toml").with_(duration="100ms")
    >>> tasks = [(base.with_({"flow[0].rwnd": word}), seed) for word in ("drwa", "arwa") for seed in (1, 2)]
    >>> [run.seed for run in airwnd.run_many(tasks)]
    [1, 2, 1, 2]
    """

    def work(task: "tuple[Scenario, int]") -> Callable[[Progress], "Run"]:
        scenario, seed = task
        return lambda tell: scenario.run(seed, series, tell)

    return side_by_side([work(task) for task in tasks], jobs or cores(), progress)


def side_by_side(
    calls: Sequence[Callable[[Progress], T]], jobs: int, progress: Progress | None = None
) -> list[T]:
    """Call each with a function to be told its finished fraction; the results come in the calls' order.

    The first exception, Ctrl-C included, ends the calls under way and drops those not begun.
    """
    stop = threading.Event()
    finished = [0.0] * len(calls)

    def call(index: int) -> T:
        def tell(fraction: float) -> None:
            if stop.is_set():
                raise StoppedError
            finished[index] = fraction

        result = calls[index](tell)
        finished[index] = 1.0
        return result

    with ThreadPoolExecutor(max(1, jobs)) as pool:
        futures = [pool.submit(call, index) for index in range(len(calls))]
        try:
            pending = set(futures)
            while pending:
                done, pending = wait(pending, timeout=0.1, return_when=FIRST_EXCEPTION)
                for future in done:
                    future.result()
                if progress and calls:
                    progress(sum(finished) / len(calls))
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
    return [future.result() for future in futures]
