"""Workers of a Dask cluster; results return over the network, without a shared file system."""

import asyncio
import logging
import pickle
import time
from collections import deque
from collections.abc import Coroutine, Iterator, Sequence
from concurrent.futures import wait
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar, cast

from airwnd import _native
from airwnd.study.batch.task import Finished, Means, Task
from airwnd.study.batch.workers import Report
from airwnd.support.arguments import NUMBER, TEXT, checked
from airwnd.support.errors import EngineError, InputError
from airwnd.support.memory import share

if TYPE_CHECKING:
    from distributed import Client, Future

# Short enough to lose little with a worker, long compared with the scheduler's milliseconds per task.
_BATCH_S = 0.5
_BATCH_RUNS = 200

# Batches submitted per thread of the cluster: enough to keep the threads busy, few for the scheduler to hold.
_QUEUED = 3

_POLL_INTERVAL_S = 0.5

#: A run executed on the cluster, or the exception that ended it.
Result = Finished | Exception

Answer = TypeVar("Answer")


class Dask:
    """The workers of a Dask cluster.

    Dask repeats the runs of a lost worker on another one. If the scheduler is lost, or has no workers left,
    the missing runs are submitted again when it is back within `grace_s`.

    Parameters
    ----------
    address
        Address of the scheduler, as in ``"tcp://head:8786"``.
    timeout_s
        Maximum wait for the scheduler's first answer, in seconds.
    grace_s
        Maximum absence of the scheduler, or of all workers, in seconds.
    """

    @checked(address=TEXT, timeout_s=NUMBER, grace_s=NUMBER)
    def __init__(self, address: str, timeout_s: float = 10.0, grace_s: float = 60.0) -> None:
        self.address = address
        self.timeout_s = timeout_s
        self.grace_s = grace_s

    @property
    def jobs(self) -> None:
        """``None``: the number is unknown, because workers join and leave."""

    def carry_out(self, tasks: Sequence[Task], report: Report) -> None:
        """Execute each run once and report it as soon as it is finished."""
        self._check()
        work = _Work(tasks, report)
        timeout_s = self.timeout_s
        with _quiet():
            while work.outstanding:
                with self._connected(timeout_s, work) as client:
                    _Session(client, work, self).serve()
                timeout_s = self.grace_s

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
    def _connected(self, timeout_s: float, work: "_Work") -> "Iterator[Client]":
        from distributed import Client

        deadline = time.monotonic() + timeout_s
        while True:
            left = max(deadline - time.monotonic(), 0.1)
            try:
                client = Client(self.address, timeout=left, set_as_default=False)  # type: ignore[no-untyped-call]  # Dask has no types
            except OSError:
                if time.monotonic() < deadline:
                    work.report.check()
                    time.sleep(0.2)
                    continue
                message = f"{self.address}: no Dask scheduler answers within {timeout_s:g} s"
                raise InputError(message + work.kept()) from None
            break
        try:
            yield client
        finally:
            with suppress(OSError, RuntimeError):
                client.close(timeout=1)  # type: ignore[no-untyped-call]  # Dask has no types


class _Work:
    """Outstanding tasks; they outlive the connection to a scheduler."""

    def __init__(self, tasks: Sequence[Task], report: Report) -> None:
        self.tasks = tasks
        self.report = report
        self.waiting = deque(range(len(tasks)))
        #: Runs whose batch killed its workers; each is run alone to find the one at fault.
        self.suspects: deque[int] = deque()
        self.outstanding = len(tasks)
        self._runs = 0
        self._runs_s = 0.0

    def take(self, threads: int) -> list[int]:
        """Take the next batch; batches shrink towards the end, so that all threads finish together."""
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
        return (
            f"; {done} runs are finished and kept, and the same command continues from there" if done else ""
        )


class _Session:
    """Connection to one scheduler, until it is lost."""

    def __init__(self, client: "Client", work: _Work, cluster: Dask) -> None:
        self._client = client
        self._work = work
        self._cluster = cluster
        self._submitted: dict[Future[list[Result]], list[int]] = {}
        self._results: SimpleQueue[Future[list[Result]]] = SimpleQueue()
        self._threads = 0
        self._next_poll = 0.0
        self._empty_since: float | None = None

    def serve(self) -> None:
        """Run until all tasks are done or the scheduler is lost; return unfinished tasks to the queue."""
        try:
            while self._work.outstanding and self._client.status == "running":
                self._work.report.check()
                self._poll_cluster()
                self._submit()
                with suppress(Empty):
                    if not self._collect(self._results.get(timeout=_POLL_INTERVAL_S)):
                        break
        finally:
            for indices in self._submitted.values():
                self._work.give_back(indices)

    def _poll_cluster(self) -> None:
        """Update the size of the cluster periodically; raise an error if it stays without workers."""
        now = time.monotonic()
        if now < self._next_poll:
            return
        self._next_poll = now + _POLL_INTERVAL_S
        try:
            asked = self._client.nthreads(asynchronous=True)  # type: ignore[no-untyped-call]  # Dask has no types
            self._threads = sum(self._answer(asked).values())
        except (OSError, RuntimeError):
            # The scheduler is disappearing; the client's status will show it.
            return
        if self._threads:
            self._empty_since = None
        elif self._empty_since is None:
            self._empty_since = now
        elif now > self._empty_since + self._cluster.grace_s:
            message = (
                f"{self._cluster.address}: the Dask scheduler has no workers for {self._cluster.grace_s:g} s"
            )
            raise InputError(message + self._work.kept())

    def _submit(self) -> None:
        work = self._work
        threads = max(self._threads, 1)
        while (work.waiting or work.suspects) and len(self._submitted) < _QUEUED * threads:
            indices = work.take(threads)
            batch = _Batch([work.tasks[index] for index in indices])
            # Where airwnd is missing, unpickling a task kills the worker; this raises an exception instead.
            future = self._client.submit(pickle.loads, pickle.dumps(batch), pure=False)
            self._submitted[future] = indices
            future.add_done_callback(self._results.put)  # type: ignore[no-untyped-call]  # Dask has no types

    def _collect(self, future: "Future[list[Result]]") -> bool:
        """Take the result of a batch; return ``False`` if the scheduler was lost instead."""
        from distributed import CancelledError
        from distributed.scheduler import KilledWorker

        indices = self._submitted.pop(future)
        try:
            asked = self._client.gather(future, asynchronous=True)  # type: ignore[no-untyped-call]  # Dask has no types
            results: list[Result] = self._answer(asked)
        except (CancelledError, OSError):
            self._work.give_back(indices)
            return False
        except KilledWorker as error:
            self._suspect(indices, error)
        except (ImportError, AttributeError) as error:
            where = f"{self._cluster.address}: a Dask worker cannot run airwnd's tasks ({error})"
            raise InputError(f"{where}; install airwnd {_native.VERSION} there") from None
        except InputError:
            raise
        except Exception as error:
            raise EngineError(f"{self._cluster.address}: {error!r}") from error
        else:
            for index, result in zip(indices, results, strict=True):
                self._work.end(index, result)
        return True

    def _answer(self, question: Coroutine[Any, Any, Answer]) -> Answer:
        """Wait for the scheduler's answer to a question; raise ``ConnectionError`` if it is lost before.

        Dask would wait for the scheduler's return, without noticing Ctrl-C.
        """
        loop = cast("Any", self._client.loop).asyncio_loop
        asked = asyncio.run_coroutine_threadsafe(question, loop)
        while not wait([asked], timeout=_POLL_INTERVAL_S).done:
            self._work.report.check()
            if self._client.status != "running":
                asked.cancel()
                raise ConnectionError(f"{self._cluster.address}: the scheduler is lost")
        return asked.result()

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
    """Tasks that are executed when they are unpickled, and become their results."""

    def __init__(self, tasks: list[Task]) -> None:
        self._tasks = tasks

    def __reduce__(self) -> tuple[object, ...]:
        return _carry_out, (_native.ENGINE, pickle.dumps(self._tasks))


def _carry_out(engine: str, batch: bytes) -> list[Result]:
    """Execute a batch on a worker; compares engines first, since another one may not read the scenarios."""
    if engine != _native.ENGINE:
        both = f"a Dask worker has engine {_native.ENGINE}, this process has {engine}"
        raise InputError(f"{both}: install the same airwnd on both")
    tasks: list[Task] = pickle.loads(batch)  # noqa: S301
    return [_result(task) for task in tasks]


def _result(task: Task) -> Result:
    from distributed import get_worker

    try:
        return task.carry_out(means=Means(share(get_worker().state.nthreads)))
    except (ValueError, EngineError, MemoryError) as error:
        return error


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence Dask's loggers: errors are reported in one line, or handled."""
    packages = {"distributed", "tornado"}
    names = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] in packages]
    enabled = [logger for logger in map(logging.getLogger, names) if not logger.disabled]
    for logger in enabled:
        logger.disabled = True
    try:
        yield
    finally:
        for logger in enabled:
            logger.disabled = False
