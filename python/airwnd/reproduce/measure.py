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
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from airwnd._native import ScenarioError, parse_span
from airwnd.errors import InputError
from airwnd.reproduce.strict import Table

if TYPE_CHECKING:
    import polars as pl

Values = NDArray[np.float64]

Rows = Mapping[str, tuple[Any, ...]]
"""Allowed values by column."""

ROWS = ("flows", "groups", "cells", "links", "ues")
SAMPLED = ("series", "events")

_STATISTICS: dict[str, Callable[[Values], Any]] = {
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
    def take(cls, table: Table, key: str) -> Self:
        """Take ``key = "table.column"``, ``where`` and ``between`` from a description."""
        path = table.take(key, str)
        name, _, column = path.partition(".")
        known = ("totals", *ROWS, *SAMPLED)
        if name not in known or not column:
            raise table.error(f"{key}: `{path}` is no TABLE.COLUMN; the tables are {', '.join(known)}")
        where = chosen_rows(table)
        between = table.take("between", list, [])
        if where and name == "totals":
            raise table.error("where: totals have no rows to choose from")
        if between and name not in SAMPLED:
            raise table.error(f"between: only {' and '.join(SAMPLED)} have times")
        return cls(name, column, where, _times(table, between))

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
            found = [_value(run.outcome["totals"], self.column, "totals")]
        elif self.table in ROWS:
            rows = [row for row in run.outcome[self.table] if self._chosen(row)]
            found = [_value(row, self.column, self.table) for row in rows]
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
                key, among = (
                    "flow",
                    [flow["id"] for flow in flows if _value(flow, column, "flows") in allowed],
                )
            frame = frame.filter(pl.col(key).cast(pl.String).is_in(among))
        if self.between:
            frame = frame.filter(pl.col("time_s").is_between(*self.between))
        return frame["time_s"].to_list(), frame[self.column].to_list()

    def _chosen(self, row: Mapping[str, Any]) -> bool:
        return all(_value(row, column, self.table) in allowed for column, allowed in self.where.items())


@dataclass(frozen=True, slots=True)
class Measure:
    """What is read from a run: its name in claims and data, its label, and what it is."""

    name: str
    label: str
    unit: str
    digits: int
    selection: Selection
    statistic: str

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

    @classmethod
    def take(cls, table: Table) -> Self:
        """Read a ``[[measure]]``."""
        selection = Selection.take(table, "value")
        statistic = table.take("statistic", str, "mean")
        if statistic not in _STATISTICS:
            raise table.error(f"statistic: `{statistic}` is none of {', '.join(_STATISTICS)}")
        return cls(
            name=table.take("name", str),
            label=table.take("label", str),
            unit=table.take("unit", str),
            digits=table.take("digits", int),
            selection=selection,
            statistic=statistic,
        )


def chosen_rows(table: Table) -> Rows:
    """Take ``where`` from a description: a value for a column, or a list of them."""
    return {
        column: tuple(allowed) if isinstance(allowed, list) else (allowed,)
        for column, allowed in table.table("where").items()
    }


def _times(table: Table, between: Sequence[Any]) -> tuple[float, float] | None:
    if not between:
        return None
    try:
        begin, end = (parse_span(text) / 1e9 for text in between)
    except (ScenarioError, TypeError, ValueError):
        raise table.error(
            f'between: expected two times as in ["20s", "40s"], found {list(between)}'
        ) from None
    return begin, end


def _value(row: Mapping[str, Any], column: str, table: str) -> Any:
    if column not in row:
        raise InputError(f"{table} have no `{column}`; there are {', '.join(row)}")
    return row[column]
