"""Readings of runs: tables as data frames, measures, and the data that an experiment keeps of all runs.

An experiment keeps two kinds of data. ``Readings.values`` has a row for each setting and seed: a column for
each axis (empty where the axis does not exist), ``seed``, and a column for each measure (NaN if undefined).
``Readings.samples`` has a frame for each plot over time or distribution, with the same keys, ``time_s`` (for
plots over time) and ``value``.
"""

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from airwnd.results.frames import frame_of
from airwnd.study.axis import Rows
from airwnd.study.reproduce.design import Experiment
from airwnd.study.reproduce.measure import ROWS, SAMPLED, Measure, Selection, Statistic
from airwnd.study.reproduce.plot import Samples
from airwnd.study.space import ABSENT, Setting
from airwnd.support.errors import InputError

Values = NDArray[np.float64]

STATISTICS: dict[Statistic, Callable[[Values], Any]] = {
    "mean": np.mean,
    "median": np.median,
    "min": np.min,
    "max": np.max,
    "sum": np.sum,
    "std": np.std,
    "p5": lambda values: np.percentile(values, 5),
    "p95": lambda values: np.percentile(values, 95),
    "p99": lambda values: np.percentile(values, 99),
    "jain": lambda values: np.sum(values) ** 2 / (values.size * np.sum(values**2)),
}
"""Statistics of values without missing ones, of which there is at least one; ``count`` is their number."""


class Figures(Protocol):
    """Results of a run: :class:`airwnd.Run`, or a stored run."""

    @property
    def outcome(self) -> Mapping[str, Any]:
        """Results, as printed by ``airwnd run --json``."""

    @property
    def series(self) -> pl.DataFrame:
        """Time series, a row for each flow and sample."""

    @property
    def events(self) -> pl.DataFrame:
        """Events such as drops and timeouts, with their times."""


class Tables:
    """Tables of a run by name, each built on first access."""

    def __init__(self, run: Figures) -> None:
        self._run = run
        self._made: dict[str, pl.DataFrame] = {}

    def __getitem__(self, name: str) -> pl.DataFrame:
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    def _make(self, name: str) -> pl.DataFrame:
        if name in SAMPLED:
            return self._run.series if name == "series" else self._run.events
        rows = self._run.outcome[name] if name in ROWS else [self._run.outcome[name]]
        return frame_of(name, rows)


def select(selection: Selection, tables: Tables) -> pl.DataFrame:
    """Return the selected rows: ``value``, and for samples and events ``time_s``."""
    frame = tables[selection.table]
    chosen = frame.filter(_rows(selection, tables))
    times = ["time_s"] if selection.table in SAMPLED else []
    return chosen.select(*times, value=pl.col(selection.column))


def known_values(selection: Selection, tables: Tables) -> pl.Series:
    """Return the values of the selected rows as numbers, without missing values."""
    known: pl.Series = tables[selection.table].select(_known(selection, tables)).item()
    return known


def read(measure: Measure, tables: Tables, rows: Rows | None = None) -> float:
    """Read a measure from a run, or from these rows of it; NaN if no row has a value."""
    return read_all([measure], tables, rows)[measure.name]


def read_all(measures: Collection[Measure], tables: Tables, rows: Rows | None = None) -> dict[str, float]:
    """Read measures by name as :func:`read`, those of a table in one pass over it."""
    found: dict[str, float] = {}
    by_table: dict[str, list[pl.Expr]] = {}
    statistics = {measure.name: measure.statistic for measure in measures}
    for measure in measures:
        try:
            known = _known(measure.selection.among(rows or {}), tables)
        except InputError as error:
            raise InputError(f"measure `{measure.name}`: {error}") from None
        by_table.setdefault(measure.selection.table, []).append(known.alias(measure.name))
    for table, columns in by_table.items():
        for column in tables[table].select(columns):
            found[column.name] = _statistic(statistics[column.name], column.item().to_numpy())
    return {name: found[name] for name in statistics}


def _known(selection: Selection, tables: Tables) -> pl.Expr:
    """Return the list of the selected values as numbers, without missing values."""
    if tables[selection.table].is_empty() and selection.table in ROWS:
        return pl.lit(pl.Series(dtype=pl.Float64)).implode()
    chosen = pl.col(selection.column).filter(_rows(selection, tables))
    return chosen.cast(pl.Float64).drop_nulls().drop_nans().implode()


def _statistic(name: Statistic, values: Values) -> float:
    if name == "count":
        return float(values.size)
    return float(STATISTICS[name](values)) if values.size else math.nan


@dataclass(frozen=True)
class Readings:
    """Data that an experiment keeps of its runs; the module's docstring describes the frames."""

    axes: tuple[str, ...]
    values: pl.DataFrame
    samples: Mapping[str, pl.DataFrame]

    def of(self, setting: Setting, measure: str) -> pl.Series:
        """Return the value of a measure for each seed."""
        return self._at(self.values, setting)[measure]

    def samples_of(self, setting: Setting, plot: str) -> pl.DataFrame:
        """Return the samples that a plot draws for a setting, seed by seed."""
        return self._at(self.samples[plot], setting)

    def _at(self, frame: pl.DataFrame, setting: Setting) -> pl.DataFrame:
        return frame.filter(**dict(zip(self.axes, setting, strict=True)))


class Gathering:
    """Reads runs one by one and collects the data that an experiment keeps."""

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment
        self._drawn = {
            plot.name: plot.contents.selection
            for plot in experiment.plots
            if isinstance(plot.contents, Samples)
        }
        levels = {axis.name: pl.Enum([ABSENT, *axis.names]) for axis in experiment.axes}
        self._keys: dict[str, pl.DataType] = {**levels, "seed": pl.Int64()}
        self._rows: list[tuple[object, ...]] = []
        self._samples: dict[str, list[pl.DataFrame]] = {plot: [] for plot in self._drawn}

    def add(self, setting: Setting, seed: int, tables: Tables) -> None:
        """Read a run of a setting; plots over time use only the first seed."""
        rows = self._experiment.rows(setting)
        self._rows.append((*setting, seed, *read_all(self._experiment.measures, tables, rows).values()))
        keys = pl.DataFrame([(*setting, seed)], schema=self._keys, orient="row")
        for plot, selection in self._drawn.items():
            chosen = selection.among(rows)
            if selection.table not in SAMPLED:
                found = known_values(chosen, tables).to_frame("value")
            elif seed == 1:
                found = select(chosen, tables)
            else:
                continue
            self._samples[plot].append(keys.join(found, how="cross"))

    def readings(self) -> Readings:
        """Return the readings, in the order of settings and seeds."""
        schema = self._keys | {measure.name: pl.Float64() for measure in self._experiment.measures}
        return Readings(
            axes=tuple(axis.name for axis in self._experiment.axes),
            values=pl.DataFrame(self._rows, schema=schema, orient="row").sort(*self._keys),
            samples={
                name: pl.concat(frames, how="vertical_relaxed") for name, frames in self._samples.items()
            },
        )


def _check_column(name: str, frame: pl.DataFrame, column: str) -> None:
    if column not in frame.columns:
        there = ", ".join(frame.columns) or 'none; the experiment needs series = "100ms" or the like'
        raise InputError(f"{name} have no `{column}`; there are {there}")


def _rows(selection: Selection, tables: Tables) -> pl.Expr:
    """Return the condition that the selected rows of a table meet."""
    name, frame = selection.table, tables[selection.table]
    _check_column(name, frame, selection.column)
    kept = pl.lit(value=True)
    for column, allowed in selection.where.items():
        kept &= _is_among(name, frame, column, allowed, tables)
    if selection.between:
        kept &= pl.col("time_s").is_between(*selection.between)
    return kept


def _is_among(
    name: str, frame: pl.DataFrame, column: str, allowed: tuple[Any, ...], tables: Tables
) -> pl.Expr:
    """Allow only these values of a column; a column that samples and events lack is that of their flow."""
    if column not in frame.columns and name in SAMPLED:
        flows = tables["flows"]
        ids = flows.filter(_is_among("flows", flows, column, allowed, tables))["id"]
        return pl.col("flow").cast(pl.String).is_in(ids.to_list())
    _check_column(name, frame, column)
    if frame[column].dtype.is_numeric():
        numbers = [float(value) for value in allowed if isinstance(value, int | float)]
        return pl.col(column).cast(pl.Float64).is_in(numbers)
    return pl.col(column).cast(pl.String).is_in([str(value) for value in allowed])
