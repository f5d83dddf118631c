"""A worker process: receives tasks, sends back runs, and ends with the process that started it."""

import os
import pickle
import sys
import time
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Thread

from airwnd._native import end_when_stuck
from airwnd.study.batch.task import Finished, Means, Task
from airwnd.support.errors import EngineError

#: Message of a worker: the index of a task with its finished fraction, its run, or its exception.
Message = tuple[int, float | Finished | Exception]

READY: Message = (-1, 0.0)

#: Tasks of one scenario, for a worker: their indices, and themselves, pickled.
Batch = tuple[list[int], bytes]

#: Exit code of a worker whose call of a plug-in cannot be interrupted.
STUCK = 124

_REPORT_INTERVAL_S = 0.25


def main(descriptor: int, max_memory: int, threads: int) -> None:
    """Serve the process at the other end of the socket until that closes the socket or dies."""
    end_when_stuck(STUCK, message=False)
    sys.addaudithook(_refuse_forks)
    # Of a plug-in, as its standard output; the engine writes to the descriptor.
    sys.stderr = sys.stdout
    connection = Connection(descriptor)
    means = Means(max_memory, threads, STUCK)
    inbox: SimpleQueue[Batch] = SimpleQueue()
    Thread(target=_listen, args=(connection, inbox), daemon=True).start()
    try:
        connection.send(READY)
        while True:
            indices, pickled = inbox.get()
            tasks = _unpickled(pickled)
            for place, index in enumerate(indices):
                if isinstance(tasks, Exception):
                    connection.send((index, tasks))
                else:
                    connection.send((index, _carry_out(connection, index, tasks[place], means)))
    except OSError:
        os._exit(0)


def _refuse_forks(event: str, _arguments: tuple[object, ...]) -> None:
    """Raise an error in code that forks this process: its child would serve the same socket."""
    if event in {"os.fork", "os.forkpty"}:
        raise RuntimeError("a process that executes runs cannot be forked")


def _listen(connection: Connection, inbox: "SimpleQueue[Batch]") -> None:
    try:
        while True:
            for batch in connection.recv():
                inbox.put(batch)
    finally:
        # The process at the other end has exited, so the result of the current run is not needed.
        os._exit(0)


def _unpickled(pickled: bytes) -> list[Task] | Exception:
    """Read tasks of one scenario, or return the error of each: a class or a link trace may have changed."""
    try:
        tasks: list[Task] = pickle.loads(pickled)  # noqa: S301 (of the process that started this one)
    except (ValueError, EngineError, MemoryError) as error:
        return error
    except Exception as error:
        return EngineError(f"a worker cannot read its tasks: {error!r}")
    return tasks


def _carry_out(connection: Connection, index: int, task: Task, means: Means) -> Finished | Exception:
    next_report = time.monotonic() + _REPORT_INTERVAL_S

    def report(fraction: float) -> None:
        nonlocal next_report
        now = time.monotonic()
        if now >= next_report:
            next_report = now + _REPORT_INTERVAL_S
            connection.send((index, fraction))

    try:
        return task.carry_out(report, means)
    except (ValueError, EngineError, MemoryError) as error:
        return error
    except Exception as error:
        # Any other exception may fail to pickle or unpickle.
        return EngineError(f"{task}: {error!r}")
