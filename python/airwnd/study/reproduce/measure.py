"""Measures of an experiment: numbers read from each run.

::

    [[measure]]
    name = "short_fct_s"
    label = "Completion time of the short flow"
    unit = "s"
    digits = 2
    value = "flows.fct_s"            # a table and a column of it
    where = { group = "short" }      # only these rows
    statistic = "mean"               # of the rows that are left

``totals`` has one row and needs no statistic. ``flows``, ``groups`` (of flows), ``cells`` and ``ues`` have
a row each: ``groups.fct_s_p95`` is the 95th percentile of the completion times in a group. ``series`` have
a row for each flow and sample, ``events`` one for each event, and both accept ``between = ["20s", "40s"]``.
Rows without a value (a transfer that was not completed) do not count. A measure without any row is
undefined, and claims about it are undecided. `where` names columns of the table; for samples and events it
may also name a column of ``flows``, and so may a level of an axis (:mod:`airwnd.study.axis`).

An experiment that was measured (:mod:`airwnd.study.reproduce.measured`) has ``value = "measured.COLUMN"``, a
column of its ``measured.csv`` with one value per setting and seed; ``where`` and ``statistic`` do not apply.

Confidence intervals are clipped to the possible values: a delay is not negative, Jain's index not above 1.
The engine declares the range of its columns; ``range = [0, 1]`` declares that of a measure. Columns of
``measured.csv`` are not negative unless ``range`` says so.
"""

import math
from dataclasses import dataclass, replace
from typing import Annotated, Literal, Self

from msgspec import Meta, field

from airwnd._native import ScenarioError, parse_span
from airwnd.study.axis import Rows, Where, check_where, rows_of
from airwnd.study.bounds import Bounds
from airwnd.study.reader import (
    Digits,
    Entry,
    Heading,
    Mistake,
    Name,
    Span,
    Unit,
)
from airwnd.support.errors import InputError
from airwnd.vocabulary.columns import find, tables

Between = Annotated[
    tuple[Span, Span] | None, Meta(description="First and last time, from the end of the warm-up.")
]

ROWS = ("flows", "groups", "cells", "links", "ues", "bearers")
SAMPLED = ("series", "events")
MEASURED = "measured"
"""Columns of ``measured.csv``."""

_TABLES = ("totals", *ROWS, *SAMPLED, MEASURED)

Value = Annotated[
    str,
    Meta(
        description="A column of a table of a run.",
        pattern=rf"^({'|'.join(_TABLES)})\..+$",
        extra={"expected": f"TABLE.COLUMN, where the tables are {', '.join(_TABLES)}"},
    ),
]

Statistic = Literal["mean", "median", "min", "max", "sum", "std", "count", "p5", "p95", "p99", "jain"]


@dataclass(frozen=True, slots=True)
class Selection:
    """A column of a table of a run, and a selection of its rows.

    Attributes
    ----------
    table
        ``totals``, one of `ROWS`, one of `SAMPLED`, or `MEASURED`.
    column
        Name of the column in the JSON of a run, such as ``delay_ms_p95``.
    where
        Allowed values by column. Columns that samples and events do not have are those of their flow.
    between
        First and last time of samples and events, in seconds from the end of the warm-up; ``None``: all.
    """

    table: str
    column: str
    where: Rows
    between: tuple[float, float] | None

    @classmethod
    def of(cls, value: str, where: Where, between: Between) -> Self:
        """Create a selection from ``value``, ``where`` and ``between`` of an entry."""
        table, _, column = value.partition(".")
        if where and table in ("totals", MEASURED):
            raise Mistake("where", f"{table} have no rows to choose from")
        if between and table not in SAMPLED:
            raise Mistake("between", f"only {' and '.join(SAMPLED)} have times")
        if table != MEASURED:
            _check_columns(table, column, where)
        return cls(table, column, rows_of(where), _times(between) if between else None)

    def among(self, rows: Rows) -> Self:
        """Restrict flows, samples or events to these rows; other tables have no flows."""
        if self.table not in {"flows", *SAMPLED}:
            return self
        both = {
            column: tuple(value for value in allowed if value in rows.get(column, allowed))
            for column, allowed in self.where.items()
        }
        return replace(self, where={**rows, **both})


class Measure(Entry, frozen=True):
    """A ``[[measure]]``: a number read from each run; `name` is its name in claims and data."""

    name: Name
    label: Heading
    unit: Unit
    digits: Digits
    value: Value
    where: Where = field(default_factory=dict)
    between: Between = None
    statistic: Annotated[Statistic, Meta(description="Statistic over the selected rows.")] = "mean"
    range: Annotated[
        tuple[float, float] | None,
        Meta(description="Minimum and maximum possible value; default: those of the column."),
    ] = None

    def __post_init__(self) -> None:
        self.selection  # noqa: B018 (the property checks the entry)
        if self.range and self.range[0] >= self.range[1]:
            raise Mistake(
                "range", f"expected [minimum, maximum], found [{self.range[0]:g}, {self.range[1]:g}]"
            )

    @property
    def selection(self) -> Selection:
        """Selection of the values."""
        return Selection.of(self.value, self.where, self.between)

    @property
    def bounds(self) -> Bounds:
        """Range of possible values: ``range``, or the range given by column and statistic."""
        if self.range:
            return self.range
        if self.selection.table == MEASURED:
            return 0.0, math.inf
        minimum, greatest = tables()[self.selection.table].columns[self.selection.column].range
        match self.statistic:
            case "jain":
                return 0.0, 1.0
            case "count" | "std":
                return 0.0, math.inf
            case "sum":
                return (0.0 if minimum >= 0 else -math.inf), (0.0 if greatest <= 0 else math.inf)
        return minimum, greatest

    @property
    def axis_label(self) -> str:
        """The label with the unit in parentheses."""
        return f"{self.label} ({self.unit})" if self.unit else self.label

    def text(self, value: float) -> str:
        """Format a value with the digits of the measure."""
        return "–" if math.isnan(value) else f"{value:z.{self.digits}f}"


def _check_columns(table: str, column: str, where: Where) -> None:
    try:
        found = find(f"{table}.{column}")
    except InputError as error:
        raise Mistake("value", str(error)) from None
    if found.type == "text":
        raise Mistake("value", f"`{column}` of {table} is not a number")
    check_where(where, table, *(["flows"] if table in SAMPLED else []))


def _times(between: tuple[str, str]) -> tuple[float, float]:
    try:
        begin, end = (parse_span(text) / 1e9 for text in between)
    except ScenarioError as error:
        raise Mistake("between", str(error)) from None
    if begin > end:
        raise Mistake("between", f"expected the earlier time first, found {list(between)}")
    return begin, end
