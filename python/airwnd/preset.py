"""Presets: values of another simulator or of an earlier version for what a scenario does not write."""

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
        The section, as ``"tcp"`` or ``"ue"``, or the member of a family, as ``"aqm/codel"``.
    key
        The key there.
    value
        The value as it would be written.
    default
        airwnd's own default; ``None`` for none.
    source
        Where the value comes from: a class and an attribute or a function of the simulator.
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
        What it stands for.
    values
        What it sets.
    """

    name: str
    summary: str
    values: tuple[PresetValue, ...]


def presets() -> tuple[Preset, ...]:
    """All presets.

    Returns
    -------
    tuple[Preset, ...]
        The presets with their values, each with airwnd's own default.

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
