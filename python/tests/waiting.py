"""Waiting for events. No test depends on the speed of the machine, so waits have no timeout.

A test that hangs is ended by `faulthandler_timeout` in pyproject.toml.
"""

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def running(
    command: list[str],
    cwd: Path,
    *,
    stdin: int | None = None,
    stdout: int | None = None,
    stderr: int | None = None,
) -> "Iterator[subprocess.Popen[str]]":
    """Run a process, and kill it at the end: a failed test must not wait for one that is endless."""
    with subprocess.Popen(command, cwd=cwd, stdin=stdin, stdout=stdout, stderr=stderr, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_until(condition: Callable[[], bool], process: "subprocess.Popen[Any] | None" = None) -> None:
    """Wait until a condition holds; if a process must fulfil it, as long as the process lives."""
    while True:
        alive = process is None or process.poll() is None
        if condition():
            return
        assert alive, "the process ended before the condition held"
        time.sleep(0.01)
