"""Interface of workers, shared by local processes and clusters."""

from collections.abc import Sequence
from typing import Protocol

from airwnd.study.batch.task import Finished, Task


class Report(Protocol):
    """Callbacks for each run, given by the index of its task, in the thread that called the workers."""

    def finished(self, index: int, result: Finished) -> None:
        """Receive a finished run."""

    def failed(self, index: int, error: Exception) -> None:
        """Receive the exception that ended a run; the other runs continue."""

    def reached(self, index: int, fraction: float) -> None:
        """Receive the finished fraction, 0 to 1, of a running task."""

    def check(self) -> None:
        """Raise ``KeyboardInterrupt`` if the user has pressed Ctrl-C; call it at least once a second."""


class Workers(Protocol):
    """Executes runs."""

    @property
    def jobs(self) -> int | None:
        """Number of concurrent runs; ``None``: unknown."""

    def carry_out(self, tasks: Sequence[Task], report: Report) -> None:
        """Execute each run once and report it when finished; an exception of the report ends the batch."""
