"""Quirks: behaviour that exists only because another simulator has it, selected by ``compat``."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from airwnd import _native


@dataclass(frozen=True, slots=True)
class Quirk:
    """A quirk of a simulator.

    Attributes
    ----------
    section
        Section, as ``"rlc"``, or member of a family, as ``"aqm/codel"``.
    name
        Name, as in ``compat_without``.
    meaning
        One sentence or more.
    value
        Its value.
    default
        Value without it.
    source
        Origin of the value: a class with an attribute or a function of the other simulator.
    """

    section: str
    name: str
    meaning: str
    value: Any
    default: Any
    source: str


@dataclass(frozen=True, slots=True)
class Compat:
    """Quirks of a simulator, selected by ``compat = "NAME"`` in a scenario.

    Attributes
    ----------
    name
        The word that selects it.
    summary
        One sentence.
    quirks
        Its quirks.
    """

    name: str
    summary: str
    quirks: tuple[Quirk, ...]


def quirks(raw: Iterable[Mapping[str, Any]]) -> tuple[Quirk, ...]:
    """Return the quirks that the engine describes."""
    return tuple(Quirk(**quirk) for quirk in raw)


@cache
def compats() -> tuple[Compat, ...]:
    """All simulators with quirks, in the engine's order."""
    return tuple(
        Compat(raw["name"], raw["summary"], quirks(raw["quirks"])) for raw in json.loads(_native.compats())
    )
