"""Throughput against delay: a point with its spread over the seeds for each value of a swept key."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from airwnd.plots import axis, category, interval, style
from airwnd.results.selection import equal, in_order, keys_of_lines, only, values_of
from airwnd.support.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from airwnd.results.sweep import SweepData

#: What is drawn around a mean: the confidence interval of each coordinate, or one standard deviation.
Spread = Literal["interval", "deviation"]

# Points of an ellipse.
_POINTS = 60


def plot_frontier(  # noqa: PLR0913 (keywords of a public function)
    sweep: "SweepData",
    by: str | Sequence[str] | None = None,
    x: str = "delay_ms_mean",
    y: str = "goodput_kbps",
    *,
    group: str | None = None,
    where: Mapping[str, object] | None = None,
    labels: Mapping[str, str] | None = None,
    spread: Spread = "interval",
    x_scale: str = "auto",
    size: style.Size | None = None,
) -> "Figure":
    """Draw one column against another; :meth:`airwnd.Sweep.plot_frontier` documents the arguments."""
    across, up = (values_of(sweep, column, group) for column in (x, y))
    on = [*sweep.keys, "seed"]
    rows = only(sweep, across.rows, where or {}).select(*on, x="value")
    rows = rows.join(up.rows.select(*on, y="value"), on=on, maintain_order="left").drop_nulls()
    if rows.is_empty():
        raise InputError(f"`{x}` and `{y}` have no values in these runs")
    by = keys_of_lines(sweep, rows, [by] if isinstance(by, str) else by)
    names = category.names_of(sweep, rows, labels)
    means = in_order(rows, by)
    clouds = [rows.filter(equal(by, values)) if by else rows for values in means]
    counts = [cloud.height for cloud in clouds]
    with style.styled():
        figure = style.new_figure(size)
        axes = figure.subplots()
        for index, (values, cloud) in enumerate(zip(means, clouds, strict=True)):
            label = names.line(by, values)
            _draw(axes, style.line(index, len(means)), cloud.select("x", "y").to_numpy(), label, spread)
        largest_x, largest_y = (float(np.abs(rows[name].to_numpy()).max()) for name in ("x", "y"))
        words, unit = axis.name(across.table, across.column)
        axis.quantity(axes.xaxis, words, unit, largest_x, axis.population(across.groups, group))
        axis.scale(axes, "x", rows["x"].to_list(), x_scale)
        words, unit = axis.name(up.table, up.column)
        around = "ellipse: one standard deviation" if spread == "deviation" else interval.CI
        axis.quantity(axes.yaxis, words, unit, largest_y, interval.note(counts, around))
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
        if by:
            axis.legend(axes, names.title(by), above_all=False, grow=size is None or size[1] is None)
    return figure


def _draw(axes: "Axes", look: style.Line, points: "np.ndarray", label: str, spread: Spread) -> None:
    centre = points.mean(axis=0)
    axes.plot(
        *centre,
        linestyle="none",
        marker=look.marker,
        color=look.colour,
        label=style.literal(label) or "_point",
    )
    if len(points) < interval.MIN_SEEDS:
        return
    if spread == "interval":
        half = interval.half_widths(np.full(2, len(points), np.uint32), points.std(axis=0, ddof=1))
        axes.errorbar(
            centre[:1],
            centre[1:],
            xerr=half[:1],
            yerr=half[1:],
            color=look.colour,
            fmt="none",
            elinewidth=0.8,
            capsize=2,
        )
        return
    variances, directions = np.linalg.eigh(np.cov(points.T))
    turns = np.linspace(0, 2 * np.pi, _POINTS)
    circle = np.stack([np.cos(turns), np.sin(turns)])
    ellipse = centre[:, None] + directions @ (np.sqrt(np.maximum(variances, 0))[:, None] * circle)
    axes.fill(*ellipse, facecolor=look.colour, edgecolor=look.colour, alpha=0.25, linewidth=0.8)
