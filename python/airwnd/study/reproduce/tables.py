"""The paper's table and ours side by side, for the terminal, the page and as CSV."""

import csv
import io
import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airwnd.study.reproduce.measure import Measure
from airwnd.study.reproduce.regions import SetUp
from airwnd.study.reproduce.runner import Results
from airwnd.study.statistics import Interval
from airwnd.text.quantities import csv_cells

if TYPE_CHECKING:
    from airwnd.study.space import Setting


@dataclass(frozen=True, slots=True)
class Cell:
    """The paper's number and ours, for one setting."""

    measure: Measure
    paper: float | None
    ours: Interval

    @property
    def paper_text(self) -> str:
        """The paper's number, or a dash if there is none."""
        return "–" if self.paper is None else self.measure.text(self.paper)

    @property
    def ours_text(self) -> str:
        """Our mean."""
        return self.measure.text(self.ours.mean)

    @property
    def spread_text(self) -> str:
        """Half of the confidence interval; if one end is clipped, the distance to the other end.

        Empty if there is no interval.
        """
        if not math.isfinite(self.ours.half_width):
            return ""
        down, up = self.ours.mean - self.ours.low, self.ours.high - self.ours.mean
        if math.isclose(down, up, rel_tol=1e-6, abs_tol=1e-12):
            return f"± {self.measure.text(self.ours.half_width)}"
        return f"− {self.measure.text(down)}" if down > up else f"+ {self.measure.text(up)}"

    @property
    def difference_text(self) -> str:
        """Difference of ours from the paper's number, in percent of the latter."""
        if not self.paper or math.isnan(self.ours.mean):
            return ""
        percent = round((self.ours.mean / self.paper - 1) * 100, 1)
        return f"{percent:+.1f} %".replace("-", "−") if percent else "0.0 %"


@dataclass(frozen=True, slots=True)
class SideBySide:
    """One measure: a column per level of one axis, a row per combination of levels of the others."""

    measure: Measure
    heads: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[tuple[str, ...], tuple[Cell, ...]], ...]


_COLUMNS = 8
"""Maximum number of columns, each with the paper's number and ours."""


def side_by_side(results: Results, measure: Measure, setup: SetUp) -> SideBySide:
    """Lay out a measure as a table. Columns are the last axis, or the shortest if the last one is too long.

    If there is only one axis, its levels are rows of a single column. An axis that does not exist in any
    column of a row has a dash there. Rows to which a measure of real programs does not apply are left out.

    Parameters
    ----------
    results
        The results.
    measure
        The measure.
    setup
        Levels of open axes; for missing ones, the shown levels.
    """
    space = results.experiment.space
    at = {**space.shown, **setup}
    axes = [axis for axis in space.axes if axis.open is None] or list(space.open)
    across = axes[-1] if len(axes[-1].levels) <= _COLUMNS else min(axes, key=lambda axis: len(axis.levels))
    last = () if len(axes) == 1 else (across,)
    first = [axis for axis in axes if axis not in last]

    rows: dict[tuple[Setting, ...], tuple[tuple[str, ...], tuple[Cell, ...]]] = {}
    for levels in itertools.product(*(axis.levels for axis in first)):
        row = at | {axis.name: level.name for axis, level in zip(first, levels, strict=True)}
        columns = [{axis.name: name} for axis in last for name in axis.names] or [{}]
        places = [row | column for column in columns]
        exist = set().union(*(space.existing(place) for place in places))
        settings = tuple(space.setting(place) for place in places)
        heads = [
            level.label if axis.name in exist else "–" for axis, level in zip(first, levels, strict=True)
        ]
        cells = [
            Cell(measure, results.paper(setting, measure), results.estimate(setting, measure))
            for setting in settings
        ]
        if results.experiment.measured is None or not all(math.isnan(cell.ours.mean) for cell in cells):
            rows.setdefault(settings, (tuple(heads), tuple(cells)))
    return SideBySide(
        measure=measure,
        heads=tuple(axis.label for axis in first),
        columns=tuple(level.label for axis in last for level in axis.levels) or ("",),
        rows=tuple(rows.values()),
    )


def as_csv(results: Results) -> str:
    """Return all numbers as CSV: a row per setting, seed and measure, with the paper's number."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(
        [
            *csv_cells(axis.name for axis in results.experiment.axes),
            "seed",
            "measure",
            "unit",
            "ours",
            "paper",
        ]
    )
    for setting in results.experiment.settings():
        for measure in results.experiment.measures:
            paper = results.paper(setting, measure)
            for index, value in enumerate(results.values(setting, measure)):
                row = [*setting, index + 1, measure.name, measure.unit, value, paper]
                writer.writerow(csv_cells(row))
    return stream.getvalue()
