"""What an experiment varies.

A list of values of one key::

    [[axis]]
    name = "users"
    label = "Number of users"
    key = "ue[0].count"
    values = [20, 40, 60]

or levels that each set what they like::

    [[axis]]
    name = "method"
    label = "Receive window"
    [[axis.level]]
    name = "arwa"
    label = "ARWA"
    set = { "flow[0].rwnd" = "arwa" }

A level may also choose rows of what a run gives, for flows that are compared within one run: with
``where = { group = "arwa" }`` it stands for these flows in all measures and plots of flows, samples and
events. Settings that differ in such levels only share their runs.

With ``context = true`` a level is shown for comparison: a frontier (:mod:`airwnd.reproduce.plot`) draws it
hollow.

What the paper leaves open is an axis with ``open``, the reason::

    [[axis]]
    name = "radius"
    label = "Radius (m)"
    open = "The paper does not give the cell's radius."
    key = "ue[0].placement.radius"
    values = ["500m", "650m"]
    shown = "650m"

A claim is judged at each of its levels by itself (:mod:`airwnd.reproduce.claims`); plots and tables stand at
the level ``shown``, the first one without it.

An axis may exist for some levels of other axes only: with ``when = { method = ["drwa"] }`` it varies the
runs of DRWA, and those of other methods are the same whatever its level (:mod:`airwnd.reproduce.space`). What
levels set is applied in the order of the axes in the file.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Self

from msgspec import Meta, field

from airwnd.reproduce.measure import Rows, Where, check_where, rows_of
from airwnd.reproduce.reader import (
    LARGEST,
    LONGEST_NAME,
    MOST_LEVELS,
    Entry,
    Heading,
    Mistake,
    Name,
    Settings,
    Text,
    Word,
    Words,
    distinct,
    one_of,
)

_NUMBER = re.compile(r"([-+]?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)\s*(\D*)")


class Level(Entry, frozen=True):
    """A value of an axis, as ``[[axis.level]]``.

    Attributes
    ----------
    changes
        What it sets in the scenario; ``set`` in the file.
    """

    name: Annotated[Text, Meta(description="In data and expressions.", max_length=LONGEST_NAME)]
    label: Annotated[Heading, Meta(description="In plots and tables.")]
    changes: Settings = field(name="set", default_factory=dict)
    where: Where = field(default_factory=dict)
    context: Annotated[bool, Meta(description="Shown for comparison only.")] = False

    def __post_init__(self) -> None:
        check_where(self.where, "flows")

    @property
    def rows(self) -> Rows:
        """Which flows of a run it stands for; empty for all."""
        return rows_of(self.where)


# An axis is one key with values, or levels.
_ONE_FORM: dict[str, Any] = {
    "oneOf": [{"required": ["key"]}, {"required": ["level"]}],
    "dependentRequired": {"key": ["values"], "values": ["key"], "shown": ["open"]},
}


class AxisEntry(Entry, frozen=True):
    """An ``[[axis]]``."""

    name: Name
    label: Annotated[Heading, Meta(description="In plots and tables, with the unit.")]
    key: Annotated[Text | None, Meta(description="The scenario's key that takes the values.")] = None
    values: Annotated[Words | None, Meta(extra_json_schema={"uniqueItems": True})] = None
    level: Annotated[tuple[Level, ...], Meta(min_length=1, max_length=MOST_LEVELS)] | None = None
    open: Annotated[
        Text | None,
        Meta(description="Why it is varied though the paper does not: what the paper leaves open."),
    ] = None
    shown: Annotated[
        Word | None, Meta(description="The level of an open axis that plots and tables show; else the first.")
    ] = None
    when: Annotated[
        dict[str, Words], Meta(description="Levels of other axes for which it exists; for all without it.")
    ] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if (self.key is None) != (self.values is None) or (self.key is None) == (self.level is None):
            raise Mistake("", "an axis needs `values` with `key`, or [[axis.level]]")
        names = [level.name for level in self.levels]
        distinct("the levels", names)
        if "" in names:
            raise Mistake("", "a level needs a name")
        if self.open is None and self.shown is not None:
            raise Mistake("shown", "only an axis with `open` stands at one level")
        if self.open is not None and len(names) == 1:
            raise Mistake("open", f"what is open needs at least two levels, found {names[0]} only")
        if self.shown is not None:
            one_of("shown", str(self.shown), names)
        for axis, chosen in self.when.items():
            distinct(f"the levels of `{axis}`", map(str, chosen), "when")

    @property
    def levels(self) -> tuple[Level, ...]:
        """The levels, as the file lists them or one for each value."""
        if self.key is None:
            return self.level or ()
        return tuple(
            Level(name=str(value), label=str(value), changes={self.key: value}) for value in self.values or ()
        )


AxisShape = Annotated[AxisEntry, Meta(extra_json_schema=_ONE_FORM)]


@dataclass(frozen=True, slots=True)
class Axis:
    """What is varied.

    Attributes
    ----------
    open
        Why, if the paper leaves it open; ``None`` if the paper varies it itself.
    shown
        The level of an open axis at which plots and tables stand.
    when
        For which levels of other axes it exists: all must match.
    """

    name: str
    label: str
    levels: tuple[Level, ...]
    open: str | None
    shown: str
    when: Mapping[str, tuple[str, ...]]

    @property
    def names(self) -> tuple[str, ...]:
        """The levels' names."""
        return tuple(level.name for level in self.levels)

    def level(self, name: str) -> Level:
        """Find a level by its name."""
        return self.levels[self.names.index(name)]

    @property
    def positions(self) -> tuple[float, ...] | None:
        """Where the levels lie on a numeric axis: ``10240``, or ``10KiB`` if all have the same unit.

        ``None`` if they are words.
        """
        matches = [_NUMBER.fullmatch(level.name) for level in self.levels]
        found = [match for match in matches if match]
        if len(found) < len(matches) or len({match[2] for match in found}) > 1:
            return None
        numbers = tuple(float(match[1]) for match in found)
        return numbers if max(map(abs, numbers)) <= LARGEST else None

    @classmethod
    def of(cls, entry: AxisEntry) -> Self:
        """Take an ``[[axis]]``."""
        return cls(
            name=entry.name,
            label=entry.label,
            levels=entry.levels,
            open=entry.open,
            shown=str(entry.levels[0].name if entry.shown is None else entry.shown),
            when={axis: tuple(map(str, levels)) for axis, levels in entry.when.items()},
        )
