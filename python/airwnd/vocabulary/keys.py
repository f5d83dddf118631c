"""Keys of a scenario as ``--set`` takes them, with their levels."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from airwnd.vocabulary.algorithms import LEVELS, Level, Parameter, family
from airwnd.vocabulary.sections import sections


@dataclass(frozen=True, slots=True)
class Key:
    """A key with its path, as in ``rlc.queue.buffer`` or ``flow[download].cc``.

    Attributes
    ----------
    path
        The key with the sections above it; an entry of a list by its id or name, or by its index if it has
        none, or if the typed text has the index.
    level
        Level of the key, or of a section above it if that concerns fewer readers.
    words
        Allowed words, or the algorithms of the family that the key selects from; empty for other values.
    """

    path: str
    level: Level
    words: Sequence[str] = ()


def keys(scenario: Mapping[str, Any], begun: str) -> list[Key]:
    """Return the keys that begin with `begun`; those of an algorithm only if `begun` leads to it.

    Parameters
    ----------
    scenario
        Scenario as written, for the names of its entries and the algorithms that it selects.
    begun
        First letters.

    Examples
    --------
    >>> [key.path for key in keys({"flow": [{"id": "download"}]}, "flow[download].rw")]
    ['flow[download].rwnd']
    >>> [key.path for key in keys({}, "rlc.queue.")]
    ['rlc.queue.buffer', 'rlc.queue.packets']
    """
    return [key for key in _section("", "", "basic", scenario, begun) if key.path.startswith(begun)]


def _section(name: str, path: str, level: Level, written: object, begun: str) -> Iterator[Key]:
    """Yield the keys of a section at a path, of the sections below it, and of the algorithms on the path."""
    own: Mapping[str, Any] = written if isinstance(written, Mapping) else {}
    for key in sections()[name].keys.values():
        at, inner = f"{path}.{key.name}".strip("."), f"{name}.{key.name}".strip(".")
        lower, below = _lower(level, key.level), own.get(key.name)
        if inner not in sections():
            yield Key(at, lower, _words(key))
            if begun.startswith(f"{at}."):
                yield from _algorithm(key, at, lower, below)
        elif sections()[inner].heading.startswith("[["):
            for index, (entry, content) in enumerate(_entries(below)):
                # An entry with a name is also selected by its index.
                shown = index if begun.startswith(f"{at}[{index}]") else entry
                yield from _section(inner, f"{at}[{shown}]", lower, content, begun)
        else:
            yield from _section(inner, at, lower, below, begun)
    if name == "link":
        yield from _member("link", path, level, own.get("kind", "wire"))


def _entries(written: object) -> list[tuple[str, object]]:
    """Return the entries of a list by id, name or index; the first one if the list is not written."""
    entries = written if isinstance(written, list) and written else [{}]
    named = (each if isinstance(each, Mapping) else {} for each in entries)
    return [
        (str(name.get("id") or name.get("name") or index), each)
        for index, (name, each) in enumerate(zip(named, entries, strict=True))
    ]


def _algorithm(key: Parameter, path: str, level: Level, written: object) -> Iterator[Key]:
    """Yield the parameters of the algorithm that a key selects."""
    chosen = key.default if written is None else written
    kind = chosen.get("kind") if isinstance(chosen, Mapping) else chosen
    if key.family:
        yield from _member(key.family, path, level, kind)


def _member(name: str, path: str, level: Level, kind: object) -> Iterator[Key]:
    """Yield the parameters of a member of the family of a name."""
    for member in family(name).members:
        if member.name == kind:
            yield from (
                Key(f"{path}.{each.name}", _lower(level, each.level), _words(each)) for each in member.params
            )


def _words(key: Parameter) -> Sequence[str]:
    return [*key.words, *(member.name for member in (family(key.family).members if key.family else ()))]


def _lower(above: Level, own: Level) -> Level:
    return max(above, own, key=LEVELS.index)
