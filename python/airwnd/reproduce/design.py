"""What an experiment is: a scenario, the settings it is run with, and what is read from each run.

A folder ``experiments/<paper>/<figure>/`` holds

``scenario.toml``
    runs by itself: ``airwnd run``;
``experiment.toml``
    axes (their levels are combined), measures (:mod:`airwnd.reproduce.measure`), plots
    (:mod:`airwnd.reproduce.plot`), seeds;
``paper.csv``
    the paper's table, if it has one: a column per axis and per measure, ``#`` lines for its source;
``claims.toml``
    what the paper says about it, see :mod:`airwnd.reproduce.claims`;
``README.md``
    which figure it is, what differs, how long it takes.

Beside the figures lies ``paper.toml`` (:mod:`airwnd.reproduce.paper`).
"""

import csv
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from airwnd._native import ScenarioError
from airwnd.errors import InputError
from airwnd.reproduce.axis import Axis
from airwnd.reproduce.claims import Claim, load_claims
from airwnd.reproduce.measure import Measure, Rows
from airwnd.reproduce.paper import Paper
from airwnd.reproduce.plot import Plot
from airwnd.reproduce.strict import Table
from airwnd.scenario import Scenario

Setting = tuple[str, ...]
"""One level's name per axis, in the order of the axes."""


@dataclass(frozen=True, slots=True)
class Quick:
    """What ``--quick`` changes: fewer seeds, shorter runs."""

    seeds: int
    changes: Mapping[str, Any]


@dataclass(frozen=True)
class Experiment:
    """An experiment folder, read and checked.

    Attributes
    ----------
    series
        Sampling interval of the time series that measures and plots need, as in ``"100ms"``; ``None`` if
        they need none.
    paper_values
        The numbers of the paper's table, by setting and measure; empty where it has none.
    """

    folder: Path
    title: str
    paper: Paper
    place: str
    notes: tuple[str, ...]
    seeds: int
    series: str | None
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

    def setting(self, levels: Mapping[str, str]) -> Setting:
        """Put a level of every axis into the axes' order."""
        return tuple(levels[axis.name] for axis in self.axes)

    def scenario_for(self, setting: Setting, extra: Mapping[str, Any]) -> Scenario:
        """Give the scenario of a setting, with `extra` changes below the setting's own."""
        changes = dict(extra)
        for axis, name in zip(self.axes, setting, strict=True):
            changes.update(axis.level(name).changes)
        try:
            return self.scenario.with_(changes)
        except ScenarioError as error:
            raise InputError(f"{self.folder / 'experiment.toml'}: setting {setting}: {error}") from None

    def rows(self, setting: Setting) -> Rows:
        """Say which flows of its run a setting stands for."""
        chosen: dict[str, tuple[Any, ...]] = {}
        for axis, name in zip(self.axes, setting, strict=True):
            chosen.update(axis.level(name).rows)
        return chosen

    def scenarios(self, extra: Mapping[str, Any]) -> dict[Setting, Scenario]:
        """Give the scenario of every setting; a mistake in any of them shows here, before the first run."""
        return {setting: self.scenario_for(setting, extra) for setting in self.settings()}

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
        folder = folder.resolve()
        table = Table.load(folder / "experiment.toml")
        axes = tuple(Axis.take(each) for each in table.tables("axis"))
        measures = tuple(Measure.take(each) for each in table.tables("measure"))
        plots = tuple(plot for each in table.tables("plot") for plot in Plot.take(each, axes, measures))
        for what, names in (
            ("axis", [axis.name for axis in axes]),
            ("measure", [measure.name for measure in measures]),
            ("plot", [plot.name for plot in plots]),
        ):
            for name in names:
                if names.count(name) > 1:
                    raise table.error(f"two of [[{what}]] are called `{name}`")
        if not measures and not plots:
            raise table.error("an experiment needs at least one [[measure]] or [[plot]]")
        quick = Table(table.table("quick"), f"{folder / 'experiment.toml'}: quick")
        paper = Paper.load(folder.parent)
        source, values = _paper_values(folder / "paper.csv", axes, measures)
        experiment = cls(
            folder=folder,
            title=table.take("title", str),
            paper=paper,
            place=table.take("place", str),
            notes=tuple(str(note) for note in table.take("notes", list, [])),
            seeds=table.take("seeds", int),
            series=table.take("series", str, "") or None,
            axes=axes,
            measures=measures,
            plots=plots,
            quick=Quick(quick.take("seeds", int, 1), quick.table("set")),
            scenario=Scenario.load(folder / "scenario.toml"),
            paper_source=source,
            paper_values=values,
            claims=load_claims(folder / "claims.toml", paper, _levels(axes), [m.name for m in measures]),
        )
        quick.finish()
        table.finish()
        return experiment


def _levels(axes: tuple[Axis, ...]) -> dict[str, tuple[str, ...]]:
    return {axis.name: tuple(level.name for level in axis.levels) for axis in axes}


def _paper_values(
    path: Path, axes: tuple[Axis, ...], measures: tuple[Measure, ...]
) -> tuple[str, dict[Setting, dict[str, float]]]:
    """Read the paper's table, and the comment lines that say where it comes from."""
    if not path.is_file():
        return "", {}
    lines = path.read_text(encoding="utf-8").splitlines()
    source = " ".join(line.lstrip("# ") for line in lines if line.startswith("#"))
    values: dict[Setting, dict[str, float]] = {}
    for row in csv.DictReader(line for line in lines if line and not line.startswith("#")):
        where = f"{path}: row {len(values) + 1}"
        try:
            setting = tuple(row[axis.name] for axis in axes)
            values[setting] = {m.name: float(row[m.name]) for m in measures if row.get(m.name)}
        except (KeyError, ValueError) as error:
            raise InputError(f"{where}: {error!r}") from None
        for axis, level in zip(axes, setting, strict=True):
            if level not in axis.names:
                raise InputError(f"{where}: `{level}` is no level of `{axis.name}`: {', '.join(axis.names)}")
        unknown = row.keys() - {axis.name for axis in axes} - {measure.name for measure in measures}
        if unknown:
            raise InputError(f"{where}: `{min(map(str, unknown))}` is neither an axis nor a measure")
    return source, values
