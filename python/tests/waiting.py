"""Waiting for events. No test depends on the speed of the machine, so waits have no timeout.

A test that hangs is ended by `faulthandler_timeout` in pyproject.toml.
"""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from subprocess import Popen


def wait_until(condition: Callable[[], bool], process: "Popen[Any] | None" = None) -> None:
    """Wait until a condition holds; if a process must fulfil it, as long as the process lives."""
    while True:
        alive = process is None or process.poll() is None
        if condition():
            return
        assert alive, "the process ended before the condition held"
        time.sleep(0.01)
