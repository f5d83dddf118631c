"""A worker process: takes tasks, sends back runs, and ends with the process that started it."""

import os
import time
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Thread

from airwnd._native import end_when_stuck
from airwnd.batch.task import Finished, Task
from airwnd.errors import EngineError

#: What a worker says: the place of a task with its finished fraction, its run, or its exception.
Word = tuple[int, float | Finished | Exception]

READY: Word = (-1, 0.0)

#: Exit code of a worker in which a call of a plug-in cannot be interrupted.
STUCK = 124

_TELLING_S = 0.25


def main(descriptor: int, max_memory: int) -> None:
    """Serve the process at the other end of the socket until it closes it, or dies."""
    end_when_stuck(STUCK, message=False)
    connection = Connection(descriptor)
    inbox: SimpleQueue[tuple[int, Task]] = SimpleQueue()
    Thread(target=_listen, args=(connection, inbox), daemon=True).start()
    try:
        connection.send(READY)
        while True:
            index, task = inbox.get()
            connection.send((index, _carry_out(connection, index, task, max_memory)))
    except OSError:
        os._exit(0)


def _listen(connection: Connection, inbox: "SimpleQueue[tuple[int, Task]]") -> None:
    try:
        while True:
            for item in connection.recv():
                inbox.put(item)
    except (EOFError, OSError):
        # The other end is gone, perhaps killed, and nobody waits for the run under way.
        os._exit(0)


def _carry_out(connection: Connection, index: int, task: Task, max_memory: int) -> Finished | Exception:
    next_telling = time.monotonic() + _TELLING_S

    def tell(fraction: float) -> None:
        nonlocal next_telling
        now = time.monotonic()
        if now >= next_telling:
            next_telling = now + _TELLING_S
            connection.send((index, fraction))

    try:
        return task.carry_out(tell, max_memory)
    except (ValueError, EngineError, MemoryError) as error:
        return error
    except Exception as error:
        # Whatever else it is may not survive the way.
        return EngineError(f"{task}: {error!r}")
