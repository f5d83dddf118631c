"""Calls side by side: a run is one thread of native code, and threads share the process."""

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TypeVar

T = TypeVar("T")
Progress = Callable[[float], None]


class StoppedError(Exception):
    """Another run failed or the user interrupted; this one ends early."""


def cores() -> int:
    """Processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def side_by_side(
    calls: Sequence[Callable[[Progress], T]], jobs: int | None = None, progress: Progress | None = None
) -> list[T]:
    """Call each with a function to be told its finished fraction; the results come in the calls' order.

    `jobs` of them run at the same time, by default as many as there are cores. The first exception, Ctrl-C
    included, ends the calls under way and drops those not begun.
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
