"""Local worker processes."""

import pickle
import signal
import subprocess
import sys
from collections import Counter, deque
from collections.abc import Sequence
from contextlib import suppress
from itertools import groupby
from multiprocessing.connection import Pipe, wait
from typing import TYPE_CHECKING

from airwnd.study.batch.task import Finished, Means, Task
from airwnd.study.batch.worker import READY, STUCK, Batch, Message
from airwnd.study.batch.workers import Report
from airwnd.support.arguments import MEMORY, NONE, POSITIVE, checked
from airwnd.support.errors import EngineError, InputError
from airwnd.support.memory import share
from airwnd.support.threads import concurrent

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

_ATTEMPTS = 3

# Maximum delay until an interrupt that Python has discarded is noticed.
_POLL_INTERVAL_S = 0.5

# Maximum number of tasks queued at a worker, so that it does not idle between runs.
_MAX_QUEUED = 32


class Processes:
    """Worker processes on this machine.

    If a process dies, another one takes its task. The processes end with the process that started them, even
    if that is killed.

    Parameters
    ----------
    jobs
        Number of concurrent runs; default: as many as there are cores for the threads of each.
    max_memory
        Memory limit of each run, as for :meth:`airwnd.Scenario.run`; default: concurrent runs share 80 % of
        the free memory.
    threads
        Threads of each run, as for :meth:`airwnd.Scenario.run`.
    """

    @checked(jobs=POSITIVE | NONE, max_memory=MEMORY | NONE, threads=POSITIVE)
    def __init__(
        self, jobs: int | None = None, max_memory: int | str | None = None, threads: int = 1
    ) -> None:
        self._jobs = concurrent(jobs, threads)
        self._each = Means(share(self._jobs, max_memory), threads)

    @property
    def jobs(self) -> int:
        """Number of concurrent runs."""
        return self._jobs

    def carry_out(self, tasks: Sequence[Task], report: Report) -> None:
        """Execute each run once and report it as soon as it is finished."""
        pool = _Pool(self._jobs, self._each, tasks, report)
        try:
            pool.work()
        finally:
            pool.stop()


class _Pool:
    def __init__(self, jobs: int, each: Means, tasks: Sequence[Task], report: Report) -> None:
        self._jobs = jobs
        self._each = each
        self._tasks = tasks
        self._report = report
        self._waiting = deque(range(len(tasks)))
        self._outstanding = len(tasks)
        self._deaths: Counter[int] = Counter()
        self._false_starts = 0
        self._workers: dict[Connection, _Worker] = {}

    def work(self) -> None:
        while self._outstanding:
            while len(self._workers) < min(self._jobs, self._outstanding):
                worker = _Worker(self._each)
                self._workers[worker.connection] = worker
            self._report.check()
            for connection in wait(list(self._workers), timeout=_POLL_INTERVAL_S):
                worker = self._workers[connection]  # type: ignore[index]  # they are the keys
                try:
                    message = worker.connection.recv()
                except (EOFError, OSError):
                    self._replace(worker)
                else:
                    self._handle(worker, message)

    def stop(self) -> None:
        for worker in self._workers.values():
            worker.end()

    def _handle(self, worker: "_Worker", message: Message) -> None:
        index, what = message
        if isinstance(what, float):
            if message == READY:
                worker.ready = True
                self._false_starts = 0
                self._refill(worker)
            else:
                self._report.reached(index, what)
            return
        worker.queued.remove(index)
        self._outstanding -= 1
        self._refill(worker)
        if isinstance(what, Finished):
            self._report.finished(index, what)
        else:
            self._report.failed(index, what)

    def _refill(self, worker: "_Worker") -> None:
        """Send more tasks if few are queued; fewer towards the end, so that all workers finish together."""
        fair = max(1, min(_MAX_QUEUED, len(self._waiting) // (4 * self._jobs)))
        if not self._waiting or len(worker.queued) > fair // 2:
            return
        more = min(len(self._waiting), fair - len(worker.queued))
        indices = [self._waiting.popleft() for _ in range(more)]
        worker.queued.extend(indices)
        batches = self._batches(indices)
        # If the worker has just died, the next receive from it fails.
        with suppress(OSError):
            worker.connection.send(batches)

    def _batches(self, indices: list[int]) -> list[Batch]:
        """Pickle tasks by scenario: a worker reads each scenario once, or returns the error of its tasks."""
        tasks = self._tasks
        groups = (list(group) for _, group in groupby(indices, lambda index: id(tasks[index].scenario)))
        return [(group, pickle.dumps([tasks[index] for index in group])) for group in groups]

    def _replace(self, worker: "_Worker") -> None:
        """Return the tasks of a dead worker to the queue, except one that it failed on too often."""
        del self._workers[worker.connection]
        how = worker.end()
        if not worker.ready:
            self._false_starts += 1
            if self._false_starts == _ATTEMPTS:
                raise EngineError(f"worker processes end as soon as they are started, with {how}")
        if not worker.queued:
            return
        # Tasks are executed in order: the first queued one was running.
        suspect = worker.queued[0]
        self._deaths[suspect] += 1
        error = self._error(suspect, how)
        if error:
            worker.queued.popleft()
            self._outstanding -= 1
            self._report.failed(suspect, error)
        self._waiting.extendleft(reversed(worker.queued))
        # Idle workers send no further messages, so they must be given tasks here.
        for other in self._workers.values():
            if other.ready:
                self._refill(other)

    def _error(self, suspect: int, how: str) -> Exception | None:
        """Return the error of a task whose process died; ``None``: another process retries it."""
        task = self._tasks[suspect]
        code = task.code
        if code and how == f"exit code {STUCK}":
            limit = f"{task.scenario.plugin_timeout_s:g} s"
            return InputError(
                f"{task}: a call of {code} did not return within {limit} and cannot be interrupted"
            )
        if code and how.startswith("exit code"):
            return InputError(f"{task}: {code} ended the process that ran it, with {how}")
        if self._deaths[suspect] == _ATTEMPTS:
            message = f"{task}: {_ATTEMPTS} processes that ran it ended with {how}"
            return EngineError(f"{message}; is there enough memory?")
        return None


class _Worker:
    """A worker process and the socket connected to it."""

    def __init__(self, each: Means) -> None:
        self.ready = False
        self.queued: deque[int] = deque()
        self.connection, other = Pipe()
        # Not with `multiprocessing`, which runs the user's script again in each process that it starts.
        code = f"import sys; sys.path[:] = {sys.path!r}; from airwnd.study.batch.worker import main"
        with other:
            self._process = subprocess.Popen(  # noqa: S603
                [
                    sys.executable,
                    "-I",
                    "-c",
                    f"{code}; main({other.fileno()}, {each.max_memory}, {each.threads})",
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[other.fileno()],
                # Ctrl-C must reach only the foreground process, which then ends its workers.
                process_group=0,
            )

    def end(self) -> str:
        """End the process if it still runs, and return its signal or exit code."""
        self.connection.close()
        self._process.kill()
        code = self._process.wait()
        return signal.Signals(-code).name if code < 0 else f"exit code {code}"
