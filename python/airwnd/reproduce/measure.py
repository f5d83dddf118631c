"""What is read from a run: a number for each measure of an experiment.

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
a row for each flow and sample, ``events`` one for each event, and both take ``between = ["20s", "40s"]``.
Rows without a value (a transfer that was not completed) do not count; a measure without any row is
undefined, which leaves what is claimed of it undecided. `where` names columns of the table; one of samples
or events may also name a column of ``flows``, and so may a level of an axis (:mod:`airwnd.reproduce.axis`).

Confidence intervals end at what is possible: a delay is not negative, Jain's index not above 1. The engine
says so of its columns; ``range = [0, 1]`` says it of a measure.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, Self

from msgspec import Meta, field

from airwnd._native import ScenarioError, parse_span
from airwnd.columns import find, tables
from airwnd.errors import InputError
from airwnd.reproduce.bounds import Bounds
from airwnd.reproduce.reader import (
    Digits,
    Entry,
    Heading,
    Mistake,
    Name,
    Span,
    Unit,
    Word,
    Words,
    distinct,
    one_of,
)

Rows = Mapping[str, tuple[Any, ...]]
"""Allowed values by column."""

Where = Annotated[
    dict[str, Word | Words],
    Meta(description="Only rows with this value in this column, or with one of these values."),
]

Between = Annotated[
    tuple[Span, Span] | None, Meta(description="First and last moment, from the end of the warm-up.")
]

ROWS = ("flows", "groups", "cells", "links", "ues")
SAMPLED = ("series", "events")

Value = Annotated[
    str,
    Meta(
        description="A column of a table of a run.",
        pattern=rf"^({'|'.join(('totals', *ROWS, *SAMPLED))})\..+$",
        extra={"expected": f"TABLE.COLUMN, where the tables are {', '.join(('totals', *ROWS, *SAMPLED))}"},
    ),
]

Statistic = Literal["mean", "median", "min", "max", "sum", "std", "count", "p5", "p95", "p99", "jain"]


@dataclass(frozen=True, slots=True)
class Selection:
    """A column of a table of a run, and which of its rows.

    Attributes
    ----------
    table
        ``totals``, one of `ROWS`, or one of `SAMPLED`.
    column
        Its name in the JSON of a run, such as ``delay_ms_p95``.
    where
        Allowed values by column. What samples and events do not have themselves is looked up in their flow.
    between
        Seconds from the end of the warm-up: first and last moment of samples and events.
    """

    table: str
    column: str
    where: Rows
    between: tuple[float, float] | None

    @classmethod
    def of(cls, value: str, where: Where, between: Between) -> Self:
        """Take ``value``, ``where`` and ``between`` of an entry."""
        table, _, column = value.partition(".")
        if where and table == "totals":
            raise Mistake("where", "totals have no rows to choose from")
        if between and table not in SAMPLED:
            raise Mistake("between", f"only {' and '.join(SAMPLED)} have times")
        _check_columns(table, column, where)
        return cls(table, column, rows_of(where), _times(between) if between else None)

    def among(self, rows: Rows) -> Self:
        """Choose among these rows of flows, samples or events only; other tables know no flows."""
        if self.table not in {"flows", *SAMPLED}:
            return self
        both = {
            column: tuple(value for value in allowed if value in rows.get(column, allowed))
            for column, allowed in self.where.items()
        }
        return replace(self, where={**rows, **both})


class Measure(Entry, frozen=True):
    """What is read from a run, as a ``[[measure]]``; `name` stands for it in claims and data."""

    name: Name
    label: Heading
    unit: Unit
    digits: Digits
    value: Value
    where: Where = field(default_factory=dict)
    between: Between = None
    statistic: Annotated[Statistic, Meta(description="Of the rows that are left.")] = "mean"
    range: Annotated[
        tuple[float, float] | None,
        Meta(description="Least and greatest value that is possible; else what the column allows."),
    ] = None

    def __post_init__(self) -> None:
        self.selection  # noqa: B018 (the property checks the entry)
        if self.range and self.range[0] >= self.range[1]:
            raise Mistake(
                "range", f"expected [least, greatest], found [{self.range[0]:g}, {self.range[1]:g}]"
            )

    @property
    def selection(self) -> Selection:
        """Which values it is the statistic of."""
        return Selection.of(self.value, self.where, self.between)

    @property
    def bounds(self) -> Bounds:
        """The values that are possible: its ``range``, or what its column and statistic allow."""
        if self.range:
            return self.range
        least, greatest = tables()[self.selection.table].columns[self.selection.column].range
        match self.statistic:
            case "jain":
                return 0.0, 1.0
            case "count" | "std":
                return 0.0, math.inf
            case "sum":
                return (0.0 if least >= 0 else -math.inf), (0.0 if greatest <= 0 else math.inf)
        return least, greatest

    @property
    def axis_label(self) -> str:
        """The label with the unit in brackets."""
        return f"{self.label} ({self.unit})" if self.unit else self.label

    def text(self, value: float) -> str:
        """Write a value with this measure's digits."""
        return "–" if math.isnan(value) else f"{value:z.{self.digits}f}"


def rows_of(where: Where) -> Rows:
    """Return the allowed values by column; one value stands for a list of one."""
    return {
        column: allowed if isinstance(allowed, tuple) else (allowed,) for column, allowed in where.items()
    }


def check_where(where: Where, *names: str) -> None:
    """Check that rows are chosen by columns of these tables, and by different values of each."""
    known = {column: None for name in names for column in tables()[name].columns}
    for column, allowed in where.items():
        one_of("where", column, known)
        distinct(
            f"the values of `{column}`", map(str, allowed if isinstance(allowed, tuple) else ()), "where"
        )


def _check_columns(table: str, column: str, where: Where) -> None:
    try:
        found = find(f"{table}.{column}")
    except InputError as error:
        raise Mistake("value", str(error)) from None
    if found.type == "text":
        raise Mistake("value", f"`{column}` of {table} is no number")
    check_where(where, table, *(["flows"] if table in SAMPLED else []))


def _times(between: tuple[str, str]) -> tuple[float, float]:
    try:
        begin, end = (parse_span(text) / 1e9 for text in between)
    except ScenarioError as error:
        raise Mistake("between", str(error)) from None
    if begin > end:
        raise Mistake("between", f"expected the earlier time first, found {list(between)}")
    return begin, end
