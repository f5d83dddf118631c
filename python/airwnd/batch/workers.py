"""What it takes to make runs: the one thing that local processes and a cluster have in common."""

from collections.abc import Sequence
from typing import Protocol

from airwnd.batch.task import Finished, Task


class Report(Protocol):
    """Hears of each run, named by its place among the tasks, in the thread that called the workers."""

    def finished(self, index: int, result: Finished) -> None:
        """Take a finished run."""

    def failed(self, index: int, error: Exception) -> None:
        """Take the exception that a run ended with; the others go on."""

    def reached(self, index: int, fraction: float) -> None:
        """Take the finished fraction, 0 to 1, of a run under way."""

    def check(self) -> None:
        """Raise ``KeyboardInterrupt`` if the user has pressed Ctrl-C; to be called at least once a second."""


class Workers(Protocol):
    """Executes runs."""

    @property
    def jobs(self) -> int | None:
        """Runs at the same time, where that is known."""

    def carry_out(self, tasks: Sequence[Task], report: Report) -> None:
        """Make every run once and report each at once; what the report raises ends the whole."""
