"""TCP stacks: what ``tcp.stack`` chooses."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

from airwnd import _native


@dataclass(frozen=True, slots=True)
class Stack:
    """A TCP implementation's defaults.

    Attributes
    ----------
    name
        The word that selects it.
    values
        The value of every key of ``[tcp]``; ``None``: no value.
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
