"""Processor time, wall-clock time and peak memory of a program."""

import os
import re
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread

_POLL_INTERVAL_S = 0.005


@dataclass(frozen=True, slots=True)
class Finished:
    """A finished program.

    Attributes
    ----------
    output
        What it has printed.
    cpu_s
        Processor time in seconds, of user and system.
    wall_s
        Wall-clock time in seconds.
    megabytes
        Peak of its resident memory, up to 5 ms before its end.
    """

    output: str
    cpu_s: float
    wall_s: float
    megabytes: float


def finished(command: Sequence[str], environment: Mapping[str, str] | None = None) -> Finished:
    """Run a command, with these variables added to the environment."""
    with tempfile.TemporaryFile("w+") as output:
        begin = time.perf_counter()
        process = subprocess.Popen(command, stdout=output, env={**os.environ, **(environment or {})})
        ended, peaks = Event(), [0.0]
        watching = Thread(target=_watch, args=(process.pid, ended, peaks))
        watching.start()
        _, status, used = os.wait4(process.pid, 0)
        wall_s = time.perf_counter() - begin
        ended.set()
        watching.join()
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
        output.seek(0)
        return Finished(output.read(), used.ru_utime + used.ru_stime, wall_s, max(peaks))


def _watch(pid: int, ended: Event, peaks: list[float]) -> None:
    """Append the peak memory until the process ends.

    The peak that the system reports at the end includes this process, of which the other was a copy.
    """
    while not ended.wait(_POLL_INTERVAL_S):
        with suppress(OSError):
            found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(encoding="ascii"))
            if found:
                peaks.append(int(found[1]) * 1024 / 1e6)
