"""The sections of a scenario and their keys."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import Any

from airwnd import _native
from airwnd.vocabulary.algorithms import Parameter, parameter, schema, without_none
from airwnd.vocabulary.stacks import stacks


@dataclass(frozen=True, slots=True)
class Section:
    """A section of a scenario.

    Attributes
    ----------
    name
        Path, as ``"mac.olla"``; empty for the top level.
    heading
        Heading in TOML, as ``"[mac.olla]"`` or ``"[[site]]"``; empty for the top level.
    summary
        One sentence.
    details
        Further explanation.
    source
        Paper, RFC or specification that defines it.
    keys
        Keys by name.
    """

    name: str
    heading: str
    summary: str
    details: str
    source: str
    keys: Mapping[str, Parameter]


@cache
def sections() -> Mapping[str, Section]:
    """All sections by name, the top level first."""
    whole = schema()
    found = [
        _section(raw, _described(whole, raw["heading"].strip("[]"))) for raw in json.loads(_native.sections())
    ]
    return MappingProxyType({section.name: section for section in found})


def _section(raw: dict[str, Any], described: Mapping[str, Any]) -> Section:
    heading = raw["heading"]
    declared = {each["name"]: each for each in raw["params"]}
    keys = {
        name: parameter(declared.get(name) or _inferred(name, each), each) for name, each in described.items()
    }
    if heading in ("[tcp]", "[flow.tcp]"):
        # The default of a key is the value of the stack, so a stack's value is the best example.
        for stack in stacks().values():
            for name, value in stack.values.items():
                keys[name] = keys[name] if value is None else replace(keys[name], example=value)
    return Section(
        name=heading.strip("[]"),
        heading=heading,
        summary=raw["summary"],
        details=raw["details"],
        source=raw["source"],
        keys=MappingProxyType(keys),
    )


def _described(whole: Mapping[str, Any], path: str) -> Mapping[str, Any]:
    """Return the schemas of the keys at a path."""
    found = whole
    for part in filter(None, path.split(".")):
        found = without_none(found["properties"][part])
        found = found.get("items", found)
    keys: Mapping[str, Any] = found["properties"]
    return keys


def _inferred(name: str, described: Mapping[str, Any]) -> dict[str, Any]:
    """Describe a key that is declared only in the schema, such as `kind` of a link."""
    meaning, _, source = described["description"].partition(" Source: ")
    default = described.get("default")
    return {
        "name": name,
        "meaning": meaning,
        "unit": "1",
        "default": default,
        "required": default is None,
        "range": None,
        "source": source.rstrip("."),
        "level": described["x-level"],
    }
