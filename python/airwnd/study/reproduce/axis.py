"""Axes of an experiment: what it varies.

An axis is a list of values of one key::

    [[axis]]
    name = "users"
    label = "Number of users"
    key = "ue[0].count"
    values = [20, 40, 60]

or a list of levels, each of which sets any keys::

    [[axis]]
    name = "method"
    label = "Receive window"
    [[axis.level]]
    name = "arwa"
    label = "ARWA"
    set = { "flow[0].rwnd" = "arwa" }

A level may also select rows of a run's tables, for flows that are compared within one run: with
``where = { group = "arwa" }`` it represents these flows in all measures and plots of flows, samples and
events. Settings that differ only in such levels share their runs.

A level with ``context = true`` is shown for comparison only: a frontier (:mod:`airwnd.study.reproduce.plot`)
draws it as a hollow point.

Values that the paper leaves open are an axis with ``open``, which states the reason::

    [[axis]]
    name = "radius"
    label = "Radius (m)"
    open = "The paper does not give the cell's radius."
    key = "ue[0].placement.radius"
    values = ["500m", "650m"]
    shown = "650m"

A claim is judged separately at each of its levels (:mod:`airwnd.study.reproduce.claims`). Plots and tables
show the level ``shown``; default: the first level.

An axis may exist only for some levels of other axes: with ``when = { method = ["drwa"] }`` it varies only the
runs of DRWA (:mod:`airwnd.study.reproduce.space`). The changes of levels are applied in the order of the axes
in the file.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

from msgspec import Meta, field

from airwnd.study.reproduce.measure import Rows, Where, check_where, rows_of
from airwnd.study.reproduce.reader import (
    LARGEST,
    LONGEST_NAME,
    MAX_LEVELS,
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
        Changes of the scenario; ``set`` in the file.
    """

    name: Annotated[Text, Meta(description="Name in data and expressions.", max_length=LONGEST_NAME)]
    label: Annotated[Heading, Meta(description="Label in plots and tables.")]
    changes: Settings = field(name="set", default_factory=dict)
    where: Where = field(default_factory=dict)
    context: Annotated[bool, Meta(description="Shown for comparison only.")] = False

    def __post_init__(self) -> None:
        check_where(self.where, "flows")

    @property
    def rows(self) -> Rows:
        """Selection of the flows of a run; empty: all flows."""
        return rows_of(self.where)


# An axis has either a key with values, or levels.
_ONE_FORM: dict[str, Any] = {
    "oneOf": [{"required": ["key"]}, {"required": ["level"]}],
    "dependentRequired": {"key": ["values"], "values": ["key"], "shown": ["open"]},
}


class AxisEntry(Entry, frozen=True):
    """An ``[[axis]]``."""

    name: Name
    label: Annotated[Heading, Meta(description="Label in plots and tables, with the unit.")]
    key: Annotated[Text | None, Meta(description="Key of the scenario that is varied.")] = None
    values: Annotated[Words | None, Meta(extra_json_schema={"uniqueItems": True})] = None
    level: Annotated[tuple[Level, ...], Meta(min_length=1, max_length=MAX_LEVELS)] | None = None
    open: Annotated[
        Text | None,
        Meta(description="What the paper leaves open: the reason for varying the axis."),
    ] = None
    shown: Annotated[
        Word | None, Meta(description="Level of an open axis shown in plots and tables; default: the first.")
    ] = None
    when: Annotated[
        dict[str, Words], Meta(description="Levels of other axes for which the axis exists; default: all.")
    ] = field(default_factory=dict)

    _fewest: ClassVar[int] = 2
    """Minimum number of levels of an open axis."""

    def __post_init__(self) -> None:
        if (self.key is None) != (self.values is None) or (self.key is None) == (self.level is None):
            raise Mistake("", "an axis needs `values` with `key`, or [[axis.level]]")
        names = [level.name for level in self.levels]
        distinct("the levels", names)
        if "" in names:
            raise Mistake("", "a level needs a name")
        if self.open is None and self.shown is not None:
            raise Mistake("shown", "only an axis with `open` can have `shown`")
        if self.open is not None and len(names) < self._fewest:
            raise Mistake("open", f"an open axis needs at least two levels, found only {names[0]}")
        if self.shown is not None:
            one_of("shown", str(self.shown), names)
        for axis, chosen in self.when.items():
            distinct(f"the levels of `{axis}`", map(str, chosen), "when")

    @property
    def levels(self) -> tuple[Level, ...]:
        """The listed levels, or one level for each value."""
        if self.key is None:
            return self.level or ()
        return tuple(
            Level(name=str(value), label=str(value), changes={self.key: value}) for value in self.values or ()
        )


AxisShape = Annotated[AxisEntry, Meta(extra_json_schema=_ONE_FORM)]


@dataclass(frozen=True, slots=True)
class Axis:
    """A checked axis.

    Attributes
    ----------
    open
        Why the axis is varied, if the paper leaves it open; ``None``: the paper varies it.
    shown
        Level of an open axis that plots and tables show.
    when
        Levels of other axes for which the axis exists: all must match.
    """

    name: str
    label: str
    levels: tuple[Level, ...]
    open: str | None
    shown: str
    when: Mapping[str, tuple[str, ...]]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the levels."""
        return tuple(level.name for level in self.levels)

    def level(self, name: str) -> Level:
        """Find a level by its name."""
        return self.levels[self.names.index(name)]

    @property
    def positions(self) -> tuple[float, ...] | None:
        """Positions of the levels on a numeric axis: ``10240``, or ``10KiB`` if all have the same unit.

        ``None``: the levels are words.
        """
        matches = [_NUMBER.fullmatch(level.name) for level in self.levels]
        found = [match for match in matches if match]
        if len(found) < len(matches) or len({match[2] for match in found}) > 1:
            return None
        numbers = tuple(float(match[1]) for match in found)
        return numbers if max(map(abs, numbers)) <= LARGEST else None

    @classmethod
    def of(cls, entry: AxisEntry) -> Self:
        """Create an axis from an ``[[axis]]``."""
        return cls(
            name=entry.name,
            label=entry.label,
            levels=entry.levels,
            open=entry.open,
            shown=str(entry.levels[0].name if entry.shown is None else entry.shown),
            when={axis: tuple(map(str, levels)) for axis, levels in entry.when.items()},
        )
