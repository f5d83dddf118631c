"""Memory limits of runs on this machine."""

import os
from contextlib import suppress
from pathlib import Path

from airwnd import _native
from airwnd.support.errors import InputError

# Fraction of the free memory for runs. The rest is for the tables of their results, and for other programs.
_SHARE = 0.8
# A vector that grows has twice the size of its contents, and is copied from one of half that size: with a
# limit on the address space, rather than on the memory in use, contents may take a third of it.
_GROWTH = 3
# Limit and current usage of a container, in versions 2 and 1 of Linux control groups.
_GROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)


def share(runs: int = 1, maximum: int | str | None = None) -> int:
    """Return the memory limit of each of several concurrent runs, in bytes.

    Parameters
    ----------
    runs
        Number of concurrent runs.
    maximum
        Limit of each run: bytes, or a text with a unit as in ``"2GB"``. ``None``: all runs share 80 % of the
        memory that is free now. Limits of the process, as by ``ulimit -v``, hold in any case.
    """
    if maximum is None:
        return int(_SHARE * free() / max(1, runs))
    if isinstance(maximum, str):
        try:
            maximum = _native.parse_bytes(maximum)
        except _native.ScenarioError as error:
            raise InputError(f"max_memory: {error}") from None
    if maximum < 1:
        raise InputError(f"max_memory: {maximum} bytes; expected at least 1")
    return min([maximum, *(max(1, int(_SHARE * limit)) for limit in _limited())])


def free() -> int:
    """Return the bytes this process may still allocate, by the limits of machine, container and process."""
    import psutil

    amounts: list[int] = [psutil.virtual_memory().available]
    for limit, taken in _GROUPS:
        # Without a limit the file is missing, or contains "max".
        with suppress(OSError, ValueError):
            amounts.append(int(Path(limit).read_text()) - int(Path(taken).read_text()))
    return max(0, min([*amounts, *_limited()]))


def _limited() -> list[int]:
    """Return the bytes for contents in the limited address spaces of this process, one number each."""
    if os.name != "posix":
        return []
    import resource

    import psutil

    taken = psutil.Process().memory_info()
    limits = ((resource.RLIMIT_AS, taken.vms), (resource.RLIMIT_DATA, getattr(taken, "data", 0)))
    return [
        max(0, (soft - used) // _GROWTH)
        for limit, used in limits
        if (soft := resource.getrlimit(limit)[0]) != resource.RLIM_INFINITY
    ]
