"""How much memory runs may take on this machine."""

import os
from contextlib import suppress
from pathlib import Path

from airwnd import _native
from airwnd.errors import InputError

# What is left of the free memory is for the tables that runs are made into, and for others.
_SHARE = 0.8
# Limits of a container, in the second and the first version of Linux' control groups, with what is taken.
_GROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)


def share(runs: int = 1, most: int | str | None = None) -> int:
    """Give the most bytes that each of several runs at the same time may take.

    Parameters
    ----------
    runs
        How many run at the same time.
    most
        What a run may take: bytes, or a text with a unit as in ``"2GB"``. By default all runs share 80 % of
        the memory that is free now.
    """
    if most is None:
        return int(_SHARE * free() / max(1, runs))
    if isinstance(most, str):
        try:
            most = _native.parse_bytes(most)
        except _native.ScenarioError as error:
            raise InputError(f"max_memory: {error}") from None
    if most < 1:
        raise InputError(f"max_memory: {most} bytes hold nothing")
    return most


def free() -> int:
    """Count the bytes that this process may still take of the machine, its container and its own limits."""
    import psutil

    amounts: list[int] = [psutil.virtual_memory().available]
    for limit, taken in _GROUPS:
        # Without a limit the file is not there, or says "max".
        with suppress(OSError, ValueError):
            amounts.append(int(Path(limit).read_text()) - int(Path(taken).read_text()))
    if os.name == "posix":
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_AS)
        if soft != resource.RLIM_INFINITY:
            amounts.append(soft - psutil.Process().memory_info().vms)
    return max(0, min(amounts))
