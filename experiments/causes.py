"""Shows why claims fail or are too close to tell: the numbers that decide a claim, with one thing changed.

::

    python experiments/causes.py E01 E03

A ``causes.toml`` next to a ``claims.toml`` has a ``[[cause]]`` for each such claim. Its panels are
expressions as in ``claims.toml``, evaluated in several cases. The first one is the experiment's own
setting, and each other changes one thing of its scenario (``set``) or the level of an axis (``at``)::

    [[cause]]
    claim = "E01"
    seeds = 20

    [[cause.panel]]
    text = "NewReno's throughput relative to Hybla's"
    expression = "100 * (throughput_kbps(sender='newreno') / throughput_kbps(sender='hybla') - 1)"
    at = { per = "0.01" }
    unit = "%"
    required = [-100, 0]

    [[cause.panel.case]]
    label = "Hybla counts segments"

    [[cause.panel.case]]
    label = "Hybla counts ACKs"
    set = { "flow[0].cc.growth" = "per-ack" }

The rows of the claims in ``causes.csv`` are replaced, and their pictures in ``docs/img`` are drawn. The table
that is printed is that of the README. ``--draw`` reads ``causes.csv`` and runs nothing.
"""

import argparse
import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
from msgspec import Meta
from msgspec import field as entry_field

from airwnd.plots import style
from airwnd.scenario.scenario import Scenario
from airwnd.study.reader import (
    Digits,
    Entry,
    Heading,
    Id,
    Mistake,
    Seeds,
    Settings,
    Span,
    Text,
    Unit,
    distinct,
    load,
    placed,
)
from airwnd.study.reproduce.design import Experiment
from airwnd.study.reproduce.expression import Expression, Values
from airwnd.study.reproduce.measure import Measure
from airwnd.study.reproduce.readings import Tables, read_all
from airwnd.study.reproduce.words import interval_text
from airwnd.study.statistics import MIN_SEEDS, Interval, interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HERE = Path(__file__).resolve().parent
PICTURES = HERE.parent / "docs" / "img"
VALUES = HERE / "causes.csv"
FILE = "causes.toml"
_COLUMNS = ("claim", "panel", "case", "column", "mean", "low", "high", "min", "max", "seeds")

Levels = Annotated[dict[str, str], Meta(description="Levels of axes that the expressions do not name.")]


class CaseEntry(Entry, frozen=True):
    """A ``[[cause.panel.case]]``: the experiment's setting with changes, none for the first."""

    label: Heading
    scenario: Annotated[
        str | None, Meta(description="A scenario next to this file in place of scenario.toml.")
    ] = None
    changes: Settings = entry_field(name="set", default_factory=dict)
    at: Levels = entry_field(default_factory=dict)
    only: Annotated[
        dict[str, tuple[str, ...]],
        Meta(description="Levels of axes at which `scenario` and `set` apply; default: all."),
    ] = entry_field(default_factory=dict)


class ColumnEntry(Entry, frozen=True):
    """A ``[[cause.panel.column]]``: another column of the table, such as the two terms of a difference."""

    text: Heading
    expression: Text
    digits: Digits = 1


class PanelEntry(Entry, frozen=True):
    """A ``[[cause.panel]]``: an expression, whose value is drawn for each case."""

    text: Heading
    expression: Text
    case: Annotated[tuple[CaseEntry, ...], Meta(min_length=2)]
    unit: Unit = ""
    digits: Digits = 1
    at: Levels = entry_field(default_factory=dict)
    required: Annotated[
        tuple[float, float] | None, Meta(description="Range of the expression that the claim requires.")
    ] = None
    paper: Annotated[float | None, Meta(description="The paper's number.")] = None
    seeds_shown: Annotated[bool, Meta(description="Draw the range of the single seeds.")] = False
    column: tuple[ColumnEntry, ...] = ()

    def __post_init__(self) -> None:
        distinct("[[cause.panel.case]]", [case.label for case in self.case])
        distinct("[[cause.panel.column]]", [self.text, *(column.text for column in self.column)])

    @property
    def title(self) -> str:
        """The text with its unit."""
        return f"{self.text} ({self.unit})" if self.unit else self.text

    @property
    def columns(self) -> list[ColumnEntry]:
        """The drawn expression, and the others of the table."""
        return [ColumnEntry(text=self.title, expression=self.expression, digits=self.digits), *self.column]


class CauseEntry(Entry, frozen=True):
    """A ``[[cause]]`` of a claim."""

    claim: Id
    seeds: Seeds
    panel: Annotated[tuple[PanelEntry, ...], Meta(min_length=1)]
    series: Annotated[Span | None, Meta(description="Sampling interval of measures over time.")] = None
    measure: Annotated[tuple[Measure, ...], Meta(description="Measures that the experiment lacks.")] = ()

    def __post_init__(self) -> None:
        distinct("[[cause.panel]]", [panel.text for panel in self.panel])
        if self.seeds < MIN_SEEDS:
            raise Mistake("seeds", f"intervals need at least {MIN_SEEDS} seeds, found {self.seeds}")


class CausesFile(Entry, frozen=True):
    """``causes.toml``."""

    cause: Annotated[tuple[CauseEntry, ...], Meta(min_length=1)]

    def __post_init__(self) -> None:
        distinct("[[cause]]", [cause.claim for cause in self.cause])


@dataclass(frozen=True, slots=True)
class Value:
    """An expression in a case: its mean with the confidence interval, and the range of the seeds."""

    estimate: Interval
    minimum: float
    maximum: float


Found = Mapping[tuple[str, str, str], Value]
"""Values by panel, case and column."""


@dataclass(frozen=True)
class Cause:
    """The cases of a claim, checked against the experiment that judges it."""

    entry: CauseEntry
    experiment: Experiment
    expressions: Mapping[str, Expression] = field(repr=False)

    @property
    def picture(self) -> Path:
        """Path of the picture."""
        return PICTURES / f"cause-{self.entry.claim.lower()}.svg"

    @property
    def cases(self) -> Iterator[tuple[PanelEntry, CaseEntry]]:
        """All cases, each with its panel."""
        return ((panel, case) for panel in self.entry.panel for case in panel.case)

    @property
    def used(self) -> set[str]:
        """Names of the measures in the expressions."""
        names = [each.name for each in (*self.experiment.measures, *self.entry.measure)]
        return {name for name in names for each in self.expressions if f"{name}(" in each}

    def scenario(self, levels: Mapping[str, str], case: CaseEntry) -> Scenario:
        """Return the scenario at levels of all axes, with the changes of a case."""
        setting, experiment = self.experiment.setting(levels), self.experiment
        if any(levels[axis] not in allowed for axis, allowed in case.only.items()):
            return experiment.scenario_for(setting, {})
        if case.scenario is not None:
            experiment = replace(experiment, scenario=Scenario.load(experiment.folder / case.scenario))
        return experiment.scenario_for(setting, {}).with_(case.changes)

    def run(self, jobs: int) -> dict[tuple[str, str, str], Value]:
        """Simulate all cases and evaluate the expressions; equal scenarios share their runs."""
        numbers = range(1, self.entry.seeds + 1)
        measures = {each.name: each for each in (*self.experiment.measures, *self.entry.measure)}
        used = self.used
        known: dict[str, list[dict[str, float]]] = {}

        def values(case: CaseEntry, levels: Mapping[str, str], name: str) -> Values:
            scenario = self.scenario(levels, case)
            rows = self.experiment.rows(self.experiment.setting(levels))
            key = json.dumps([scenario.resolved, rows], sort_keys=True)
            if key not in known:
                runs = map(Tables, scenario.run_many(numbers, jobs, self.entry.series))
                known[key] = [read_all([measures[each] for each in used], run, rows) for run in runs]
            return np.array([each[name] for each in known[key]])

        found = {}
        for panel, case in self.cases:
            place = {**panel.at, **case.at}
            lookup = partial(values, case)
            for column in panel.columns:
                seen = self.expressions[column.expression].values(place, lookup)
                found[panel.text, case.label, column.text] = Value(
                    interval(seen.tolist()), float(seen.min()), float(seen.max())
                )
        return found

    def check(self) -> None:
        """Check that the scenario of every case is valid, without running it."""
        for panel, case in self.cases:
            for column in panel.columns:
                place = {**panel.at, **case.at}
                for levels, _ in self.expressions[column.expression].points(place):
                    self.scenario(levels, case)

    def table(self, found: Found) -> str:
        """Return the tables of the README: a row for each case of each panel."""
        return "\n\n".join(self._table(panel, found) for panel in self.entry.panel)

    def _table(self, panel: PanelEntry, found: Found) -> str:
        columns = panel.columns
        order = [*columns[1:], columns[0]]
        lines = [
            "| " + " | ".join(["", *(column.text for column in order)]) + " |",
            "|---" * (len(order) + 1) + "|",
        ]
        for case in panel.case:
            values = [found[panel.text, case.label, column.text].estimate for column in order]
            cells = [_plain(value, column) for value, column in zip(values[:-1], order, strict=False)]
            lines.append("| " + " | ".join([case.label, *cells, _cell(values[-1], order[-1])]) + " |")
        return "\n".join(lines).replace("|  |", "| |", 1)

    def draw(self, found: Found) -> "Figure":
        """Draw a panel for each expression, with a row for each case."""
        heights = [0.8 + 0.4 * len(panel.case) for panel in self.entry.panel]
        figure = style.new_figure((style.WIDTH, sum(heights) + 0.1))
        axes = figure.subplots(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]
        for each, panel in zip(axes, self.entry.panel, strict=True):
            _draw(each, panel, found)
        return figure


def _plain(value: Interval, column: ColumnEntry) -> str:
    return "–" if math.isnan(value.mean) else f"{value.mean:z.{column.digits}f}"


def _cell(value: Interval, column: ColumnEntry) -> str:
    return "–" if math.isnan(value.mean) else interval_text(value, column.digits)


def _draw(axes: "Axes", panel: PanelEntry, found: Found) -> None:
    values = [found[panel.text, case.label, panel.title] for case in panel.case]
    rows = [value.estimate for value in values]
    ends = [end for row in rows for end in (row.low, row.high)]
    if panel.seeds_shown:
        ends += [end for value in values for end in (value.minimum, value.maximum)]
    ends += [] if panel.paper is None else [panel.paper]
    low, high = min(ends), max(ends)
    if panel.required:
        inside = [bound for bound in panel.required if low - (high - low) <= bound <= high + (high - low)]
        low, high = min([low, *inside]), max([high, *inside])
    pad = 0.06 * (high - low) or 1.0
    axes.set_xlim(low - pad, high + pad)
    axes.set_ylim(len(rows) - 0.6, -0.75)
    if panel.required:
        begin, end = (min(max(bound, low - pad), high + pad) for bound in panel.required)
        axes.axvspan(begin, end, color="#0072B2", alpha=0.12, linewidth=0, label="required by the claim")
    if panel.paper is not None:
        axes.axvline(panel.paper, color="#444444", linestyle="--", label="the paper")
    for index, (case, row) in enumerate(zip(panel.case, rows, strict=True)):
        look = style.line(1 if index == 0 else 0)
        text = style.literal(case.label)
        axes.text(
            *(0.01, index - 0.36, text),
            transform=axes.get_yaxis_transform(),
            va="center",
            fontsize=8,
            bbox={"facecolor": "white", "alpha": 0.8, "edgecolor": "none", "pad": 0.5},
        )
        if panel.seeds_shown:
            ends = [values[index].minimum, values[index].maximum]
            label = "" if index else "range of the seeds"
            axes.plot(ends, [index, index], color="0.6", linewidth=0.8, marker="|", label=label)
        axes.errorbar(
            [row.mean],
            [index],
            xerr=[[row.mean - row.low], [row.high - row.mean]],
            color=look.colour,
            marker=look.marker,
            capsize=3,
        )
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.set_xlabel(style.literal(panel.title))
    if panel.required or panel.paper is not None or panel.seeds_shown:
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, borderaxespad=0.1, columnspacing=1)


def load_causes(folder: Path) -> list[Cause]:
    """Read the ``causes.toml`` of an experiment, and check its expressions.

    Raises
    ------
    InputError
        If a file is invalid; the message names the place and the allowed values.
    """
    experiment, path = Experiment.load(folder), folder / FILE
    claims = [claim.id for claim in experiment.claims]
    causes = []
    for index, entry in enumerate(load(path, CausesFile).cause):
        with placed(str(path), f"cause[{index}]"):
            if entry.claim not in claims:
                raise Mistake("claim", f"claims.toml has {', '.join(claims)}, found {entry.claim}")
            measures = [each.name for each in (*experiment.measures, *entry.measure)]
            distinct("the measures", measures)
            levels = experiment.space.levels
            expressions = {
                column.expression: Expression.parse(column.expression, levels, measures)
                for panel in entry.panel
                for column in panel.columns
            }
        causes.append(Cause(entry, experiment, expressions))
    return causes


def every_cause(root: Path = HERE) -> dict[str, Cause]:
    """Read all ``causes.toml``, by claim."""
    folders = sorted(path.parent for path in root.glob(f"*/*/{FILE}"))
    return {cause.entry.claim: cause for folder in folders for cause in load_causes(folder)}


def read_values(path: Path = VALUES) -> dict[str, dict[tuple[str, str, str], Value]]:
    """Read ``causes.csv``: the values of each claim."""
    found: dict[str, dict[tuple[str, str, str], Value]] = {}
    if path.exists():
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                mean, low, high, *ends = (float(row[key]) for key in ("mean", "low", "high", "min", "max"))
                value = Value(Interval(mean, low, high, int(row["seeds"])), *ends)
                found.setdefault(row["claim"], {})[row["panel"], row["case"], row["column"]] = value
    return found


def write_values(found: Mapping[str, Found], path: Path = VALUES) -> None:
    """Write ``causes.csv``, in the order of the claims."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for claim in sorted(found):
        for key, value in found[claim].items():
            mean = value.estimate
            numbers = (mean.mean, mean.low, mean.high, value.minimum, value.maximum)
            writer.writerow([claim, *key, *(f"{each:.6g}" for each in numbers), mean.n])
    path.write_text(stream.getvalue(), encoding="utf-8")


def draw(cause: Cause, found: Found) -> None:
    """Write the picture of a claim."""
    with style.styled(salt=cause.picture.stem):
        cause.draw(found).savefig(cause.picture, metadata={"Date": None})


def main(words: Sequence[str] | None = None) -> None:
    """Run the cases of claims, print their tables and draw their pictures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    causes = every_cause()
    parser.add_argument("claims", nargs="*", metavar="CLAIM", help="default: all that have a cause")
    parser.add_argument("--draw", action="store_true", help="draw from causes.csv without running")
    parser.add_argument("--jobs", type=int, default=1, help="concurrent runs")
    arguments = parser.parse_args(words)
    chosen: Iterable[str] = arguments.claims or causes
    if unknown := [claim for claim in chosen if claim not in causes]:
        parser.error(f"no causes.toml has {', '.join(unknown)}; there are {', '.join(causes)}")
    found = read_values()
    for claim in chosen:
        if not arguments.draw:
            found[claim] = causes[claim].run(arguments.jobs)
            write_values(found)
            found = read_values()  # rounded, so that `--draw` draws the same
        print(f"{claim}\n\n{causes[claim].table(found[claim])}\n")
        draw(causes[claim], found[claim])


if __name__ == "__main__":
    main()
