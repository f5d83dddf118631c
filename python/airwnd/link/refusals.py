"""Congestion controls that a session's programs name and its user may not choose."""

import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

#: Folder of the host's sysctls of TCP.
SYSCTLS = Path("/proc/sys/net/ipv4")
# A script that is a word of a command is read up to this size in bytes.
_SCRIPT_LIMIT = 64 * 1024


def refusals(commands: Iterable[Sequence[str]], sysctls: Path | None = None) -> list[str]:
    """Return a line for each congestion control in the commands that an ordinary user may not choose.

    Programs such as iperf3 report that the host does not have it. Words of the commands are searched, and
    scripts that are words. Root may choose each one: no line.

    Parameters
    ----------
    commands
        The commands of a session.
    sysctls
        Folder of ``tcp_available_congestion_control`` and the like; ``None``: the host's.
    """
    if os.geteuid() == 0:
        return []
    folder = sysctls or SYSCTLS
    available, allowed = (
        _names(folder / f"tcp_{which}_congestion_control") for which in ("available", "allowed")
    )
    named = set(re.findall(r"\w+", " ".join(_texts(commands))))
    return [
        f"{name}: an ordinary user may choose {', '.join(allowed)} only; allow it with: "
        f"sudo sysctl -w net.ipv4.tcp_allowed_congestion_control='{' '.join([*allowed, name])}'"
        for name in available
        if name in named and name not in allowed
    ]


def _names(path: Path) -> list[str]:
    # Without the file there is nothing to say.
    with suppress(OSError):
        return path.read_text(encoding="ascii").split()
    return []


def _texts(commands: Iterable[Sequence[str]]) -> Iterable[str]:
    for word in (word for command in commands for word in command):
        yield word
        with suppress(OSError, ValueError):
            if Path(word).is_file():
                with Path(word).open(encoding="utf-8") as file:
                    yield file.read(_SCRIPT_LIMIT)
