"""The paper's figures with ours beside them."""

import math
import re
from io import BytesIO
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from airwnd import style
from airwnd.reproduce.design import Plot, Setting
from airwnd.reproduce.runner import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw(results: Results, plot: Plot) -> "Figure":
    """Draw a plot: ours filled with confidence intervals, the paper's points hollow beside them."""
    figure = style.new_figure()
    axes = figure.subplots()
    for index, level in enumerate(plot.lines.levels):
        _draw_line(results, plot, axes, level.name, style.line(index))
    axes.set_xlabel(plot.x.label)
    axes.set_ylabel(plot.measure.label + (f" ({plot.measure.unit})" if plot.measure.unit else ""))
    axes.set_title(plot.title)
    if plot.scale == "log":
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_xticks([float(level.name) for level in plot.x.levels])
    if plot.limits:
        _extend(axes, *plot.limits)
    _legend(results, plot, axes)
    return figure


def _draw_line(results: Results, plot: Plot, axes: "Axes", level: str, look: style.Line) -> None:
    places = [(float(x.name), _setting(results, plot, x.name, level)) for x in plot.x.levels]
    estimates = [results.estimate(setting, plot.measure) for _, setting in places]
    spread = [0.0 if math.isinf(each.half_width) else each.half_width for each in estimates]
    axes.errorbar(
        [x for x, _ in places],
        [each.mean for each in estimates],
        yerr=spread,
        color=look.colour,
        marker=look.marker,
        linestyle=look.dashes,
        capsize=2.5,
        elinewidth=0.9,
        zorder=3,
    )
    printed = [(x, results.paper(setting, plot.measure)) for x, setting in places]
    points = [(x, value) for x, value in printed if value is not None]
    axes.plot(
        [x for x, _ in points],
        [value for _, value in points],
        color=look.colour,
        marker=look.marker,
        markerfacecolor="white",
        markersize=6.5,
        linestyle=(0, (1, 2)),
        linewidth=0.8,
        zorder=2,
    )


def _extend(axes: "Axes", low: float, high: float) -> None:
    """Show at least this range, and all points whatever they are."""
    least, greatest = axes.dataLim.intervaly
    bottom, top = axes.get_ylim()
    axes.set_ylim(low if least >= low else bottom, high if greatest <= high else top)


def _setting(results: Results, plot: Plot, x: str, level: str) -> Setting:
    chosen = {plot.x.name: x, plot.lines.name: level}
    # An axis that the plot does not show stands at its first level.
    return tuple(chosen.get(axis.name, axis.levels[0].name) for axis in results.experiment.axes)


def _legend(results: Results, plot: Plot, axes: "Axes") -> None:
    from matplotlib.lines import Line2D

    def entry(label: str, **look: Any) -> Line2D:
        return Line2D([], [], label=label, **look)

    lines = [
        entry(level.label, color=look.colour, marker=look.marker, linestyle=look.dashes)
        for level, look in ((level, style.line(index)) for index, level in enumerate(plot.lines.levels))
    ]
    seeds = results.effort.seeds
    ours = f"ours: mean of {seeds} seeds, 95 % CI" if seeds > 1 else "ours: one seed"
    grey = "#555555"
    sources = [
        entry("paper", color=grey, marker="o", markerfacecolor="white", linestyle=(0, (1, 2)), linewidth=0.8),
        entry(ours, color=grey, marker="o", linestyle="none"),
    ]
    blank = entry("", linestyle="none")
    # A legend fills its columns first: the lines make the upper row, what is whose the lower.
    pairs = zip_longest(lines, sources, fillvalue=blank)
    handles = [handle for pair in pairs for handle in pair]
    axes.figure.legend(handles=handles, loc="outside lower center", ncols=len(handles) // 2, handlelength=3)


def svg(figure: "Figure", name: str) -> str:
    """Write a figure as an SVG element, its identifiers prefixed with `name`; the same each time."""
    stream = BytesIO()
    figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    text = stream.getvalue().decode()
    text = re.sub(r'\bid="', f'id="{name}-', text)
    return re.sub(r'(url\(|href=")#', rf"\1#{name}-", text)


def png(figure: "Figure") -> bytes:
    """Write a figure as a PNG of 300 dots per inch."""
    stream = BytesIO()
    figure.savefig(stream, format="png", metadata={"Software": None})
    return stream.getvalue()
