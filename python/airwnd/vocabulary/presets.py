"""Presets: values of another simulator, or of an earlier version, for keys that a scenario does not set."""

import json
from dataclasses import dataclass
from typing import Any

from airwnd import _native


@dataclass(frozen=True, slots=True)
class PresetValue:
    """A value that a preset sets.

    Attributes
    ----------
    section
        Section, as ``"tcp"`` or ``"ue"``, or member of a family, as ``"aqm/codel"``.
    key
        Key in the section.
    value
        Value as a scenario would write it.
    default
        airwnd's default; ``None``: no default.
    source
        Origin of the value: a class with an attribute or a function of the other simulator.
    """

    section: str
    key: str
    value: Any
    default: Any
    source: str


@dataclass(frozen=True, slots=True)
class Preset:
    """Values of another simulator or of an earlier version, selected by ``preset = "NAME"`` in a scenario.

    Attributes
    ----------
    name
        The word that selects it.
    summary
        One sentence.
    values
        Values that the preset sets.
    """

    name: str
    summary: str
    values: tuple[PresetValue, ...]


def presets() -> tuple[Preset, ...]:
    """All presets.

    Returns
    -------
    tuple[Preset, ...]
        The presets with their values, and airwnd's default of each.

    Examples
    --------
    >>> import airwnd
    >>> [preset.name for preset in airwnd.presets()]
    ['airwnd-0.1', 'ns3.26', 'ns3.44']
    """
    return tuple(
        Preset(raw["name"], raw["summary"], tuple(PresetValue(**value) for value in raw["values"]))
        for raw in json.loads(_native.presets())
    )
