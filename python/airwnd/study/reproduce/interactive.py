"""Interactive charts for the page, with Plotly: hover, zoom and toggle."""

import html
import textwrap
from typing import Any, Literal

from airwnd.plots import style
from airwnd.plots.style import Line as Look
from airwnd.study.reproduce.chart import Chart, Line, Numbers, bar_place, known, spread

_MARKERS = {
    "o": "circle",
    "s": "square",
    "^": "triangle-up",
    "D": "diamond",
    "v": "triangle-down",
    "P": "cross",
    "X": "x",
    "<": "triangle-left",
    "p": "pentagon",
    ">": "triangle-right",
    "h": "hexagon",
    "*": "star",
    "d": "diamond-tall",
    "8": "octagon",
}
_PATTERNS = ("", "/", ".", "x", "\\", "-", "+")
_INK, _GRID, _EDGE, _PAPER = "#1c2024", "#e3e7eb", "#444444", "#ffffff"
#: Replacement of each colour on a dark page.
DARK = {**style.DARK, _INK: "#e4e8ec", _GRID: "#2a3138", _EDGE: "#8b959f", _PAPER: "#14181c"}
_FONTS = "system-ui, Segoe UI, Helvetica Neue, Arial, sans-serif"
_NUMBERS: tuple[Literal["x", "y", "low", "high", "x_low", "x_high", "paper_x", "paper_y"], ...] = (
    *("x", "y", "low", "high"),
    *("x_low", "x_high", "paper_x", "paper_y"),
)
# Number of characters that fit an axis of the smallest chart.
_LABEL_CHARACTERS = 32


def figure(chart: Chart) -> dict[str, Any]:
    """Describe a chart for ``Plotly.react``: ``data`` and ``layout``. The page shows the title above it."""
    chart = _rounded(chart)
    data = [_optimal(chart)] if chart["optimal"] else []
    for index, line in enumerate(chart["lines"]):
        data.append(_DRAW[chart["kind"]](chart, line, index))
        if line["paper_y"]:
            data.append(_paper(chart, line, index))
    return {"data": data, "layout": _layout(chart)}


def _rounded(chart: Chart) -> Chart:
    """Round to seven significant digits, which suffices on screen and halves the size of long series."""
    found = chart.copy()
    found["lines"] = [line.copy() for line in chart["lines"]]
    for line in found["lines"]:
        for column in _NUMBERS:
            line[column] = [None if value is None else float(f"{value:.7g}") for value in line[column]]
    return found


def _literal(text: str) -> str:
    """Escape a text so that Plotly does not interpret it as HTML."""
    return html.escape(text, quote=False)


def _line(chart: Chart, line: Line, index: int) -> dict[str, Any]:
    look = style.line(index, len(chart["lines"]))
    bare = chart["kind"] in {"time", "distribution"}
    trace: dict[str, Any] = {
        "type": "scatter",
        "mode": "lines" if bare else "lines+markers",
        "name": _literal(line["label"]) or "ours",
        "legendgroup": str(index),
        "x": line["x"],
        "y": line["y"],
        "line": {"color": look.colour, "width": 1.2 if bare else 2, "dash": _dash(look.dashes)},
        "marker": {"symbol": _MARKERS[look.marker], "size": 8, "color": look.colour},
        "connectgaps": False,
        "error_y": _errors(line["y"], line["low"], line["high"], look.colour),
    }
    if chart["kind"] == "distribution":
        trace["line"]["shape"] = "hv"
    return trace


def _point(_: Chart, line: Line, index: int) -> dict[str, Any]:
    look = style.point(line["look"])
    return {
        "type": "scatter",
        "mode": "markers",
        "name": _literal(line["label"]) or "ours",
        "legendgroup": str(index),
        "x": line["x"],
        "y": line["y"],
        "marker": {
            "symbol": _MARKERS[look.marker] + ("-open" if line["context"] else ""),
            "size": 10,
            "color": look.colour,
            "line": {"width": 2 if line["context"] else 0},
        },
        "error_y": _errors(line["y"], line["low"], line["high"], look.colour),
        "error_x": _errors(line["x"], line["x_low"], line["x_high"], look.colour),
    }


def _optimal(chart: Chart) -> dict[str, Any]:
    x, y = zip(*chart["optimal"], strict=True)
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "Pareto-optimal",
        "x": list(x),
        "y": list(y),
        "line": {"color": "#888888", "width": 1.2, "dash": "dash", "shape": "hv"},
        "hoverinfo": "skip",
    }


def _bars(chart: Chart, line: Line, index: int) -> dict[str, Any]:
    look = style.line(index, len(chart["lines"]))
    width, shift = bar_place(len(chart["lines"]), index)
    return {
        "type": "bar",
        "name": _literal(line["label"]) or "ours",
        "legendgroup": str(index),
        "x": [x + shift for x in line["x"] if x is not None],
        "width": width,
        "y": line["y"],
        "customdata": list(map(_literal, chart["categories"])),
        "hovertemplate": "%{customdata}: %{y}",
        "marker": {
            "color": look.colour,
            "pattern": {
                "shape": _PATTERNS[index % len(_PATTERNS)],
                "fillmode": "overlay",
                "fgcolor": _PAPER,
                "fgopacity": 0.7,
            },
        },
        "error_y": _errors(line["y"], line["low"], line["high"], _INK),
    }


_DRAW = {"lines": _line, "frontier": _point, "time": _line, "distribution": _line, "bars": _bars}


def _look(chart: Chart, line: Line, index: int) -> Look:
    return (
        style.point(line["look"]) if chart["kind"] == "frontier" else style.line(index, len(chart["lines"]))
    )


def _paper(chart: Chart, line: Line, index: int) -> dict[str, Any]:
    look = _look(chart, line, index)
    trace: dict[str, Any] = {
        "type": "scatter",
        "mode": "markers" if chart["kind"] == "bars" else "lines+markers",
        "name": f"{_literal(line['label'])} (paper)".strip(),
        "legendgroup": f"{index} paper",
        "x": line["paper_x"],
        "y": line["paper_y"],
        "line": {"color": look.colour, "width": 1, "dash": "dot"},
        "marker": {
            "symbol": _MARKERS[look.marker] + "-open",
            "size": 9,
            "color": look.colour,
            "line": {"width": 1.5},
        },
    }
    if chart["kind"] == "bars":
        _, shift = bar_place(len(chart["lines"]), index)
        trace["x"] = [x + shift for x in line["paper_x"] if x is not None]
        trace["marker"].update({"symbol": "diamond-open", "color": _INK})
    return trace


def _errors(middle: Numbers, low: Numbers, high: Numbers, colour: str) -> dict[str, Any]:
    """Describe error bars; invisible if the spread is unknown."""
    if not known(low):
        return {"visible": False}
    below, above = spread(middle, low, high)
    return {
        "type": "data",
        "symmetric": False,
        "array": above,
        "arrayminus": below,
        "color": colour,
        "thickness": 1.2,
        "width": 4,
    }


def _dash(dashes: Any) -> str:
    return "solid" if dashes == "solid" else ",".join(f"{2 * length:g}px" for length in dashes[1])


def _layout(chart: Chart) -> dict[str, Any]:
    x_axis = _axis(chart["x_label"], chart["x_scale"], chart["x_limits"], chart["lines"], "x")
    y_axis = _axis(chart["y_label"], chart["y_scale"], chart["y_limits"], chart["lines"], "y")
    if chart["kind"] == "frontier":
        y_axis.pop("rangemode", None)
        for axis in (x_axis, y_axis):
            if axis["type"] == "log":
                axis.update({"dtick": "D2", "tickformat": "~g"})
    if chart["x_ticks"]:
        x_axis.update({"tickmode": "array", "tickvals": chart["x_ticks"]})
    if chart["categories"]:
        ticks = {
            "tickvals": list(range(len(chart["categories"]))),
            "ticktext": list(map(_literal, chart["categories"])),
        }
        # Labels that would overlap are tilted, towards the left, where they do not leave the chart.
        angles = {"autotickangles": [0, -30, -90], "ticklabeloverflow": "allow"}
        x_axis.update({"tickmode": "array", **ticks, **angles, "showgrid": False})
    below = {"orientation": "h", "x": 0, "y": -0.24, "yanchor": "top"}
    above = {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"}
    beside = {"x": 1.02, "y": 1, "yanchor": "top", "font": {"size": 11}, "tracegroupgap": 0}
    return {
        "font": {"family": _FONTS, "color": _INK, "size": 13},
        "paper_bgcolor": _PAPER,
        "plot_bgcolor": _PAPER,
        "margin": {"l": 76, "r": 20, "t": 16, "b": 52},
        "legend": beside if chart["kind"] == "frontier" else above if chart["categories"] else below,
        "hovermode": "x unified" if chart["kind"] == "lines" else "closest",
        "barmode": "overlay",
        "xaxis": x_axis,
        "yaxis": y_axis,
    }


def _axis(
    label: str, scale: str, limits: list[float] | None, lines: list[Line], direction: str
) -> dict[str, Any]:
    axis: dict[str, Any] = {
        "title": {"text": "<br>".join(map(_literal, textwrap.wrap(label, _LABEL_CHARACTERS))), "standoff": 8},
        "type": scale,
        "gridcolor": _GRID,
        "linecolor": _EDGE,
        "ticks": "outside",
        "zeroline": False,
        "automargin": True,
        "exponentformat": "none",
        "dtick": 1 if scale == "log" else None,
    }
    if limits and scale == "linear":
        values = _extent(lines, direction)
        if values and min(values) >= limits[0] and max(values) <= limits[1]:
            axis["range"] = limits
        elif values:
            margin = 0.05 * (max(*values, limits[1]) - min(*values, limits[0]))
            low = limits[0] if min(values) >= limits[0] else min(values) - margin
            high = limits[1] if max(values) <= limits[1] else max(values) + margin
            axis["range"] = [low, high]
    elif scale == "linear" and direction == "y":
        axis["rangemode"] = "tozero"
    return axis


def _extent(lines: list[Line], direction: str) -> list[float]:
    columns = ("y", "low", "high", "paper_y") if direction == "y" else ("x", "x_low", "x_high", "paper_x")
    return [
        value
        for line in lines
        for column in columns
        for value in known(line[column])  # type: ignore[literal-required]  # a variable is no literal
    ]
