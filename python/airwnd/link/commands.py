"""Real UEs and their commands, as written on the command line."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from airwnd.support.errors import InputError

MARK, NEXT = "--", "--ue"
_SEVERAL = "write --ue NAME -- COMMAND for each UE"
# A line before the shell's first prompt.
_GREETING = (
    'echo "airwnd: a shell on UE $1; \'server\' is the other end; exit ends the session" >&2; exec "$0"'
)


@dataclass(frozen=True, slots=True)
class Part:
    """A COMMAND on the command line.

    Attributes
    ----------
    ue
        Name of its UE; ``None``: the first UE.
    command
        Its words; empty: the user's shell.
    """

    ue: str | None
    command: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Placed:
    """A command on a real UE.

    Attributes
    ----------
    ue
        Number of the UE in the scenario.
    name
        Name of the UE, as written by the user.
    command
        Words of the command.
    """

    ue: int
    name: str
    command: tuple[str, ...]


def split(arguments: Sequence[str]) -> tuple[list[str], list[Part]]:
    """Split a command line at ``--`` into airwnd's own arguments and the COMMANDs.

    A word ``--ue`` in a COMMAND begins the next UE.

    Examples
    --------
    >>> split(["cell.toml", "--ue", "a", "--", "ping", "server", "--ue", "b", "--", "sh"])[1]
    [Part(ue=None, command=('ping', 'server')), Part(ue='b', command=('sh',))]

    Raises
    ------
    InputError
        If ``--ue`` in a COMMAND is not followed by a name and ``--``.
    """
    if MARK not in arguments:
        return list(arguments), []
    begin = list(arguments).index(MARK)
    own, rest = list(arguments[:begin]), list(arguments[begin + 1 :])
    parts = []
    name = None
    while NEXT in rest:
        end = rest.index(NEXT)
        parts.append(Part(name, tuple(rest[:end])))
        name, *behind = rest[end + 1 :] or [""]
        if not behind or behind[0] != MARK:
            raise InputError(
                f"--ue {name}: {_SEVERAL}; a COMMAND with an option --ue of its own needs sh -c '...'"
            )
        rest = behind[1:]
    return own, [*parts, Part(name, tuple(rest))]


def named(parts: Sequence[Part], names: Sequence[str]) -> list[Part]:
    """Give the first COMMAND the UE that is named before ``--``.

    Raises
    ------
    InputError
        If a UE has no COMMAND, and it is not the only one.
    """
    if len(names) > 1:
        raise InputError(f"--ue {names[0]}: no COMMAND; {_SEVERAL}")
    first, *others = parts or [Part(None, ())]
    found = [Part(names[0] if names else None, first.command), *others]
    for part in found:
        if not part.command and len(found) > 1:
            ue = "the first UE" if part.ue is None else f"--ue {part.ue}"
            raise InputError(f"{ue}: no COMMAND; a shell runs on a single UE, without other COMMANDs")
    return found


def place(parts: Sequence[Part], scenario: Mapping[str, Any]) -> list[Placed]:
    """Find the UEs of the COMMANDs in a resolved scenario.

    Raises
    ------
    InputError
        If there is no such UE, or a UE has two COMMANDs.
    """
    placed: dict[int, Placed] = {}
    for part in parts:
        ue = 0 if part.ue is None else find(scenario["ue"], part.ue)
        name = _name(scenario["ue"], ue) if part.ue is None else part.ue
        if ue in placed:
            other = placed[ue].name
            raise InputError(f"two COMMANDs for one UE: {other if other == name else f'{other} is {name}'}")
        placed[ue] = Placed(ue, name, part.command or shell(name))
    return list(placed.values())


def find(groups: Sequence[Mapping[str, Any]], name: str) -> int:
    """Find a UE: a group's name is its first UE, ``GROUP-N`` its N-th from 0, ``ue-N`` as in results.

    Examples
    --------
    >>> groups = [{"name": "phone", "count": 2}, {"name": "car", "count": 1}]
    >>> find(groups, "car"), find(groups, "phone-1"), find(groups, "ue-2")
    (2, 1, 2)

    Raises
    ------
    InputError
        If there is no such UE; the message names those that exist.
    """
    begins: dict[str, int] = {}
    sizes: dict[str, int] = {}
    total = 0
    for group in groups:
        begins.setdefault(group["name"], total)
        sizes.setdefault(group["name"], group["count"])
        total += group["count"]
    if name in begins:
        return begins[name]
    if (match := re.fullmatch(r"ue-(\d{1,9})", name)) and int(match[1]) < total:
        return int(match[1])
    if (match := re.fullmatch(r"(.+)-(\d{1,9})", name)) and int(match[2]) < sizes.get(match[1], 0):
        return begins[match[1]] + int(match[2])
    known = ", ".join(
        group if size == 1 else f"{group}-0 to {group}-{size - 1}" for group, size in sizes.items()
    )
    raise InputError(f"--ue {name}: no such UE; there are {known}, or by number ue-0 to ue-{total - 1}")


def _name(groups: Sequence[Mapping[str, Any]], ue: int) -> str:
    """Return the name of a UE: that of its group, with its number in the group if there are several."""
    for group in groups:
        if ue < group["count"]:
            return str(group["name"]) if group["count"] == 1 else f"{group['name']}-{ue}"
        ue -= group["count"]
    raise AssertionError("the scenario has UEs")


def shell(name: str) -> tuple[str, ...]:
    """Return the command of the user's shell on a UE with this name."""
    return ("/bin/sh", "-c", _GREETING, os.environ.get("SHELL") or "/bin/sh", name)
