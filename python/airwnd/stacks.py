"""TCP stacks, selected by ``tcp.stack``."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

from airwnd import _native


@dataclass(frozen=True, slots=True)
class Stack:
    """Defaults of a TCP implementation.

    Attributes
    ----------
    name
        The word that selects it.
    values
        Value of each key of ``[tcp]``; ``None``: no value.
    """

    name: str
    values: Mapping[str, Any]


@cache
def stacks() -> Mapping[str, Stack]:
    """All stacks by name, in the engine's order."""
    found = {
        raw["name"]: Stack(raw["name"], MappingProxyType(raw["values"]))
        for raw in json.loads(_native.stacks())
    }
    return MappingProxyType(found)


def stack(name: str) -> Stack:
    """Return the stack that a valid scenario names."""
    return stacks()[name]
