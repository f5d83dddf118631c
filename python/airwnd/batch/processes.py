"""Local worker processes."""

import signal
import subprocess
import sys
from collections import Counter, deque
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Pipe, wait
from typing import TYPE_CHECKING

from airwnd.arguments import MEMORY, NONE, POSITIVE, checked
from airwnd.batch.task import Finished, Task
from airwnd.batch.worker import READY, STUCK, Word
from airwnd.batch.workers import Report
from airwnd.errors import EngineError, InputError
from airwnd.memory import share
from airwnd.threads import cores

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

_ATTEMPTS = 3

# How soon an interrupt that Python has discarded is noticed.
_LISTENING_S = 0.5

# Tasks that a worker has in hand at most, so that it need not wait for the next.
_IN_HAND = 32


class Processes:
    """Worker processes on this machine.

    A process that dies costs nothing but time: another takes its task. The processes end with the one that
    started them, even if it is killed.

    Parameters
    ----------
    jobs
        Runs at the same time; as many as there are cores by default.
    max_memory
        The most memory that a run may take, as for :meth:`airwnd.Scenario.run`; by default the runs at the
        same time share 80 % of what is free.
    """

    @checked(jobs=POSITIVE | NONE, max_memory=MEMORY | NONE)
    def __init__(self, jobs: int | None = None, max_memory: int | str | None = None) -> None:
        self._jobs = jobs or cores()
        self._max_memory = share(self._jobs, max_memory)

    @property
    def jobs(self) -> int:
        """Runs at the same time."""
        return self._jobs

    def carry_out(self, tasks: Sequence[Task], report: Report) -> None:
        """Make every run once and report each at once."""
        crew = _Crew(self._jobs, self._max_memory, tasks, report)
        try:
            crew.work()
        finally:
            crew.dismiss()


class _Crew:
    def __init__(self, jobs: int, max_memory: int, tasks: Sequence[Task], report: Report) -> None:
        self._jobs = jobs
        self._max_memory = max_memory
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
                worker = _Worker(self._max_memory)
                self._workers[worker.connection] = worker
            self._report.check()
            for connection in wait(list(self._workers), timeout=_LISTENING_S):
                worker = self._workers[connection]  # type: ignore[index]  # they are the keys
                try:
                    word = worker.connection.recv()
                except (EOFError, OSError):
                    self._bury(worker)
                else:
                    self._hear(worker, word)

    def dismiss(self) -> None:
        for worker in self._workers.values():
            worker.end()

    def _hear(self, worker: "_Worker", word: Word) -> None:
        index, what = word
        if isinstance(what, float):
            if word == READY:
                worker.ready = True
                self._false_starts = 0
                self._feed(worker)
            else:
                self._report.reached(index, what)
            return
        worker.in_hand.remove(index)
        self._outstanding -= 1
        self._feed(worker)
        if isinstance(what, Finished):
            self._report.finished(index, what)
        else:
            self._report.failed(index, what)

    def _feed(self, worker: "_Worker") -> None:
        """Hand out more if little is left; fewer the nearer the end is, so that all end together."""
        fair = max(1, min(_IN_HAND, len(self._waiting) // (4 * self._jobs)))
        if not self._waiting or len(worker.in_hand) > fair // 2:
            return
        more = min(len(self._waiting), fair - len(worker.in_hand))
        indices = [self._waiting.popleft() for _ in range(more)]
        worker.in_hand.extend(indices)
        # A worker that has just died is found dead when it is listened to.
        with suppress(OSError):
            worker.connection.send([(index, self._tasks[index]) for index in indices])

    def _bury(self, worker: "_Worker") -> None:
        del self._workers[worker.connection]
        how = worker.end()
        if not worker.ready:
            self._false_starts += 1
            if self._false_starts == _ATTEMPTS:
                raise EngineError(f"worker processes end as soon as they are started, with {how}")
        if not worker.in_hand:
            return
        # Tasks are taken in order: the first in hand is the one that was under way.
        suspect = worker.in_hand[0]
        self._deaths[suspect] += 1
        error = self._verdict(suspect, how)
        if error:
            worker.in_hand.popleft()
            self._outstanding -= 1
            self._report.failed(suspect, error)
        self._waiting.extendleft(reversed(worker.in_hand))
        # Nobody would hear of an idle one again.
        for other in self._workers.values():
            if other.ready:
                self._feed(other)

    def _verdict(self, suspect: int, how: str) -> Exception | None:
        """Decide whether a task is given up whose process has ended; ``None``: another process takes it."""
        task = self._tasks[suspect]
        code = ", ".join(task.scenario.code)
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
    """A process and the socket to it."""

    def __init__(self, max_memory: int) -> None:
        self.ready = False
        self.in_hand: deque[int] = deque()
        self.connection, other = Pipe()
        # Not by `multiprocessing`, which runs the user's script again in each process it starts.
        code = f"import sys; sys.path[:] = {sys.path!r}; from airwnd.batch.worker import main"
        with other:
            self._process = subprocess.Popen(  # noqa: S603
                [sys.executable, "-I", "-c", f"{code}; main({other.fileno()}, {max_memory})"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[other.fileno()],
                # Ctrl-C is for the process at the terminal alone, which then ends its workers.
                process_group=0,
            )

    def end(self) -> str:
        """End the process, if it has not ended, and say how it did."""
        self.connection.close()
        self._process.kill()
        code = self._process.wait()
        return signal.Signals(-code).name if code < 0 else f"exit code {code}"
