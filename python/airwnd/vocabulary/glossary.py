"""The terms of the project: one word for each concept."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Term:
    """A term of the glossary.

    Attributes
    ----------
    name
        The word that code, results, documentation and plots use.
    group
        Field that it belongs to: the heading in ``docs/glossary.md``.
    meaning
        Definition.
    source
        Where the concept is defined: RFC and section, 3GPP specification, or paper.
    code
        File or folder that implements it.
    symbol
        Abbreviation or symbol; empty if there is none.
    unit
        Unit of the quantity; empty if it is none.
    also
        Words for the same concept in the literature, which are not used here.
    see
        Names of keys, columns and families that ``airwnd explain`` knows.
    """

    name: str
    group: str
    meaning: str
    source: str
    code: str
    symbol: str = ""
    unit: str = ""
    also: tuple[str, ...] = ()
    see: tuple[str, ...] = ()


@cache
def terms() -> Mapping[str, Term]:
    """Return all terms by name, in the order of the page."""
    text = (resources.files("airwnd.vocabulary") / "glossary.toml").read_text(encoding="utf-8")
    entries = tomllib.loads(text)["term"]
    for entry in entries:
        entry.update({key: tuple(entry.get(key, ())) for key in ("also", "see")})
    found = {entry["name"]: Term(**entry) for entry in entries}
    if len(found) < len(entries):
        raise ValueError("glossary.toml defines a term twice")
    return MappingProxyType(found)
