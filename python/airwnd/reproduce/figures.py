"""Charts for paper: vector and bitmap, by matplotlib."""

import re
from io import BytesIO
from typing import TYPE_CHECKING, Any

from airwnd import style
from airwnd.reproduce.chart import Chart, Line, bar_place, known, spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PAPER_DASHES = (0, (1, 2))
_HATCHES = ("", "///", "...", "xxx", "\\\\\\", "---", "++")


def draw(chart: Chart) -> "Figure":
    """Draw a chart: ours filled with confidence intervals, the paper's points hollow beside them."""
    figure = style.new_figure()
    axes = figure.subplots()
    for index, line in enumerate(chart["lines"]):
        _DRAW[chart["kind"]](axes, chart, line, index)
    axes.set_xlabel(chart["x_label"])
    axes.set_ylabel(chart["y_label"])
    axes.set_title(chart["title"])
    _scale(axes, chart)
    _legend(chart, axes)
    return figure


def _scale(axes: "Axes", chart: Chart) -> None:
    for axis, scale in ((axes.xaxis, chart["x_scale"]), (axes.yaxis, chart["y_scale"])):
        if scale == "log":
            (axes.set_xscale if axis is axes.xaxis else axes.set_yscale)("log")
            axis.set_major_formatter(lambda value, _: f"{value:g}")
    if chart["x_ticks"]:
        axes.set_xticks(known(chart["x_ticks"]))
        axes.minorticks_off()
    if chart["categories"]:
        axes.set_xticks(range(len(chart["categories"])), chart["categories"])
        axes.grid(visible=False, axis="x")
    if chart["kind"] == "time":
        axes.margins(x=0)
    if chart["y_limits"]:
        axes.set_ylim(*_extended(chart["y_limits"], axes.dataLim.intervaly, axes.get_ylim()))
    elif chart["kind"] in {"time", "distribution"} and chart["y_scale"] == "linear":
        axes.set_ylim(bottom=0)
    if chart["x_limits"]:
        axes.set_xlim(*_extended(chart["x_limits"], axes.dataLim.intervalx, axes.get_xlim()))


def _extended(limits: list[float], data: Any, automatic: tuple[float, float]) -> tuple[float, float]:
    """Show at least these limits, and all points whatever they are."""
    low, high = limits
    least, greatest = data
    return low if least >= low else automatic[0], high if greatest <= high else automatic[1]


def _draw_line(axes: "Axes", chart: Chart, line: Line, index: int) -> None:
    look = style.line(index, len(chart["lines"]))
    bare = chart["kind"] in {"time", "distribution"}
    axes.errorbar(
        _numbers(line["x"]),
        _numbers(line["y"]),
        yerr=spread(line["y"], line["low"], line["high"]) if line["low"] else None,
        xerr=spread(line["x"], line["x_low"], line["x_high"]) if line["x_low"] else None,
        color=look.colour,
        marker="none" if bare else look.marker,
        linestyle=look.dashes,
        linewidth=1.0 if bare else 1.4,
        capsize=2.5,
        elinewidth=0.9,
        zorder=3,
    )
    axes.plot(
        known(line["paper_x"]),
        known(line["paper_y"]),
        color=look.colour,
        marker=look.marker,
        markerfacecolor="white",
        markersize=6.5,
        linestyle=_PAPER_DASHES,
        linewidth=0.8,
        zorder=2,
    )


def _draw_bars(axes: "Axes", chart: Chart, line: Line, index: int) -> None:
    look = style.line(index, len(chart["lines"]))
    width, shift = bar_place(len(chart["lines"]), index)
    axes.bar(
        [x + shift for x in known(line["x"])],
        _numbers(line["y"]),
        width,
        yerr=spread(line["y"], line["low"], line["high"]) if line["low"] else None,
        color=look.colour,
        hatch=_HATCHES[index % len(_HATCHES)],
        edgecolor="white",
        linewidth=0.4,
        error_kw={"elinewidth": 0.9, "capsize": 2},
        zorder=3,
    )
    axes.plot(
        [x + shift for x in known(line["paper_x"])],
        known(line["paper_y"]),
        color="#222222",
        marker="D",
        markerfacecolor="white",
        linestyle="none",
        zorder=4,
    )


_DRAW = {
    "lines": _draw_line,
    "frontier": _draw_line,
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

    bars = chart["kind"] == "bars"
    bare = chart["kind"] in {"time", "distribution"}
    lines: list[Line2D | Patch] = []
    for index, line in enumerate(chart["lines"]):
        look = style.line(index, len(chart["lines"]))
        if not line["label"]:
            continue
        if bars:
            hatch = _HATCHES[index % len(_HATCHES)]
            lines.append(Patch(facecolor=look.colour, hatch=hatch, edgecolor="white", label=line["label"]))
        else:
            marker = "none" if bare else look.marker
            lines.append(entry(line["label"], color=look.colour, marker=marker, linestyle=look.dashes))
    grey = "#555555"
    dashes: Any = "none" if bars else _PAPER_DASHES
    marker = "D" if bars else "o"
    paper = entry(
        "paper", color=grey, marker=marker, markerfacecolor="white", linestyle=dashes, linewidth=0.8
    )
    ours = entry(chart["ours"], color=grey, marker="none" if bare else "o", linestyle="-" if bare else "none")
    sources = [paper, ours] if any(line["paper_y"] for line in chart["lines"]) else [ours]
    blank = entry("", linestyle="none")
    # A legend fills its columns first, and each is as wide as its widest entry: lines stand in two columns at
    # most, and what is whose, which is long, beside them.
    rows = max(2, -(-len(lines) // 2))
    handles = [*lines, *[blank] * (-len(lines) % rows), *sources, *[blank] * (-len(sources) % rows)]
    columns = len(handles) // rows
    axes.figure.legend(
        handles=handles, loc="outside lower center", ncols=columns, handlelength=3, columnspacing=1
    )


def svg(figure: "Figure", name: str) -> str:
    """Write a figure as an SVG text, its identifiers prefixed with `name`; the same each time."""
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
