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
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from airwnd.reproduce.measure import Rows, chosen_rows
from airwnd.reproduce.strict import Table

_NUMBER = re.compile(r"([-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*(\D*)")


@dataclass(frozen=True, slots=True)
class Level:
    """A value of an axis.

    Attributes
    ----------
    name
        In data and expressions.
    label
        For people.
    changes
        What it sets in the scenario.
    rows
        Which flows of a run it stands for; empty for all.
    context
        Whether it is shown for comparison only.
    """

    name: str
    label: str
    changes: Mapping[str, Any]
    rows: Rows
    context: bool = False


@dataclass(frozen=True, slots=True)
class Axis:
    """What is varied."""

    name: str
    label: str
    levels: tuple[Level, ...]

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
        return tuple(float(match[1]) for match in found)

    @classmethod
    def take(cls, table: Table) -> Self:
        """Read an ``[[axis]]``."""
        name, label = table.take("name", str), table.take("label", str)
        if "values" in table:
            key = table.take("key", str)
            values = table.take("values", list)
            levels = tuple(Level(str(value), str(value), {key: value}, {}) for value in values)
        else:
            levels = tuple(
                Level(
                    name=each.take("name", str),
                    label=each.take("label", str),
                    changes=each.table("set"),
                    rows=chosen_rows(each),
                    context=each.take("context", bool, False),
                )
                for each in table.tables("level")
            )
        if not levels:
            raise table.error("an axis needs `values` (with `key`) or [[axis.level]]")
        if len({level.name for level in levels}) < len(levels):
            raise table.error("a level is listed twice")
        return cls(name, label, levels)
