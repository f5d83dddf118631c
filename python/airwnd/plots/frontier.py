"""Throughput against delay: a point with an ellipse for each value of a swept key."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from airwnd.plots import axis, category, interval, style
from airwnd.results.selection import check_key, only, values_of
from airwnd.support.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from airwnd.results.sweep import SweepData

# Points of an ellipse.
_POINTS = 60


def plot_frontier(  # noqa: PLR0913 (keywords of a public function)
    sweep: "SweepData",
    by: str | None = None,
    x: str = "delay_ms_mean",
    y: str = "goodput_kbps",
    *,
    group: str | None = None,
    where: Mapping[str, object] | None = None,
    labels: Mapping[str, str] | None = None,
    x_scale: str = "auto",
    size: style.Size | None = None,
) -> "Figure":
    """Draw one column against another; :meth:`airwnd.Sweep.plot_frontier` documents the arguments."""
    keys = [key for key in sweep.keys if key not in (where or {})]
    by = by or next((key for key in keys if sweep.runs[key].n_unique() > 1), "")
    check_key(sweep, by, "by")
    wide = [key for key in keys if key != by and sweep.runs[key].n_unique() > 1]
    if wide:
        raise InputError(f"{wide[0]} has several values: select one by where, or name it as by")
    across, up = (values_of(sweep, column, group) for column in (x, y))
    on = [*sweep.keys, "seed"]
    rows = only(sweep, across.rows, where or {}).select(*on, x="value")
    rows = rows.join(up.rows.select(*on, y="value"), on=on, maintain_order="left").drop_nulls()
    if rows.is_empty():
        raise InputError(f"`{x}` and `{y}` have no values in these runs")
    names = category.names_of(sweep, rows, labels)
    counts = rows.group_by(by).len()["len"].to_list()
    fewest, most = min(counts), max(counts)
    with style.styled():
        figure = style.new_figure(size)
        axes = figure.subplots()
        for index, (value, label) in enumerate(names.values[by].items()):
            points = rows.filter(pl.col(by) == value).select("x", "y").to_numpy()
            _draw(axes, style.series(index, len(names.values[by])), points, label)
        largest_x, largest_y = (float(np.abs(rows[name].to_numpy()).max()) for name in ("x", "y"))
        words, unit = axis.name(across.table, across.column)
        axis.quantity(axes.xaxis, words, unit, largest_x, axis.population(across.groups, group))
        axis.scale(axes, "x", rows["x"].to_list(), x_scale)
        words, unit = axis.name(up.table, up.column)
        note = f"mean of {fewest}{f' to {most}' if most > fewest else ''} seeds" if most > 1 else ""
        ellipses = ", ellipse: one standard deviation" if most >= interval.MIN_SEEDS else ""
        axis.quantity(axes.yaxis, words, unit, largest_y, note + ellipses)
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
        axis.legend(axes, names.keys[by], above_all=False, grow=size is None or size[1] is None)
    return figure


def _draw(axes: "Axes", look: style.Line, points: "np.ndarray", label: str) -> None:
    centre = points.mean(axis=0)
    axes.plot(*centre, linestyle="none", marker=look.marker, color=look.colour, label=style.literal(label))
    if len(points) < interval.MIN_SEEDS:
        return
    variances, directions = np.linalg.eigh(np.cov(points.T))
    turns = np.linspace(0, 2 * np.pi, _POINTS)
    circle = np.stack([np.cos(turns), np.sin(turns)])
    ellipse = centre[:, None] + directions @ (np.sqrt(np.maximum(variances, 0))[:, None] * circle)
    axes.fill(*ellipse, facecolor=look.colour, edgecolor=look.colour, alpha=0.25, linewidth=0.8)
