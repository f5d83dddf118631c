"""The engine's catalogue: families of algorithms, their members, and the members' parameters."""

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import zip_longest
from typing import Any, Literal, TypeAlias

from airwnd import _native
from airwnd.support.errors import InputError

#: Levels of parameters, those of most readers first.
LEVELS = ("basic", "advanced", "expert")
Level: TypeAlias = Literal["basic", "advanced", "expert"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of an algorithm, or a key of a scenario.

    Attributes
    ----------
    name
        The key in a scenario.
    meaning
        One sentence.
    unit
        The unit, ``"1"`` for a pure number.
    default
        Default as a scenario would write it; ``None`` if a value is required or if the default is "none".
    required
        Whether a scenario must set a value.
    range
        Minimum and maximum allowed value, inclusive.
    source
        Paper, RFC or specification, with section, table or equation.
    level
        ``"basic"``: what a first study sets; ``"advanced"``: what a specialist varies; ``"expert"``: details
        of an implementation, and special comparisons.
    words
        Allowed words with their meanings; empty if the value is not an enumeration.
    family
        Family of algorithms that the value selects from; ``None``: a plain value.
    example
        Example as a scenario would write it; ``None`` if there is no example.
    """

    name: str
    meaning: str
    unit: str
    default: Any
    required: bool
    range: tuple[str, str] | None
    source: str
    level: Level
    words: Mapping[str, str] = field(default_factory=dict)
    family: str | None = None
    example: Any = None


@dataclass(frozen=True, slots=True)
class Algorithm:
    """A member of a family.

    Attributes
    ----------
    name
        The word that selects it in a scenario.
    family
        Name of the family.
    summary
        One sentence.
    details
        Equations, and choices made where the source is ambiguous.
    source
        Paper, RFC or specification that defines it.
    params
        Parameters, the basic ones first, otherwise in the order of their declaration.
    """

    name: str
    family: str
    summary: str
    details: str
    source: str
    params: tuple[Parameter, ...]


@dataclass(frozen=True, slots=True)
class Family:
    """Interchangeable algorithms.

    Attributes
    ----------
    name
        The word that ``airwnd list`` takes, such as ``"rwnd"``.
    summary
        One sentence.
    members
        The algorithms in the order of the engine's list.
    """

    name: str
    summary: str
    members: tuple[Algorithm, ...]


@cache
def catalogue() -> tuple[Family, ...]:
    """All families in the engine's order.

    Returns
    -------
    tuple[Family, ...]
        The families with their members and the members' parameters.

    Examples
    --------
    >>> import airwnd
    >>> "drwa" in [member.name for family in airwnd.catalogue() for member in family.members]
    True
    """
    return tuple(_family(family) for family in json.loads(_native.catalogue()))


def schema() -> dict[str, Any]:
    """JSON Schema of a scenario, for editors and for validation without running.

    Returns
    -------
    dict
        A schema of draft 2020-12.

    Examples
    --------
    >>> import airwnd
    >>> airwnd.schema()["properties"]["duration"]["type"]
    'string'
    """
    found: dict[str, Any] = json.loads(_native.schema())
    return found


def family(name: str) -> Family:
    """Find the family called `name`.

    Raises
    ------
    InputError
        If there is no such family; the message suggests the closest names.
    """
    families = {family.name: family for family in catalogue()}
    if name not in families:
        raise InputError(_unknown("family", name, list(families)))
    return families[name]


def parameter(raw: Mapping[str, Any], described: Mapping[str, Any]) -> Parameter:
    """Build a parameter from the engine's declaration and the JSON Schema of its value."""
    words, family = _choice(described)
    default = raw["default"]
    return Parameter(
        name=raw["name"],
        meaning=raw["meaning"],
        unit=raw["unit"],
        default=default,
        required=raw["required"],
        range=tuple(raw["range"]) if raw["range"] else None,
        source=raw["source"],
        level=raw["level"],
        words=words,
        family=family,
        example=_example(described, raw) if default is None else default,
    )


def without_none(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Strip the alternative "none" from the schema of a value."""
    match schema:
        case {"anyOf": [value, {"const": "none"}, *_]}:
            return without_none(value)
    return schema


@cache
def _families() -> Mapping[tuple[str, ...], str]:
    """Map the names of the members of each family to the name of the family."""
    return {
        tuple(member["name"] for member in family["members"]): family["name"]
        for family in json.loads(_native.catalogue())
    }


def _choice(schema: Mapping[str, Any]) -> tuple[Mapping[str, str], str | None]:
    """Find the allowed words of a value, or the family that it selects from."""
    match without_none(schema):
        case {"anyOf": [{"enum": kinds}, *_]}:
            return {}, _families().get(tuple(kinds))
        case {"enum": words, **rest}:
            meanings = rest.get("enumDescriptions", ())
            return dict(zip_longest(words, meanings, fillvalue="")), None
    return {}, None


def _example(schema: Mapping[str, Any], raw: Mapping[str, Any]) -> Any:
    """Return an example value for a scenario; `raw` has the unit and the range."""
    match without_none(schema):
        case {"examples": [example, *_]}:
            return example
        case {"enum": [word, *_]} | {"anyOf": [{"enum": [word, *_]}, *_]}:
            return word
        case {"items": items, **rest}:
            return [_example(items, raw)] * rest.get("minItems", 1)
        case {"type": "integer" | "number" as kind}:
            return (int if kind == "integer" else float)(raw["range"][0])
        case {"type": "boolean"}:
            return True
    return None


def _family(raw: dict[str, Any]) -> Family:
    described = {
        member["properties"]["kind"]["const"]: member["properties"]
        for member in raw["schema"]["anyOf"]
        if "properties" in member
    }
    return Family(
        name=raw["name"],
        summary=raw["summary"],
        members=tuple(_algorithm(each, raw["name"], described[each["name"]]) for each in raw["members"]),
    )


def _algorithm(raw: dict[str, Any], family: str, described: Mapping[str, Any]) -> Algorithm:
    return Algorithm(
        name=raw["name"],
        family=family,
        summary=raw["summary"],
        details=raw["details"],
        source=raw["source"],
        params=tuple(
            sorted(
                (parameter(each, described[each["name"]]) for each in raw["params"]),
                key=lambda each: LEVELS.index(each.level),
            )
        ),
    )


def _unknown(what: str, word: str, allowed: list[str]) -> str:
    near = difflib.get_close_matches(word, allowed, n=3)
    hint = f"did you mean {_listed(near, ' or ')}?" if near else ""
    return f"unknown {what} `{word}`; {hint or f'`airwnd list` shows all, such as {_listed(allowed[:8])}'}"


def _listed(words: list[str], separator: str = ", ") -> str:
    return separator.join(f"`{word}`" for word in words)
