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
a row each: ``groups.fct_s.p95`` is the 95th percentile of the completion times in a group. ``series`` have
a row for each flow and sample, ``events`` one for each event, and both take ``between = ["20s", "40s"]``.
Rows without a value (a transfer that was not completed) do not count; a measure without any row is
undefined, which leaves what is claimed of it undecided. `where` names columns of the table; one of samples
or events may also name a column of ``flows``, and so may a level of an axis (:mod:`airwnd.reproduce.axis`).
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, Self

import numpy as np
from msgspec import Meta, field
from numpy.typing import NDArray

from airwnd._native import ScenarioError, parse_span
from airwnd.errors import InputError
from airwnd.reproduce.reader import Digits, Entry, Mistake, Name, Span, Text, Word, Words

if TYPE_CHECKING:
    import polars as pl

Values = NDArray[np.float64]

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

_STATISTICS: dict[Statistic, Callable[[Values], Any]] = {
    "mean": np.mean,
    "median": np.median,
    "min": np.min,
    "max": np.max,
    "sum": np.sum,
    "std": np.std,
    "count": np.size,
    "p5": lambda values: np.percentile(values, 5),
    "p95": lambda values: np.percentile(values, 95),
    "p99": lambda values: np.percentile(values, 99),
    "jain": lambda values: np.sum(values) ** 2 / (values.size * np.sum(values**2)),
}


class Figures(Protocol):
    """What a run gave: :class:`airwnd.Run`, or what was kept of one."""

    @property
    def outcome(self) -> Mapping[str, Any]:
        """The figures, as ``airwnd run --json`` prints them."""

    @property
    def series(self) -> "pl.DataFrame":
        """Time series, a row for each flow and sample."""

    @property
    def events(self) -> "pl.DataFrame":
        """What happened when: drops, timeouts."""


@dataclass(frozen=True, slots=True)
class Selection:
    """A column of a table of a run, and which of its rows.

    Attributes
    ----------
    table
        ``totals``, one of `ROWS`, or one of `SAMPLED`.
    column
        As in the JSON of a run: ``delay_ms.p95`` is the field ``p95`` of ``delay_ms``.
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

    def values(self, run: Figures) -> Values:
        """Read the chosen rows' values; rows without one are left out."""
        if self.table == "totals":
            found = [_deep(run.outcome["totals"], self.column, "totals")]
        elif self.table in ROWS:
            rows = [row for row in run.outcome[self.table] if self._chosen(row)]
            found = [_deep(row, self.column, self.table) for row in rows]
        else:
            _, found = self.samples(run)
        values = np.array([math.nan if value is None else value for value in found], dtype=np.float64)
        return values[~np.isnan(values)]

    def samples(self, run: Figures) -> tuple[list[float], list[float | None]]:
        """Read the chosen samples' times in seconds and their values."""
        import polars as pl

        frame = run.series if self.table == "series" else run.events
        if self.column not in frame.columns:
            there = ", ".join(frame.columns) or 'none; the experiment needs series = "100ms" or the like'
            raise InputError(f"{self.table} have no column `{self.column}`; there are {there}")
        for column, allowed in self.where.items():
            if column in frame.columns:
                key, among = column, [str(each) for each in allowed]
            else:
                flows = run.outcome["flows"]
                key, among = "flow", [flow["id"] for flow in flows if _deep(flow, column, "flows") in allowed]
            frame = frame.filter(pl.col(key).cast(pl.String).is_in(among))
        if self.between:
            frame = frame.filter(pl.col("time_s").is_between(*self.between))
        return frame["time_s"].to_list(), frame[self.column].to_list()

    def _chosen(self, row: Mapping[str, Any]) -> bool:
        return all(_deep(row, column, self.table) in allowed for column, allowed in self.where.items())


class Measure(Entry, frozen=True):
    """What is read from a run, as a ``[[measure]]``; `name` stands for it in claims and data."""

    name: Name
    label: Text
    unit: str
    digits: Digits
    value: Value
    where: Where = field(default_factory=dict)
    between: Between = None
    statistic: Annotated[Statistic, Meta(description="Of the rows that are left.")] = "mean"

    def __post_init__(self) -> None:
        self.selection  # noqa: B018 (a wrong one is refused here)

    @property
    def selection(self) -> Selection:
        """Which values it is the statistic of."""
        return Selection.of(self.value, self.where, self.between)

    @property
    def axis_label(self) -> str:
        """The label with the unit in brackets."""
        return f"{self.label} ({self.unit})" if self.unit else self.label

    def text(self, value: float) -> str:
        """Write a value with this measure's digits."""
        return "–" if math.isnan(value) else f"{value:.{self.digits}f}"

    def read(self, run: Figures, rows: Rows | None = None) -> float:
        """Read it from a run, or from these rows of it; NaN if no row has a value."""
        try:
            values = self.selection.among(rows or {}).values(run)
        except InputError as error:
            raise InputError(f"measure `{self.name}`: {error}") from None
        if self.statistic == "count":
            return float(values.size)
        return float(_STATISTICS[self.statistic](values)) if values.size else math.nan


def rows_of(where: Where) -> Rows:
    """Give the allowed values by column; one value stands for a list of one."""
    return {
        column: allowed if isinstance(allowed, tuple) else (allowed,) for column, allowed in where.items()
    }


def _times(between: tuple[str, str]) -> tuple[float, float]:
    try:
        begin, end = (parse_span(text) / 1e9 for text in between)
    except ScenarioError as error:
        raise Mistake("between", str(error)) from None
    if begin > end:
        raise Mistake("between", f"expected the earlier time first, found {list(between)}")
    return begin, end


def _deep(row: Mapping[str, Any], path: str, table: str) -> Any:
    value: Any = row
    for step in path.split("."):
        if not isinstance(value, Mapping) or step not in value:
            raise InputError(f"{table} have no `{path}`; there are {', '.join(_paths(row))}")
        value = value[step]
    if isinstance(value, Mapping):
        raise InputError(f"{table} have no number at `{path}`; there are {', '.join(_paths(row))}")
    return value


def _paths(row: Mapping[str, Any]) -> Iterable[str]:
    for key, value in row.items():
        if isinstance(value, Mapping):
            yield from (f"{key}.{inner}" for inner in _paths(value))
        else:
            yield key
