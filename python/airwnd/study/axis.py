"""Axes of a study: what a sweep or an experiment varies.

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

or random points, at each of which all keys are drawn (:mod:`airwnd.study.draws`)::

    [[axis]]
    name = "point"
    random = { "rlc.queue.buffer" = "log:10KiB..1MiB:20", "ue[0].count" = "1..8:20" }

On the command line they are ``--grid KEY=VALUE,VALUE`` and ``--random KEY=LOW..HIGH:N``.

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
runs of DRWA (:mod:`airwnd.study.space`). The changes of levels are applied in the order of the axes in the
file.
"""

import dataclasses
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar, Self

from msgspec import Meta, field

from airwnd.scenario.scenario import as_toml
from airwnd.study.draws import Drawn, draw
from airwnd.study.reader import (
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
from airwnd.support.arguments import SEVERAL
from airwnd.support.errors import InputError
from airwnd.text.quantities import number_and_unit
from airwnd.vocabulary.columns import tables

Rows = Mapping[str, tuple[Any, ...]]
"""Allowed values by column."""

Where = Annotated[
    dict[str, Word | Words],
    Meta(description="Only rows with this value in this column, or with one of these values."),
]

_OPENING, _CLOSING, _QUOTES = "[{", "]}", "\"'"


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


# An axis has either a key with values, levels, or random points.
_ONE_FORM: dict[str, Any] = {
    "oneOf": [{"required": ["key"]}, {"required": ["level"]}, {"required": ["random"]}],
    "dependentRequired": {"key": ["values"], "values": ["key"], "shown": ["open"], "sample_seed": ["random"]},
}


class AxisEntry(Entry, frozen=True, kw_only=True):
    """An ``[[axis]]``."""

    name: Name
    label: Annotated[
        Heading | None, Meta(description="Label in plots and tables, with the unit; default: the name.")
    ] = None
    key: Annotated[Text | None, Meta(description="Key of the scenario that is varied.")] = None
    values: Annotated[Words | None, Meta(extra_json_schema={"uniqueItems": True})] = None
    level: Annotated[tuple[Level, ...], Meta(min_length=1, max_length=MAX_LEVELS)] | None = None
    random: Annotated[
        Annotated[dict[str, Text], Meta(min_length=1)] | None,
        Meta(description="Random draws by key, as LOW..HIGH:N or log:LOW..HIGH:N with equal N."),
    ] = None
    sample_seed: Annotated[
        Annotated[int, Meta(ge=0)] | None, Meta(description="Seed of the random draws; default: 1.")
    ] = None
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
        forms = [self.key, self.level, self.random]
        if (self.key is None) != (self.values is None) or sum(form is not None for form in forms) != 1:
            raise Mistake("", "an axis needs `values` with `key`, [[axis.level]], or `random`")
        if self.random is None and self.sample_seed is not None:
            raise Mistake("sample_seed", "only an axis with `random` can have `sample_seed`")
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
    def drawn(self) -> tuple[Drawn, ...]:
        """The random draws; empty: the levels are listed."""
        seed = 1 if self.sample_seed is None else self.sample_seed
        try:
            return tuple(draw(f"{key}={text}", seed) for key, text in (self.random or {}).items())
        except InputError as error:
            raise Mistake("", str(error)) from None

    @property
    def levels(self) -> tuple[Level, ...]:
        """The listed levels, or one level for each value or random point."""
        if self.random is not None:
            return _points(self.drawn)
        if self.key is None:
            return self.level or ()
        return tuple(
            Level(name=str(value), label=str(value), changes={self.key: value}) for value in self.values or ()
        )


AxisShape = Annotated[AxisEntry, Meta(extra_json_schema=_ONE_FORM)]


@dataclass(frozen=True)
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
    drawn
        Random draws whose points are the levels; empty: the levels are listed.
    option
        Option that defines the axis, for messages: ``grid`` or ``random``; empty: it is in a file.
    """

    name: str
    label: str
    levels: tuple[Level, ...]
    open: str | None = None
    shown: str = ""
    when: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    drawn: tuple[Drawn, ...] = ()
    option: str = ""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the levels."""
        return tuple(self._by_name)

    @cached_property
    def _by_name(self) -> Mapping[str, Level]:
        return {level.name: level for level in self.levels}

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys of the scenario that levels set."""
        drawn = (each.key for each in self.drawn)
        return tuple(drawn) or tuple(dict.fromkeys(key for level in self.levels for key in level.changes))

    @property
    def columns(self) -> Mapping[str, tuple[str, ...]]:
        """Columns of the axis in a data set with a text for each level: one, or one for each drawn key.

        If a table of results has a column of this name, that of the axis is ``axis.NAME``.
        """
        is_taken = not self.option and any(self.name in table.columns for table in tables().values())
        name = f"axis.{self.name}" if is_taken else self.name
        return {each.key: each.values for each in self.drawn} or {name: self.names}

    def level(self, name: str) -> Level:
        """Find a level by its name."""
        return self._by_name[name]

    @property
    def positions(self) -> tuple[float, ...] | None:
        """Positions of the levels on a numeric axis: ``10240``, or ``10KiB`` if all have the same unit.

        ``None``: the levels are words.
        """
        found = [part for level in self.levels if (part := number_and_unit(level.name))]
        if len(found) < len(self.levels) or len({unit for _, unit in found}) > 1:
            return None
        numbers = tuple(float(number) for number, _ in found)
        return numbers if max(map(abs, numbers)) <= LARGEST else None

    @classmethod
    def of(cls, entry: AxisEntry) -> Self:
        """Create an axis from an ``[[axis]]``."""
        levels = entry.levels
        return cls(
            name=entry.name,
            label=entry.label or entry.name,
            levels=levels,
            open=entry.open,
            shown=str(levels[0].name if entry.shown is None else entry.shown),
            when={axis: tuple(map(str, chosen)) for axis, chosen in entry.when.items()},
            drawn=entry.drawn,
        )

    @classmethod
    def of_values(cls, key: str, values: Sequence[str], text: str) -> Self:
        """Create an axis of ``--grid`` from texts; `text` is the option in messages."""
        if not values:
            raise InputError(f"grid {text}: no values")
        levels, seen = [], set()
        for value in values:
            meant = plain(value)
            if (type(meant), meant) in seen:
                raise InputError(f"grid {text}: the value {value} is listed twice")
            seen.add((type(meant), meant))
            levels.append(Level(name=value, label=value, changes={key: parsed(value)}))
        return cls(key, key, tuple(levels), shown=values[0], option="grid")


def grid(text: str) -> Axis:
    """Parse ``KEY=VALUE,VALUE``; commas within brackets and quotes do not separate values."""
    key, equals, rest = text.partition("=")
    if not equals or not key.strip():
        raise InputError(f"grid {text}: expected KEY=VALUE,VALUE as in rlc.queue.buffer=10KiB,50KiB")
    return Axis.of_values(key.strip(), _split(rest, text), text)


def grid_axis(key: str, values: Sequence[object]) -> Axis:
    """Create an axis from Python values."""
    SEVERAL.check(f"grid {key}", values)
    return Axis.of_values(key.strip(), [as_toml(value, f"grid {key}") for value in values], key)


def random_axis(drawn: Sequence[Drawn]) -> tuple[Axis, ...]:
    """Return the axis of random points at which all keys are drawn; none, if there are no keys."""
    if not drawn:
        return ()
    try:
        levels = _points(drawn)
    except Mistake as mistake:
        raise InputError(mistake.message) from None
    name = ", ".join(each.key for each in drawn)
    return (Axis(name, name, levels, shown=levels[0].name, drawn=tuple(drawn), option="random"),)


def plain(text: str) -> object:
    """Parse a text as a number, a truth value or a string; a table or list is returned as its text."""
    value = parsed(text)
    return value if isinstance(value, bool | int | float | str) else text


def parsed(text: str) -> object:
    """Parse a value of TOML other than a date; any other text is a string."""
    try:
        read = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    value = read["value"]
    return value if len(read) == 1 and isinstance(value, bool | int | float | str | list | dict) else text


def rows_of(where: Where) -> Rows:
    """Return the allowed values by column; a single value becomes a list."""
    return {
        column: allowed if isinstance(allowed, tuple) else (allowed,) for column, allowed in where.items()
    }


def check_where(where: Where, *names: str) -> None:
    """Check that rows are selected by columns of these tables, with distinct values of each."""
    known = {column: None for name in names for column in tables()[name].columns}
    for column, allowed in where.items():
        one_of("where", column, known)
        distinct(
            f"the values of `{column}`", map(str, allowed if isinstance(allowed, tuple) else ()), "where"
        )


def _points(drawn: Sequence[Drawn]) -> tuple[Level, ...]:
    """Return a level for each point of keys that are drawn together."""
    if len({len(each.values) for each in drawn}) > 1:
        found = ", ".join(f"{each.key} has {len(each.values)}" for each in drawn)
        raise Mistake("", f"random keys are drawn together and need equally many points; {found}")
    return tuple(
        Level(
            name=str(number),
            label=", ".join(values),
            changes={each.key: parsed(value) for each, value in zip(drawn, values, strict=True)},
        )
        for number, values in enumerate(zip(*(each.values for each in drawn), strict=True), 1)
    )


def _split(values: str, text: str) -> list[str]:
    parts, depth, quote = [""], 0, ""
    for character in values:
        if quote:
            quote = "" if character == quote else quote
        elif character in _QUOTES:
            quote = character
        elif character in _OPENING:
            depth += 1
        elif character in _CLOSING:
            depth -= 1
        if character == "," and not depth and not quote:
            parts.append("")
        else:
            parts[-1] += character
    if depth or quote:
        raise InputError(f"grid {text}: a bracket or quote is not closed")
    found = [part.strip() for part in parts]
    if found == [""]:
        raise InputError(f"grid {text}: no values; expected KEY=VALUE,VALUE")
    if "" in found:
        raise InputError(f"grid {text}: an empty value between commas")
    return found
