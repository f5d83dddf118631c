"""Memory limits of runs on this machine."""

import os
from contextlib import suppress
from pathlib import Path

from airwnd import _native
from airwnd.errors import InputError

# Fraction of the free memory for runs. The rest is for the tables of their results, and for other programs.
_SHARE = 0.8
# Limit and current usage of a container, in versions 2 and 1 of Linux control groups.
_GROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)


def share(runs: int = 1, most: int | str | None = None) -> int:
    """Return the memory limit of each of several concurrent runs, in bytes.

    Parameters
    ----------
    runs
        Number of concurrent runs.
    most
        Limit of each run: bytes, or a text with a unit as in ``"2GB"``. ``None``: all runs share 80 % of the
        memory that is free now.
    """
    if most is None:
        return int(_SHARE * free() / max(1, runs))
    if isinstance(most, str):
        try:
            most = _native.parse_bytes(most)
        except _native.ScenarioError as error:
            raise InputError(f"max_memory: {error}") from None
    if most < 1:
        raise InputError(f"max_memory: {most} bytes; expected at least 1")
    return most


def free() -> int:
    """Return the bytes this process may still allocate, by the limits of machine, container and process."""
    import psutil

    amounts: list[int] = [psutil.virtual_memory().available]
    for limit, taken in _GROUPS:
        # Without a limit the file is missing, or contains "max".
        with suppress(OSError, ValueError):
            amounts.append(int(Path(limit).read_text()) - int(Path(taken).read_text()))
    if os.name == "posix":
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_AS)
        if soft != resource.RLIM_INFINITY:
            amounts.append(soft - psutil.Process().memory_info().vms)
    return max(0, min(amounts))
