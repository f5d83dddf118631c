"""Topics of ``airwnd explain``, by name."""

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from airwnd.support.errors import InputError
from airwnd.vocabulary.algorithms import Algorithm, Family, Parameter, catalogue
from airwnd.vocabulary.columns import Column, Table, tables
from airwnd.vocabulary.glossary import Term, terms
from airwnd.vocabulary.presets import Preset, presets
from airwnd.vocabulary.quirks import Compat, compats
from airwnd.vocabulary.sections import Section, sections
from airwnd.vocabulary.stacks import Stack, stacks

Explained: TypeAlias = (
    Algorithm | Family | Parameter | Column | Table | Preset | Compat | Section | Stack | Term
)


@dataclass(frozen=True, slots=True)
class Topic:
    """A named topic.

    Attributes
    ----------
    name
        Full name, as ``cc/newreno``, ``preset/ns3.44``, ``rlc.queue`` or ``flows.delay_ms_p95``.
    what
        Object that the topic explains.
    short
        Alternative names.
    holder
        Algorithm of a parameter; ``None`` for other topics.
    """

    name: str
    what: Explained
    short: tuple[str, ...] = ()
    holder: Algorithm | None = None


def find(name: str) -> list[Topic]:
    """Find the topics of a name; indices, as in ``flow[0].cc``, are ignored.

    Raises
    ------
    InputError
        If there is no such topic; the message suggests the closest names.
    """
    wanted = re.sub(r"\[[^]]*\]", "", name).lower()
    things, details = _things(), _details()
    defined = [topic for topic in _terms() if wanted in (topic.name, *topic.short)]
    found = (
        [topic for topic in things if wanted in (topic.name, *topic.short)]
        or [topic for topic in details if wanted == topic.name]
        or [topic for topic in details if wanted in topic.short]
        or ([] if defined else list(_parameters(wanted)))
    )
    if not (defined or found):
        known = {
            each: None for topic in (*things, *details, *_terms()) for each in (topic.name, *topic.short)
        }
        near = difflib.get_close_matches(wanted, known, n=3)
        words = " or ".join(f"`{each}`" for each in near)
        hint = f"did you mean {words}?" if near else "`airwnd list` shows algorithms, stacks and presets"
        raise InputError(f"unknown name `{name}`; {hint}")
    return [*defined, *found]


def names() -> list[str]:
    """Return the usual name of each topic: the name of an algorithm, the full path of a key or a column."""
    things = (topic.short[0] if isinstance(topic.what, Algorithm) else topic.name for topic in _things())
    return [*things, *(topic.name for topic in (*_details(), *_terms()))]


@cache
def _things() -> tuple[Topic, ...]:
    """Return the top-level topics: families and members, stacks, presets, tables and sections."""
    members = [member for family in catalogue() for member in family.members]
    return (
        *(Topic(preset.name, preset, ("preset", f"preset/{preset.name}")) for preset in presets()),
        *(Topic(compat.name, compat, (f"compat/{compat.name}",)) for compat in compats()),
        *(Topic(stack.name, stack, ("stack", f"stack/{stack.name}")) for stack in stacks().values()),
        *(Topic(family.name, family) for family in catalogue()),
        *(Topic(f"{member.family}/{member.name}", member, (member.name,)) for member in members),
        *(Topic(table.name, table) for table in tables().values()),
        *(Topic(section.name, section) for section in sections().values() if section.name),
    )


@cache
def _details() -> tuple[Topic, ...]:
    """Return the keys of sections and the columns of tables."""
    keys = [
        Topic(f"{section.name}.{key.name}".strip("."), key, (key.name,))
        for section in sections().values()
        for key in section.keys.values()
    ]
    columns = [
        Topic(f"{table.name}.{column.name}", column, tuple(_stems(table, column)))
        for table in tables().values()
        for column in table.columns.values()
    ]
    return (*keys, *columns)


@cache
def _terms() -> tuple[Topic, ...]:
    """Return the terms of the glossary, by name, symbol and other words for the same concept."""
    return tuple(
        Topic(term.name.lower(), term, tuple(each.lower() for each in (term.symbol, *term.also) if each))
        for term in terms().values()
    )


def _stems(table: Table, column: Column) -> Iterator[str]:
    """Yield a column's heading, and the prefixes of its name, as ``delay`` of ``delay_ms_p95``."""
    yield column.short.lower()
    parts = column.name.split("_")
    for end in range(1, len(parts) + 1):
        stem = "_".join(parts[:end])
        yield stem
        yield f"{table.name}.{stem}"


def _parameters(path: str) -> Iterator[Topic]:
    """Find parameters of algorithms, as ``rlc.queue.buffer``, ``cubic.beta``, or ``numerology`` of any."""
    holder, _, name = path.rpartition(".")
    try:
        above = find(holder) if holder else [Topic(family.name, family) for family in catalogue()]
    except InputError:
        return
    families = {family.name: family for family in catalogue()}
    for topic in above:
        family = topic.what if isinstance(topic.what, Family) else None
        if isinstance(topic.what, Parameter) and topic.what.family:
            family = families[topic.what.family]
        members = [topic.what] if isinstance(topic.what, Algorithm) else family.members if family else ()
        for member in members:
            for param in member.params:
                if param.name == name:
                    yield Topic(f"{member.family}/{member.name}.{name}", param, holder=member)
