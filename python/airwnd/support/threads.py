"""Concurrent calls in threads: a run executes native code, which releases the interpreter lock."""

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TypeVar

T = TypeVar("T")
Progress = Callable[[float], None]


class StoppedError(Exception):
    """Ends a run early because another run failed or the user interrupted."""


def cores() -> int:
    """Return the number of processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def concurrent(jobs: int | None, threads: int | None) -> int:
    """Return the number of concurrent runs: `jobs`, or as many as there are cores for `threads` per run."""
    return jobs or max(1, cores() // (threads or 1))


def side_by_side(
    calls: Sequence[Callable[[Progress], T]], jobs: int | None = None, progress: Progress | None = None
) -> list[T]:
    """Call each with a callback for its finished fraction; return the results in the order of the calls.

    At most `jobs` calls run concurrently; ``None``: the number of cores. The first exception, including
    Ctrl-C, ends running calls and cancels pending ones.
    """
    stop = threading.Event()
    finished = [0.0] * len(calls)

    def call(index: int) -> T:
        def report(fraction: float) -> None:
            if stop.is_set():
                raise StoppedError
            finished[index] = fraction

        result = calls[index](report)
        finished[index] = 1.0
        return result

    with ThreadPoolExecutor(max(1, jobs or cores())) as pool:
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
