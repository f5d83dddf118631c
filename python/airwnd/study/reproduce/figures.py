"""Charts for print, as vector or bitmap files, with Matplotlib."""

import itertools
import math
import re
from io import BytesIO
from typing import TYPE_CHECKING, Any

from airwnd.plots import axis, category, style
from airwnd.study.reproduce.chart import Chart, Line, Numbers, bar_place, known, spread
from airwnd.study.reproduce.labels import Box, place

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

_FRONTIER_SIZE = (5.6, 4.2)
_PAPER_DASHES = (0, (1, 2))
_MARKER_POINTS = 6.5
_OPTIMAL: Any = {"color": "#888888", "linewidth": 1.0, "linestyle": (0, (4, 2)), "zorder": 1}
# Height of a tilted label for each of its characters.
_PER_CHARACTER_IN = 0.04
# Width of a character, and height of a line, of titles and labels.
_LETTER_IN, _LINE_IN = 0.072, 0.16
# Margin beside a legend, and the maximum length of its labels.
_BESIDE_LEGEND_IN, _LONGEST = 0.2, 44
# Markers on the border of the axes are not cut off, and take no space beside it.
_WHOLE_MARKERS: Any = {"clip_on": False, "in_layout": False}
_HATCHES = ("", "///", "...", "xxx", "\\\\\\", "---", "++")


def draw(chart: Chart) -> "Figure":
    """Draw a chart: our points filled, with confidence intervals; the paper's points hollow."""
    figure = style.new_figure()
    axes = figure.subplots()
    if chart["kind"] == "frontier":
        figure.set_size_inches(_FRONTIER_SIZE)
        _draw_optimal(axes, chart)
    for index, line in enumerate(chart["lines"]):
        _DRAW[chart["kind"]](axes, chart, line, index)
    axes.set_xlabel(style.literal(chart["x_label"]))
    axes.set_ylabel(style.literal(chart["y_label"]))
    axes.set_title(style.literal(chart["title"]))
    figure.set_figheight(figure.get_figheight() + _height_of_long_texts(chart, figure.get_figwidth()))
    _scale(axes, chart)
    _legend(chart, axes)
    if chart["kind"] == "frontier":
        _name_points(axes, chart)
    return figure


def _height_of_long_texts(chart: Chart, width_in: float) -> float:
    """Return the height that a title and a label take beyond a line each."""
    lines = [math.ceil(_LETTER_IN * len(text) / width_in) for text in (chart["title"], chart["x_label"])]
    return _LINE_IN * sum(max(each - 1, 0) for each in lines)


def _scale(axes: "Axes", chart: Chart) -> None:
    from matplotlib.ticker import LogLocator, NullLocator

    for each, scale in ((axes.xaxis, chart["x_scale"]), (axes.yaxis, chart["y_scale"])):
        if scale == "log":
            (axes.set_xscale if each is axes.xaxis else axes.set_yscale)("log")
            each.set_major_formatter(lambda value, _: f"{value:g}")
            if chart["kind"] == "frontier":
                each.set_major_locator(LogLocator(subs=(1, 2, 5)))
                each.set_minor_locator(NullLocator())
    if chart["x_ticks"]:
        ticks = known(chart["x_ticks"])
        axes.set_xticks(ticks, [f"{tick:.10g}" for tick in ticks])
        axes.minorticks_off()
    if chart["categories"]:
        words = list(map(category.shortened, chart["categories"]))
        if style.name_categories(axes, range(len(words)), words):
            figure = style.figure_of(axes)
            figure.set_figheight(figure.get_figheight() + _PER_CHARACTER_IN * max(map(len, words)))
    if chart["kind"] == "time":
        axes.margins(x=0)
    if chart["y_limits"]:
        axes.set_ylim(*_extended(chart["y_limits"], axes.dataLim.intervaly, axes.get_ylim()))
    elif chart["kind"] in {"time", "distribution"} and chart["y_scale"] == "linear":
        axes.set_ylim(bottom=0)
    if chart["x_limits"]:
        axes.set_xlim(*_extended(chart["x_limits"], axes.dataLim.intervalx, axes.get_xlim()))


def _extended(limits: list[float], data: Any, automatic: tuple[float, float]) -> tuple[float, float]:
    """Extend limits so that all points are visible."""
    low, high = limits
    minimum, greatest = data
    return low if minimum >= low else automatic[0], high if greatest <= high else automatic[1]


def _draw_line(axes: "Axes", chart: Chart, line: Line, index: int) -> None:
    look = style.line(index, len(chart["lines"]))
    bare = chart["kind"] in {"time", "distribution"}
    drawn = axes.errorbar(
        _numbers(line["x"]),
        _numbers(line["y"]),
        yerr=spread(line["y"], line["low"], line["high"]) if line["low"] else None,
        color=look.colour,
        marker="none" if bare else look.marker,
        linestyle=look.dashes,
        linewidth=1.0 if bare else 1.4,
        capsize=2.5,
        elinewidth=0.9,
        zorder=3,
    )
    if not bare:
        drawn[0].set(**_WHOLE_MARKERS)
    axes.plot(
        known(line["paper_x"]),
        known(line["paper_y"]),
        **_WHOLE_MARKERS,
        color=look.colour,
        marker=look.marker,
        markerfacecolor="white",
        markersize=6.5,
        linestyle=_PAPER_DASHES,
        linewidth=0.8,
        zorder=2,
    )


def _draw_point(axes: "Axes", _: Chart, line: Line, __: int) -> None:
    look = style.point(line["look"])
    face = "white" if line["context"] else look.colour
    axes.errorbar(
        _numbers(line["x"]),
        _numbers(line["y"]),
        yerr=spread(line["y"], line["low"], line["high"]),
        xerr=spread(line["x"], line["x_low"], line["x_high"]),
        color=look.colour,
        marker=look.marker,
        markerfacecolor=face,
        markersize=_MARKER_POINTS,
        linestyle="none",
        elinewidth=0.7,
        zorder=3,
    )
    axes.plot(
        known(line["paper_x"]),
        known(line["paper_y"]),
        color="#222222",
        marker=look.marker,
        markerfacecolor="white",
        linestyle="none",
        zorder=2,
    )


def _draw_optimal(axes: "Axes", chart: Chart) -> None:
    axes.plot(*zip(*chart["optimal"], strict=True), drawstyle="steps-post", **_OPTIMAL)


def _name_points(axes: "Axes", chart: Chart) -> None:
    """Label the points; this fixes the layout of the figure."""
    figure = style.figure_of(axes)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    # In a frontier a line is a single point, drawn if both of its coordinates are known.
    named = [line for line in chart["lines"] if line["label"] and None not in line["x"] + line["y"]]
    points = axes.transData.transform([known(line["x"] + line["y"]) for line in named])
    texts = [
        axes.text(0, 0, style.literal(line["label"]), fontsize=7.5, ha="center", va="center")
        for line in named
    ]
    extents = [text.get_window_extent() for text in texts]
    marker = _MARKER_POINTS * figure.dpi / 72
    places = place(
        points=[(float(x), float(y)) for x, y in points],
        # A font is wider at the resolution of a file.
        sizes=[(1.06 * extent.width, extent.height) for extent in extents],
        inside=Box(*axes.bbox.extents),
        marker=1.4 * marker,
        avoid=[_thin(axes.transData.transform(ends)) for ends in _strokes(chart)],
    )
    back = axes.transData.inverted()
    for text, found, point in zip(texts, places, points, strict=True):
        x, y = back.transform((found.x, found.y))
        text.set_position((float(x), float(y)))
        text.set_zorder(5)
        if found.led:
            ends = back.transform([point, (found.x, found.y)])
            axes.plot(*ends.T, color="#888888", linewidth=0.5, zorder=1, scalex=False, scaley=False)
            text.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 0.5, "alpha": 0.8})


def _strokes(chart: Chart) -> list[list[tuple[float, float]]]:
    """Return the ends of strokes that labels must not cover: intervals, and steps between optimal points."""
    strokes: list[list[tuple[float, float]]] = []
    for line in chart["lines"]:
        x, y = known(line["x"]), known(line["y"])
        if x and y:
            strokes += [[(x[0], low), (x[0], high)] for low, high in _ends(line["low"], line["high"])]
            strokes += [[(low, y[0]), (high, y[0])] for low, high in _ends(line["x_low"], line["x_high"])]
    for (left, below), (right, above) in itertools.pairwise(chart["optimal"]):
        strokes += [[(left, below), (right, below)], [(right, below), (right, above)]]
    return strokes


def _ends(low: Numbers, high: Numbers) -> list[tuple[float, float]]:
    return list(zip(known(low), known(high), strict=True))


def _thin(ends: Any) -> Box:
    (left, bottom), (right, top) = ends.min(axis=0), ends.max(axis=0)
    return Box(left - 1, bottom - 1, right + 1, top + 1)


def _hatch(index: int) -> str:
    """Return the hatch of bars, another one for each repetition of a colour."""
    return _HATCHES[(index + index // len(style.COLOURS)) % len(_HATCHES)]


def _draw_bars(axes: "Axes", chart: Chart, line: Line, index: int) -> None:
    look = style.line(index, len(chart["lines"]))
    width, shift = bar_place(len(chart["lines"]), index)
    axes.bar(
        [x + shift for x in known(line["x"])],
        _numbers(line["y"]),
        width,
        yerr=spread(line["y"], line["low"], line["high"]) if line["low"] else None,
        color=look.colour,
        hatch=_hatch(index),
        edgecolor="white",
        linewidth=0.4,
        error_kw={"elinewidth": 0.9, "capsize": 2},
        zorder=3,
    )
    axes.plot(
        [x + shift for x in known(line["paper_x"])],
        known(line["paper_y"]),
        **_WHOLE_MARKERS,
        color="#222222",
        marker="D",
        markerfacecolor="white",
        linestyle="none",
        zorder=4,
    )


_DRAW = {
    "lines": _draw_line,
    "frontier": _draw_point,
    "time": _draw_line,
    "distribution": _draw_line,
    "bars": _draw_bars,
}


def _numbers(values: list[float | None]) -> list[float]:
    return [float("nan") if value is None else value for value in values]


def _legend(chart: Chart, axes: "Axes") -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    def entry(label: str, **look: Any) -> Line2D:
        return Line2D([], [], label=label, **look)

    if chart["kind"] == "frontier":
        _frontier_legend(chart, axes)
        return
    bars = chart["kind"] == "bars"
    bare = chart["kind"] in {"time", "distribution"}
    lines: list[Line2D | Patch] = []
    for index, line in enumerate(chart["lines"]):
        look = style.line(index, len(chart["lines"]))
        if not line["label"]:
            continue
        label = style.literal(line["label"])
        if bars:
            lines.append(Patch(facecolor=look.colour, hatch=_hatch(index), edgecolor="white", label=label))
        else:
            marker = "none" if bare else look.marker
            lines.append(entry(label, color=look.colour, marker=marker, linestyle=look.dashes))
    grey = "#555555"
    dashes: Any = "none" if bars else _PAPER_DASHES
    marker = "D" if bars else "o"
    paper = entry(
        "paper", color=grey, marker=marker, markerfacecolor="white", linestyle=dashes, linewidth=0.8
    )
    ours = entry(chart["ours"], color=grey, marker="none" if bare else "o", linestyle="-" if bare else "none")
    sources = [paper, ours] if any(line["paper_y"] for line in chart["lines"]) else [ours]
    _place_legend(axes, [*lines, *sources], chart["lines_label"])


def _place_legend(axes: "Axes", handles: "Sequence[Line2D | Patch]", title: str = "") -> None:
    """Draw a legend below the axes in as many columns as fit, with long names shortened."""
    figure = style.figure_of(axes)
    names = [category.shortened(str(each.get_label()), _LONGEST) for each in handles]
    columns, names = axis.in_columns(names, figure.get_figwidth() - _BESIDE_LEGEND_IN)
    axis.grow_for_legend(figure, math.ceil(len(names) / columns) + bool(title))
    figure.legend(
        handles,
        names,
        loc="outside lower center",
        title=style.literal(title) or None,
        alignment="left",
        ncols=columns,
        handlelength=2.4,
        columnspacing=1,
    )


def _frontier_legend(chart: Chart, axes: "Axes") -> None:
    from matplotlib.lines import Line2D

    grey: Any = {"color": "#555555", "marker": "o", "linestyle": "none"}
    hollow: Any = {**grey, "markerfacecolor": "white"}
    handles = [Line2D([], [], label=chart["ours"], **grey)]
    if any(line["context"] for line in chart["lines"]):
        handles.append(Line2D([], [], label="for comparison", **hollow))
    if any(line["paper_y"] for line in chart["lines"]):
        handles.append(Line2D([], [], label="paper", **{**hollow, "color": "#222222"}))
    handles.append(Line2D([], [], label="Pareto-optimal", **_OPTIMAL))
    _place_legend(axes, handles)


def svg(figure: "Figure", name: str) -> str:
    """Return a figure as SVG text with identifiers prefixed by `name`; equal figures give equal texts."""
    stream = BytesIO()
    figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    text = stream.getvalue().decode()
    text = re.sub(r'\bid="', f'id="{name}-', text)
    return re.sub(r'(url\(|href=")#', rf"\1#{name}-", text)


def png(figure: "Figure") -> bytes:
    """Return a figure as a PNG with 300 dots per inch."""
    stream = BytesIO()
    figure.savefig(stream, format="png", metadata={"Software": None})
    return stream.getvalue()
