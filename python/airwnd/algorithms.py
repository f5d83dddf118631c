"""What the engine offers: families of algorithms, their members, and the members' parameters."""

import difflib
import json
from dataclasses import dataclass
from typing import Any

from airwnd import _native
from airwnd.errors import InputError


@dataclass(frozen=True, slots=True)
class Parameter:
    """A setting of an algorithm.

    Attributes
    ----------
    name
        The key in a scenario.
    meaning
        One sentence.
    unit
        The unit, ``"1"`` for a pure number.
    default
        As it would be written; ``None`` if a value is required or if the default is "none".
    required
        Whether a scenario must give a value.
    range
        Least and greatest allowed value, both included.
    source
        Paper, RFC or specification with the place in it.
    """

    name: str
    meaning: str
    unit: str
    default: Any
    required: bool
    range: tuple[str, str] | None
    source: str


@dataclass(frozen=True, slots=True)
class Algorithm:
    """A member of a family.

    Attributes
    ----------
    name
        The word that selects it in a scenario.
    family
        The family's word.
    summary
        One sentence.
    details
        Equations, and choices where the source is ambiguous.
    source
        Paper, RFC or specification that defines it.
    params
        Its parameters in the order of their declaration.
    """

    name: str
    family: str
    summary: str
    details: str
    source: str
    params: tuple[Parameter, ...]


@dataclass(frozen=True, slots=True)
class Family:
    """Algorithms that can stand in for each other.

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
        If there is none; the message names the nearest.
    """
    families = {family.name: family for family in catalogue()}
    if name not in families:
        raise InputError(_unknown("family", name, list(families)))
    return families[name]


def find(name: str) -> list[Algorithm]:
    """Find the algorithms called `name`, which may be written ``family/name``.

    Raises
    ------
    InputError
        If there is none; the message names the nearest.
    """
    among, _, word = name.rpartition("/")
    families = [family(among)] if among else list(catalogue())
    members = [member for family in families for member in family.members]
    found = [member for member in members if member.name == word]
    if not found:
        raise InputError(_unknown("algorithm", word, [member.name for member in members]))
    return found


def _family(raw: dict[str, Any]) -> Family:
    return Family(
        name=raw["name"],
        summary=raw["summary"],
        members=tuple(_algorithm(member, raw["name"]) for member in raw["members"]),
    )


def _algorithm(raw: dict[str, Any], family: str) -> Algorithm:
    return Algorithm(
        name=raw["name"],
        family=family,
        summary=raw["summary"],
        details=raw["details"],
        source=raw["source"],
        params=tuple(_parameter(param) for param in raw["params"]),
    )


def _parameter(raw: dict[str, Any]) -> Parameter:
    return Parameter(
        name=raw["name"],
        meaning=raw["meaning"],
        unit=raw["unit"],
        default=raw["default"],
        required=raw["required"],
        range=tuple(raw["range"]) if raw["range"] else None,
        source=raw["source"],
    )


def _unknown(what: str, word: str, allowed: list[str]) -> str:
    near = difflib.get_close_matches(word, allowed, n=3)
    hint = f"did you mean {_or(near)}?" if near else f"`airwnd list` shows all; some are {_or(allowed[:8])}"
    return f"unknown {what} `{word}`; {hint}"


def _or(words: list[str]) -> str:
    return " or ".join(f"`{word}`" for word in words)
