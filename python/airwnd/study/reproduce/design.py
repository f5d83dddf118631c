"""Experiments: sweeps with measures, claims about them, and a paper's numbers.

A folder ``experiments/<paper>/<figure>/`` holds

``scenario.toml``
    the scenario, which can also be run alone with ``airwnd run``;
``experiment.toml``
    the sweep: axes (their levels are combined) and seeds; measures (:mod:`airwnd.study.reproduce.measure`),
    plots (:mod:`airwnd.study.reproduce.plot`), and claims, unless they have a file of their own;
``paper.csv``
    the paper's table, if it has one: a column per axis and per measure, ``#`` lines for its source;
``measured.csv``
    measurements in place of simulated runs, see :mod:`airwnd.study.reproduce.measured`;
``claims.toml``
    claims about the figure, see :mod:`airwnd.study.reproduce.claims`;
``README.md``
    which figure it is, what differs, how long it takes.

``paper.toml`` is in the folder of the paper (:mod:`airwnd.study.reproduce.paper`). Only the first two files
are needed: ``airwnd sweep FOLDER`` runs the axes, and judges the claims, if there are any.
"""

import csv
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Self

from msgspec import Meta, field

from airwnd._native import ScenarioError, parse_span
from airwnd.plugins.permission import NO_CODE, CodePolicy
from airwnd.scenario.scenario import Scenario, source_of
from airwnd.study.axis import Axis, AxisShape
from airwnd.study.design import Design
from airwnd.study.reader import (
    LARGEST,
    LARGEST_FILE_MIB,
    Entry,
    Heading,
    Mistake,
    Seeds,
    Settings,
    Span,
    Text,
    check_id,
    check_text,
    distinct,
    load,
    one_of,
    placed,
    shown,
)
from airwnd.study.reproduce.claims import FILE as CLAIMS_FILE
from airwnd.study.reproduce.claims import Claim, ClaimEntry, checked_claims, load_claims
from airwnd.study.reproduce.expression import FUNCTIONS
from airwnd.study.reproduce.measure import SAMPLED, Measure
from airwnd.study.reproduce.measured import FILE as MEASURED_FILE
from airwnd.study.reproduce.measured import Measured, is_measured, load_measured
from airwnd.study.reproduce.paper import Paper
from airwnd.study.reproduce.plot import Plot, PlotEntry, Samples
from airwnd.study.space import ABSENT, Setting, Space
from airwnd.study.statistics import MIN_SEEDS
from airwnd.support.errors import InputError
from airwnd.support.files import read_text

FILE = "experiment.toml"

# Reserved names: columns of `results.csv` and of readings, and functions of expressions.
_TAKEN = ("seed", "measure", "unit", "ours", "paper", "time_s", "value", *FUNCTIONS)


class Quick(Entry, frozen=True):
    """Changes by ``--quick``: fewer seeds, shorter runs."""

    seeds: Seeds = 1
    changes: Settings = field(name="set", default_factory=dict)


class ExperimentFile(Entry, frozen=True, kw_only=True):
    """``experiment.toml``: axes, measures, plots and claims."""

    title: Annotated[Heading | None, Meta(description="Default: the name of the scenario.")] = None
    place: Annotated[
        Heading | None, Meta(description="Figure or table of the paper; default: the name of the folder.")
    ] = None
    seeds: Seeds = 1
    axis: Annotated[tuple[AxisShape, ...], Meta(description="All levels are combined.", min_length=1)]
    notes: Annotated[
        tuple[Text, ...], Meta(description="Notes on paper and set-up; shown with all results.")
    ] = ()
    notes_full: Annotated[
        tuple[Text, ...], Meta(description="Notes on our numbers; shown only with a full run.")
    ] = ()
    series: Annotated[
        Span | None, Meta(description="Sampling interval of the time series for measures and plots.")
    ] = None
    measure: tuple[Measure, ...] = ()
    plot: tuple[PlotEntry, ...] = ()
    claim: Annotated[tuple[ClaimEntry, ...], Meta(description="Claims, unless `claims.toml` has them.")] = ()
    quick: Quick = Quick()

    def __post_init__(self) -> None:
        distinct("[[claim]]", [claim.id for claim in self.claim])
        columns = [*(axis.name for axis in self.axis), *(measure.name for measure in self.measure)]
        distinct("[[axis]] and [[measure]]", columns)
        for name in columns:
            if name in _TAKEN:
                raise Mistake("", f"no axis and no measure can be called {', '.join(_TAKEN)}")
        if self.series is None:
            for kind, entries in (("measure", self.measure), ("plot", self.plot)):
                for index, entry in enumerate(entries):
                    if getattr(entry, "value", "").partition(".")[0] in SAMPLED:
                        raise Mistake(f"{kind}[{index}].value", 'it needs series = "100ms" or the like')
        else:
            _check_interval(self.series)


def _check_interval(series: str) -> None:
    try:
        interval = parse_span(series)
    except ScenarioError as error:
        raise Mistake("series", str(error)) from None
    if interval <= 0:
        raise Mistake("series", f"expected an interval above 0, found {series}")


@dataclass(frozen=True, kw_only=True, repr=False)
class Experiment(Design):
    """An experiment folder, read and checked.

    Attributes
    ----------
    paper_values
        Numbers of the paper's table by setting (`ABSENT` for open axes) and measure; empty: no table.
    measured
        Measurements; ``None``: the experiment is simulated.
    """

    folder: Path
    title: str
    paper: Paper
    place: str
    notes: tuple[str, ...]
    notes_full: tuple[str, ...]
    measures: tuple[Measure, ...]
    plots: tuple[Plot, ...]
    quick: Quick
    paper_source: str
    paper_values: Mapping[Setting, Mapping[str, float]]
    claims: tuple[Claim, ...]
    measured: Measured | None

    @property
    def name(self) -> str:
        """``paper/figure``."""
        return f"{self.folder.parent.name}/{self.folder.name}"

    @property
    def _file(self) -> str:
        return str(self.folder / FILE)

    def setting(self, levels: Mapping[str, str]) -> Setting:
        """Arrange levels in the order of the axes; open axes that are not named take their shown level."""
        return self.space.setting({**self.space.shown, **levels})

    def paper_value(self, setting: Setting, measure: str) -> float | None:
        """Return the paper's number, which is the same in all set-ups; ``None``: it has none."""
        pairs = zip(self.axes, setting, strict=True)
        printed = tuple(level if axis.open is None else ABSENT for axis, level in pairs)
        return self.paper_values.get(printed, {}).get(measure)

    @classmethod
    def load(
        cls, folder: Path, policy: CodePolicy = NO_CODE, further: Sequence[Axis] = (), **more: Any
    ) -> Self:
        """Read an experiment folder.

        Parameters
        ----------
        folder
            The folder.
        policy
            Applies to Python code that its scenario names.
        further
            Axes beside those of the file, which are left open: claims are judged at each of their levels.
        **more
            Fields of a design in place of those of the file, such as the stack.

        Raises
        ------
        InputError
            If a file is invalid; the message names the place and the allowed values.
        ScenarioError
            If ``scenario.toml`` is invalid.
        """
        folder = folder.resolve()
        path = folder / FILE
        with placed(f"{str(folder)!r}: the folder of an experiment"):
            check_id("", folder.name)
        paper = Paper.load(folder.parent)
        file = load(path, ExperimentFile)
        added = (replace(axis, open="It is varied on the command line.") for axis in further)
        space = Space.of((*map(Axis.of, file.axis), *added), str(path))
        plots: list[Plot] = []
        for index, entry in enumerate(file.plot):
            with placed(str(path), f"plot[{index}]"):
                plots.extend(Plot.of(entry, space, file.measure))
        with placed(str(path)):
            # Some file systems are case-insensitive.
            distinct("[[plot]]", [plot.name.lower() for plot in plots])
            measured = is_measured(file.measure)
            if measured and any(isinstance(plot.contents, Samples) for plot in plots):
                raise Mistake("plot", "measurements have no plots over time and no distributions")
        bounds = {measure.name: measure.bounds for measure in file.measure}
        claims_path = folder / CLAIMS_FILE
        if not claims_path.exists():
            claims = checked_claims(file.claim, path, paper, space, bounds)
        elif file.claim:
            raise InputError(f"{path}: claim: {CLAIMS_FILE} has claims, too; write all of them in one file")
        else:
            claims = load_claims(claims_path, paper, space, bounds)
        if claims and file.seeds < MIN_SEEDS:
            with placed(str(path), "seeds"):
                raise Mistake("", f"claims need at least {MIN_SEEDS} seeds to be decided, found {file.seeds}")
        source, values = _paper_values(folder / "paper.csv", space, file.measure)
        scenario = Scenario(*source_of(folder / "scenario.toml"), policy=policy)
        fields: dict[str, Any] = {"seeds": file.seeds, "series": file.series, **more}
        return cls(
            **fields,
            folder=folder,
            title=file.title or scenario.name,
            paper=paper,
            place=file.place or folder.name,
            notes=file.notes,
            notes_full=file.notes_full,
            space=space,
            measures=file.measure,
            plots=tuple(plots),
            quick=file.quick,
            scenario=scenario,
            paper_source=source,
            paper_values=values,
            claims=claims,
            measured=load_measured(folder / MEASURED_FILE, space, file.measure) if measured else None,
        )


def _paper_values(
    path: Path, space: Space, measures: tuple[Measure, ...]
) -> tuple[str, dict[Setting, dict[str, float]]]:
    """Read the paper's table, and the comment lines with its source."""
    if not path.exists():
        return "", {}
    source: list[str] = []
    columns: list[str] = []
    values: dict[Setting, dict[str, float]] = {}
    for number, line in enumerate(read_text(path, LARGEST_FILE_MIB).split("\n"), start=1):
        with placed(f"{path}:{number}"):
            check_text("", line)
            if line.startswith("#"):
                source.append(line.lstrip("# "))
            elif line and not columns:
                columns = _columns(_fields(line), space, measures)
            elif line:
                row = dict(zip(columns, _fields(line, len(columns)), strict=True))
                setting = _setting(row, space)
                if setting in values:
                    raise Mistake("", f"the setting {', '.join(filter(None, setting))} is listed twice")
                values[setting] = _numbers(row, measures)
    if not values:
        raise InputError(f"{path}: expected a line of column names and a row for each setting, found none")
    return " ".join(source), values


def _fields(line: str, count: int | None = None) -> list[str]:
    try:
        (fields,) = csv.reader([line], strict=True)
    except csv.Error as error:
        raise Mistake("", str(error)) from None
    if count is not None and len(fields) != count:
        raise Mistake("", f"expected {count} fields, found {len(fields)}")
    return [field.strip() for field in fields]


def _columns(names: list[str], space: Space, measures: tuple[Measure, ...]) -> list[str]:
    """Check that the columns include every axis that the paper varies, and at least one measure."""
    closed = [axis for axis in space.axes if axis.open is None]
    measured = [measure.name for measure in measures]
    distinct("the columns", names)
    for name in names:
        if name in space.shown:
            raise Mistake("", f"`{name}` is left open by the paper: its numbers apply to all levels")
        if name not in measured and name not in {axis.name for axis in closed}:
            raise Mistake("", f"`{name}` is neither an axis nor a measure")
    for axis in closed:
        if axis.name not in names and not axis.when:
            raise Mistake("", f"the column of the axis `{axis.name}` is missing")
    if not set(measured) & set(names):
        raise Mistake("", f"a column of a measure is missing; there are {', '.join(measured) or 'none'}")
    return names


def _setting(row: Mapping[str, str], space: Space) -> Setting:
    """Return the setting of a row, without open axes."""
    closed = {axis.name for axis in space.axes if axis.open is None}
    existing = space.existing({**space.shown, **{name: row.get(name, "") for name in closed}})
    printed = {name: level for name, level in existing.items() if name in closed}
    for name, level in printed.items():
        one_of(name, level, space.by_name[name].names)
    return tuple(printed.get(axis.name, ABSENT) for axis in space.axes)


_NUMBER = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?")


def _numbers(row: Mapping[str, str], measures: tuple[Measure, ...]) -> dict[str, float]:
    found = {each.name: _number(row, each.name) for each in measures if row.get(each.name)}
    if not found:
        raise Mistake("", "expected a number of at least one measure")
    return found


def _number(row: Mapping[str, str], column: str) -> float:
    number = float(row[column]) if _NUMBER.fullmatch(row[column]) else math.nan
    if not abs(number) <= LARGEST:
        raise Mistake(column, f"expected a number up to {LARGEST:g}, found {shown(row[column])}")
    return number
