"""What an experiment is: a scenario, the settings it is run with, and what is read from each run.

A folder ``experiments/<paper>/<figure>/`` holds

``scenario.toml``
    runs by itself: ``airwnd run``;
``experiment.toml``
    axes (their levels are combined), measures, plots, seeds;
``paper.csv``
    the paper's table: a column per axis and per measure, ``#`` lines for its source;
``claims.toml``
    what the paper says about it, see :mod:`airwnd.reproduce.claims`;
``README.md``
    which figure it is, what differs, how long it takes.
"""

import csv
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

from airwnd._native import ScenarioError
from airwnd.errors import InputError
from airwnd.reproduce.claims import Claim, load_claims
from airwnd.reproduce.strict import Table
from airwnd.scenario import Scenario

T = TypeVar("T")

Setting = tuple[str, ...]
"""One level's name per axis, in the order of the axes."""


@dataclass(frozen=True, slots=True)
class Level:
    """A value of an axis: its name in data and expressions, its label, what it sets in the scenario."""

    name: str
    label: str
    changes: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Axis:
    """What is varied."""

    name: str
    label: str
    levels: tuple[Level, ...]

    def index(self, level: str) -> int:
        """Position of a level, by its name."""
        return [candidate.name for candidate in self.levels].index(level)


@dataclass(frozen=True, slots=True)
class Measure:
    """What is read from a run: `path` leads to it in the outcome, as ``totals.jain``."""

    name: str
    label: str
    unit: str
    path: str
    digits: int

    def text(self, value: float) -> str:
        """Write a value with this measure's digits."""
        return f"{value:.{self.digits}f}"

    def read(self, outcome: Mapping[str, Any]) -> float:
        """Find the measure in an outcome."""
        value: Any = outcome
        for step in self.path.split("."):
            value = value.get(step) if isinstance(value, Mapping) else None
        if not isinstance(value, int | float):
            raise InputError(f"measure `{self.name}`: the outcome has no number at `{self.path}`")
        return float(value)


@dataclass(frozen=True, slots=True)
class Plot:
    """A figure: a measure over the numeric axis `x`, a line per level of the axis `lines`."""

    name: str
    title: str
    measure: Measure
    x: Axis
    lines: Axis
    scale: str
    limits: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class Quick:
    """What ``--quick`` changes: fewer seeds, shorter runs."""

    seeds: int
    changes: Mapping[str, Any]


@dataclass(frozen=True)
class Experiment:
    """An experiment folder, read and checked."""

    folder: Path
    title: str
    paper: str
    place: str
    notes: tuple[str, ...]
    seeds: int
    axes: tuple[Axis, ...]
    measures: tuple[Measure, ...]
    plots: tuple[Plot, ...]
    quick: Quick
    scenario: Scenario
    paper_source: str
    paper_values: Mapping[Setting, Mapping[str, float]]
    claims: tuple[Claim, ...]

    @property
    def name(self) -> str:
        """``paper/figure``."""
        return f"{self.folder.parent.name}/{self.folder.name}"

    def settings(self) -> Iterator[Setting]:
        """All combinations of levels, the last axis fastest."""
        return itertools.product(*([level.name for level in axis.levels] for axis in self.axes))

    def scenario_for(self, setting: Setting, extra: Mapping[str, Any]) -> Scenario:
        """Give the scenario of a setting, with `extra` changes on top."""
        changes = dict(extra)
        for axis, name in zip(self.axes, setting, strict=True):
            changes.update(axis.levels[axis.index(name)].changes)
        try:
            return self.scenario.with_(changes)
        except ScenarioError as error:
            raise InputError(f"{self.folder / 'experiment.toml'}: setting {setting}: {error}") from None

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read an experiment folder.

        Raises
        ------
        InputError
            If a file is wrong, with the place and what is allowed.
        ScenarioError
            If ``scenario.toml`` is.
        """
        table = Table.load(folder / "experiment.toml")
        axes = tuple(_axis(each) for each in table.tables("axis"))
        measures = tuple(_measure(each) for each in table.tables("measure"))
        if not axes or not measures:
            raise table.error("an experiment needs at least one [[axis]] and one [[measure]]")
        plots = tuple(_plot(each, axes, measures) for each in table.tables("plot"))
        quick = Table(table.table("quick"), f"{folder / 'experiment.toml'}: quick")
        source, values = _paper(folder / "paper.csv", axes, measures)
        experiment = cls(
            folder=folder.resolve(),
            title=table.take("title", str),
            paper=table.take("paper", str),
            place=table.take("place", str),
            notes=tuple(str(note) for note in table.take("notes", list, [])),
            seeds=table.take("seeds", int),
            axes=axes,
            measures=measures,
            plots=plots,
            quick=Quick(quick.take("seeds", int, 1), quick.table("set")),
            scenario=Scenario.load(folder / "scenario.toml"),
            paper_source=source,
            paper_values=values,
            claims=load_claims(folder / "claims.toml", _levels(axes), [measure.name for measure in measures]),
        )
        quick.finish()
        table.finish()
        return experiment


def _levels(axes: tuple[Axis, ...]) -> dict[str, tuple[str, ...]]:
    return {axis.name: tuple(level.name for level in axis.levels) for axis in axes}


def _axis(table: Table) -> Axis:
    name, label = table.take("name", str), table.take("label", str)
    if "values" in table:
        key = table.take("key", str)
        values = table.take("values", list)
        levels = tuple(Level(str(value), str(value), {key: value}) for value in values)
    else:
        levels = tuple(
            Level(each.take("name", str), each.take("label", str), each.table("set"))
            for each in table.tables("level")
        )
    if not levels:
        raise table.error("an axis needs `values` (with `key`) or [[axis.level]]")
    if len({level.name for level in levels}) < len(levels):
        raise table.error("a level is listed twice")
    return Axis(name, label, levels)


def _measure(table: Table) -> Measure:
    return Measure(
        name=table.take("name", str),
        label=table.take("label", str),
        unit=table.take("unit", str),
        path=table.take("value", str),
        digits=table.take("digits", int),
    )


def _plot(table: Table, axes: tuple[Axis, ...], measures: tuple[Measure, ...]) -> Plot:
    by_axis = {axis.name: axis for axis in axes}
    by_measure = {measure.name: measure for measure in measures}
    limits = table.take("limits", list, [])
    if limits and len(limits) != 2:  # noqa: PLR2004
        raise table.error("limits: expected [least, greatest]")
    return Plot(
        name=table.take("name", str),
        title=table.take("title", str),
        measure=_choose(table, "measure", by_measure),
        x=_choose(table, "x", by_axis),
        lines=_choose(table, "lines", by_axis),
        scale=_choose(table, "scale", {"linear": "linear", "log": "log"}, "linear"),
        limits=(float(limits[0]), float(limits[1])) if limits else None,
    )


def _choose(table: Table, key: str, allowed: Mapping[str, T], default: str | None = None) -> T:
    word = table.take(key, str, default)
    if word not in allowed:
        raise table.error(f"{key}: `{word}` is none of {', '.join(allowed)}")
    return allowed[word]


def _paper(
    path: Path, axes: tuple[Axis, ...], measures: tuple[Measure, ...]
) -> tuple[str, dict[Setting, dict[str, float]]]:
    """Read the paper's table, and the comment lines that say where it comes from."""
    lines = path.read_text(encoding="utf-8").splitlines()
    source = " ".join(line.lstrip("# ") for line in lines if line.startswith("#"))
    values: dict[Setting, dict[str, float]] = {}
    for row in csv.DictReader(line for line in lines if line and not line.startswith("#")):
        try:
            setting = tuple(row[axis.name] for axis in axes)
            values[setting] = {m.name: float(row[m.name]) for m in measures if row.get(m.name)}
        except (KeyError, ValueError) as error:
            raise InputError(f"{path}: row {len(values) + 1}: {error!r}") from None
    return source, values
