"""Waiting for events. No test depends on how fast the machine is, so a wait has no end of its own.

What hangs for good is ended by `faulthandler_timeout` in pyproject.toml.
"""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from subprocess import Popen


def wait_until(condition: Callable[[], bool], process: "Popen[str] | None" = None) -> None:
    """Wait for what others do; for what a process does, as long as it lives."""
    while True:
        alive = process is None or process.poll() is None
        if condition():
            return
        assert alive, "the process ended before what was waited for"
        time.sleep(0.01)
