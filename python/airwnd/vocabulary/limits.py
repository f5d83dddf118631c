"""Limits of the models: differences from standards, papers and programs, and what is not modelled."""

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from airwnd import _native
from airwnd.support.errors import InputError


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit of a model.

    Attributes
    ----------
    id
        Name, as in its mark in the code.
    topic
        Key of :func:`topics`.
    importance
        1: changes results of ordinary scenarios by several per cent or more; 2: results of the scenarios that
        it affects; 3: small or rare.
    source
        Standard, paper or program from which the model differs.
    differs
        The difference.
    why
        The reason.
    affects
        Affected scenarios, UEs, flows or results.
    effect
        Size of the effect, where it is known.
    """

    id: str
    topic: str
    importance: int
    source: str
    differs: str
    why: str
    affects: str
    effect: str


@cache
def limits() -> tuple[Limit, ...]:
    """All limits, the most important first."""
    return tuple(Limit(**each) for each in json.loads(_native.limits())["limits"])


@cache
def topics() -> Mapping[str, str]:
    """Headings of the topics, by name."""
    return MappingProxyType(json.loads(_native.limits())["topics"])


def find(name: str) -> tuple[Limit, ...]:
    """Find the limits with this id, of this topic, or with this word in their texts.

    Raises
    ------
    InputError
        If there are none; the message suggests the closest names.
    """
    word = name.lower()
    found = (
        [each for each in limits() if each.id == word]
        or [each for each in limits() if each.topic == word]
        or [each for each in limits() if word in f"{each.id} {each.affects} {each.differs}".lower()]
    )
    if not found:
        near = difflib.get_close_matches(word, [*topics(), *(each.id for each in limits())], n=3)
        words = " or ".join(f"`{each}`" for each in near)
        hint = f"did you mean {words}?" if near else f"the topics are {', '.join(topics())}"
        raise InputError(f"no limit about `{name}`; {hint}")
    return tuple(found)
