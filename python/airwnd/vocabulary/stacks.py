"""TCP stacks, selected by ``tcp.stack``."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

from airwnd import _native
from airwnd.vocabulary.quirks import Quirk, quirks


@dataclass(frozen=True, slots=True)
class Stack:
    """Defaults of a TCP implementation.

    Attributes
    ----------
    name
        The word that selects it.
    values
        Value of each key of ``[tcp]``; ``None``: no value.
    quirks
        What it does only because this implementation does.
    """

    name: str
    values: Mapping[str, Any]
    quirks: tuple[Quirk, ...]


@cache
def stacks() -> Mapping[str, Stack]:
    """All stacks by name, in the engine's order."""
    found = {
        raw["name"]: Stack(raw["name"], MappingProxyType(raw["values"]), quirks(raw["quirks"]))
        for raw in json.loads(_native.stacks())
    }
    return MappingProxyType(found)


def stack(name: str) -> Stack:
    """Return the stack that a valid scenario names."""
    return stacks()[name]
