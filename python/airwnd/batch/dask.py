"""A Dask cluster as workers; results travel to us, no file system is shared."""

import logging
import pickle
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from airwnd import _native
from airwnd.arguments import NUMBER, TEXT, checked
from airwnd.batch.task import Finished, Task
from airwnd.batch.workers import Report
from airwnd.errors import EngineError, InputError
from airwnd.memory import share

if TYPE_CHECKING:
    from distributed import Client, Future

# Short enough to lose little with a worker, long beside the scheduler's milliseconds for a task.
_BATCH_S = 0.5
_BATCH_RUNS = 200

# Batches under way for each thread of the cluster: nobody waits for the next, and the scheduler holds few.
_QUEUED = 3

_LISTENING_S = 0.5

#: A run made on the cluster, or the exception that it ended with.
Result = Finished | Exception


class Dask:
    """The workers of a Dask cluster.

    Dask makes the runs of a lost worker again elsewhere. A scheduler that is lost, or has no workers, is
    given some time to come back; then what is missing is handed in again.

    Parameters
    ----------
    address
        The scheduler's address, as in ``"tcp://head:8786"``.
    timeout_s
        How long to wait for the scheduler's first answer, in seconds.
    grace_s
        How long a scheduler, or the last worker, may be away, in seconds.
    """

    @checked(address=TEXT, timeout_s=NUMBER, grace_s=NUMBER)
    def __init__(self, address: str, timeout_s: float = 10.0, grace_s: float = 60.0) -> None:
        self.address = address
        self.timeout_s = timeout_s
        self.grace_s = grace_s

    @property
    def jobs(self) -> None:
        """Not known: workers come and go."""

    def carry_out(self, tasks: Sequence[Task], report: Report) -> None:
        """Make every run once and report each at once."""
        self._check()
        work = _Work(tasks, report)
        patience = self.timeout_s
        with _quiet():
            while work.outstanding:
                with self._connected(patience, work) as client:
                    _Session(client, work, self).serve()
                patience = self.grace_s

    def _check(self) -> None:
        try:
            from distributed import comm
        except ImportError:
            raise InputError("Dask is not installed: pip install 'airwnd[dask]'") from None
        try:
            comm.addressing.get_address_host_port(self.address)
        except ValueError as error:
            raise InputError(f"{self.address}: {error}; expected as in tcp://head:8786") from None

    @contextmanager
    def _connected(self, patience_s: float, work: "_Work") -> "Iterator[Client]":
        from distributed import Client

        deadline = time.monotonic() + patience_s
        while True:
            left = max(deadline - time.monotonic(), 0.1)
            try:
                client = Client(self.address, timeout=left, set_as_default=False)  # type: ignore[no-untyped-call]  # Dask has no types
            except OSError:
                if time.monotonic() < deadline:
                    work.report.check()
                    time.sleep(0.2)
                    continue
                away = f"{self.address}: no Dask scheduler answers within {patience_s:g} s"
                raise InputError(away + work.kept()) from None
            break
        try:
            yield client
        finally:
            with suppress(OSError, RuntimeError):
                client.close(timeout=1)  # type: ignore[no-untyped-call]  # Dask has no types


class _Work:
    """What is left to do, whatever becomes of schedulers."""

    def __init__(self, tasks: Sequence[Task], report: Report) -> None:
        self.tasks = tasks
        self.report = report
        self.waiting = deque(range(len(tasks)))
        #: Runs whose batch killed its workers; which of them did shows when each runs alone.
        self.suspects: deque[int] = deque()
        self.outstanding = len(tasks)
        self._runs = 0
        self._runs_s = 0.0

    def take(self, threads: int) -> list[int]:
        """Take the next batch; smaller ones the nearer the end is, so that all end together."""
        if self.suspects:
            return [self.suspects.popleft()]
        if not self._runs:
            size = 1
        else:
            usual_s = max(self._runs_s / self._runs, 1e-6)
            fair = len(self.waiting) // (4 * threads)
            size = max(1, min(int(_BATCH_S / usual_s), _BATCH_RUNS, fair))
        return [self.waiting.popleft() for _ in range(min(size, len(self.waiting)))]

    def give_back(self, indices: Sequence[int]) -> None:
        self.waiting.extendleft(reversed(indices))

    def end(self, index: int, result: Result) -> None:
        self.outstanding -= 1
        if isinstance(result, Finished):
            self._runs += 1
            self._runs_s += result.wall_s
            self.report.finished(index, result)
        else:
            self.report.failed(index, result)

    def kept(self) -> str:
        done = len(self.tasks) - self.outstanding
        return f"; {done} runs are finished and kept, and the same command goes on from there" if done else ""


class _Session:
    """The time with one scheduler, from connection to loss."""

    def __init__(self, client: "Client", work: _Work, cluster: Dask) -> None:
        self._client = client
        self._work = work
        self._cluster = cluster
        self._under_way: dict[Future[list[Result]], list[int]] = {}
        self._answers: SimpleQueue[Future[list[Result]]] = SimpleQueue()
        self._threads = 0
        self._next_look = 0.0
        self._deserted_since: float | None = None

    def serve(self) -> None:
        """Go on until all is done or the scheduler is lost; then what was under way waits again."""
        try:
            while self._work.outstanding and self._client.status == "running":
                self._work.report.check()
                self._look()
                self._hand_in()
                with suppress(Empty):
                    if not self._take_in(self._answers.get(timeout=_LISTENING_S)):
                        break
        finally:
            for indices in self._under_way.values():
                self._work.give_back(indices)

    def _look(self) -> None:
        """See now and then how large the cluster is, and that there is one."""
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + _LISTENING_S
        try:
            self._threads = sum(self._client.nthreads().values())  # type: ignore[no-untyped-call]  # Dask has no types
        except (OSError, RuntimeError):
            # The scheduler is going; the client's status will tell.
            return
        if self._threads:
            self._deserted_since = None
        elif self._deserted_since is None:
            self._deserted_since = now
        elif now > self._deserted_since + self._cluster.grace_s:
            away = (
                f"{self._cluster.address}: the Dask scheduler has no workers for {self._cluster.grace_s:g} s"
            )
            raise InputError(away + self._work.kept())

    def _hand_in(self) -> None:
        work = self._work
        threads = max(self._threads, 1)
        while (work.waiting or work.suspects) and len(self._under_way) < _QUEUED * threads:
            indices = work.take(threads)
            batch = _Batch([work.tasks[index] for index in indices])
            # A worker that lacks airwnd could not even read a task of our own, and would die of it.
            future = self._client.submit(pickle.loads, pickle.dumps(batch), pure=False)
            self._under_way[future] = indices
            future.add_done_callback(self._answers.put)  # type: ignore[no-untyped-call]  # Dask has no types

    def _take_in(self, future: "Future[list[Result]]") -> bool:
        """Take an answer; False if the scheduler was lost instead."""
        from distributed import CancelledError
        from distributed.scheduler import KilledWorker

        indices = self._under_way.pop(future)
        try:
            results: list[Result] = future.result()
        except (CancelledError, OSError):
            self._work.give_back(indices)
            return False
        except KilledWorker as error:
            self._suspect(indices, error)
        except (ImportError, AttributeError) as error:
            where = f"{self._cluster.address}: a Dask worker cannot run our tasks ({error})"
            raise InputError(f"{where}; install airwnd {_native.VERSION} there") from None
        except InputError:
            raise
        except Exception as error:
            raise EngineError(f"{self._cluster.address}: {error!r}") from error
        else:
            for index, result in zip(indices, results, strict=True):
                self._work.end(index, result)
        return True

    def _suspect(self, indices: list[int], error: Any) -> None:
        if len(indices) > 1:
            self._work.suspects.extend(indices)
            return
        task = self._work.tasks[indices[0]]
        message = (
            f"{task}: {error.allowed_failures + 1} Dask workers that ran it died; is there enough memory?"
        )
        self._work.end(indices[0], EngineError(message))


class _Batch:
    """Tasks that turn into their results where they are unpickled."""

    def __init__(self, tasks: list[Task]) -> None:
        self._tasks = tasks

    def __reduce__(self) -> tuple[object, ...]:
        return _carry_out, (_native.ENGINE, pickle.dumps(self._tasks))


def _carry_out(engine: str, batch: bytes) -> list[Result]:
    """Make the runs of a batch, on a worker; another engine might not even read the scenarios."""
    if engine != _native.ENGINE:
        both = f"a Dask worker has engine {_native.ENGINE}, we have {engine}"
        raise InputError(f"{both}: install the same airwnd on both")
    tasks: list[Task] = pickle.loads(batch)  # noqa: S301
    return [_result(task) for task in tasks]


def _result(task: Task) -> Result:
    from distributed import get_worker

    try:
        return task.carry_out(max_memory=share(get_worker().state.nthreads))
    except (ValueError, EngineError, MemoryError) as error:
        return error


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep Dask from logging what is told in one line, or repaired."""
    theirs = {"distributed", "tornado"}
    names = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] in theirs]
    talking = [logger for logger in map(logging.getLogger, names) if not logger.disabled]
    for logger in talking:
        logger.disabled = True
    try:
        yield
    finally:
        for logger in talking:
            logger.disabled = False
