"""Plot over a swept key: a line per value of another key, with means and confidence intervals over seeds."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from airwnd.plots import axis, category, interval, style
from airwnd.results.selection import check_key, equal, in_order, only, plain, values_of
from airwnd.support.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from airwnd.results.sweep import SweepData

_PANELS_IN_A_ROW = 4
# Size of a panel, and height of the legend above the panels, in inches.
_PANEL_IN, _LEGEND_IN = (2.4, 1.9), 0.6
# Height of a tilted label for each of its characters.
_PER_CHARACTER_IN = 0.04
# Fraction of the distance between two categories over which the points of a category are spread.
_DODGE = 0.5


@dataclass(frozen=True, slots=True)
class Layout:
    """Assignment of the swept keys to the plot; :meth:`airwnd.Sweep.plot` documents the fields."""

    x: str | None = None
    by: tuple[str, ...] | None = None
    facet: str | None = None
    where: Mapping[str, object] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    x_scale: Literal["auto", "linear", "log"] = "auto"
    y_scale: Literal["linear", "log"] = "linear"


def plot_sweep(
    sweep: "SweepData",
    y: str = "delay_ms_mean",
    layout: Layout | None = None,
    *,
    group: str | None = None,
    size: style.Size | None = None,
) -> "Figure":
    """Draw a column over a swept key; :meth:`airwnd.Sweep.plot` documents the arguments."""
    layout = layout or Layout()
    found = values_of(sweep, y, group)
    y, rows = found.column, found.rows
    rows = only(sweep, rows, layout.where)
    layout = _filled(sweep, layout, rows)
    if layout.x is None:
        raise InputError("nothing to draw along the axis: the sweep has seeds only")
    points = _points(rows.drop_nulls("value"), layout, sweep.random)
    if points.is_empty():
        raise InputError(f"`{y}` has no values in these runs")
    numbers = sweep.number(layout.x)
    places = _places(rows, layout.x, numbers)
    panels = in_order(rows, [layout.facet]) if layout.facet else [()]
    names = category.names_of(sweep, rows, layout.labels)
    lines = in_order(rows, list(layout.by or ()))
    name, unit = axis.name(found.table, y)
    seeds = interval.note(points["n"].to_list())
    note = "\n".join(filter(None, (seeds, axis.population(found.groups, group))))
    with style.styled():
        columns = min(len(panels), _PANELS_IN_A_ROW)
        stack = math.ceil(len(panels) / columns)
        figure = style.new_figure(_size(size, columns, stack) if len(panels) > 1 else size)
        all_axes = figure.subplots(stack, columns, sharex=True, sharey=True, squeeze=False)
        for place, axes in enumerate(all_axes.flat):
            if place >= len(panels):
                axes.remove()
                continue
            part = points if layout.facet is None else points.filter(equal([layout.facet], panels[place]))
            for index, values in enumerate(lines):
                chosen = part.filter(equal(layout.by or (), values)) if values else part
                label = names.line(layout.by or (), values)
                look = _Line(index, len(lines), label, numbers is not None, bool(sweep.random))
                _draw(axes, look, chosen, places)
            if layout.facet is not None:
                shown = names.values[layout.facet][panels[place][0]]
                axes.set_title(style.literal(f"{names.keys[layout.facet]}: {shown}"))
            if place % columns == 0:
                axis.quantity(axes.yaxis, name, unit, _largest(points), note)
        axes = all_axes[0, 0]
        words = None if numbers else [names.values[layout.x][value] for value in places]
        _scales(axes, layout, points, places, words)
        below = names.keys[layout.x] + (f" ({numbers[1]})" if numbers and numbers[1] else "")
        for each in all_axes[-1]:
            each.set_xlabel(style.literal(below))
            if words:
                tilted = style.name_categories(each, list(places.values()), words)
                if tilted and each is all_axes[-1][0] and (size is None or size[1] is None):
                    figure.set_figheight(figure.get_figheight() + _PER_CHARACTER_IN * max(map(len, words)))
        if len(lines) > 1:
            title = names.title(layout.by or ())
            axis.legend(axes, title, above_all=len(panels) > 1, grow=size is None or size[1] is None)
    return figure


@dataclass(frozen=True, slots=True)
class _Line:
    """Index of a line, its label, and the style of its points."""

    index: int
    count: int
    label: str
    numeric: bool
    scattered: bool


def _size(size: style.Size | None, columns: int, rows: int) -> style.Size:
    """Return the size of a figure of several panels."""
    width, height = size or (min(_PANEL_IN[0] * columns, style.WIDTHS["page"]), None)
    return width, height or _PANEL_IN[1] * rows + _LEGEND_IN


def _filled(sweep: "SweepData", layout: Layout, rows: pl.DataFrame) -> Layout:
    """Assign the remaining keys: the longest numeric one to the axis, then to lines, then to panels."""
    given = [(layout.x, "x"), *((key, "by") for key in layout.by or ()), (layout.facet, "facet")]
    used: list[str] = []
    for key, option in given:
        if key is None:
            continue
        check_key(sweep, key, option)
        if key in used:
            raise InputError(f"{option} {key}: the key is already used")
        used.append(key)
    count = {key: rows[key].n_unique() for key in sweep.keys}
    # Random keys are drawn jointly: one of them shows all points.
    free = [key for key in sweep.keys if key not in used and key not in layout.where]
    if layout.x is None and free:
        best = max(free, key=lambda key: (count[key] > 1, sweep.number(key) is not None, count[key]))
        layout = replace(layout, x=best)
        free.remove(best)
    rest = [key for key in free if count[key] > 1 and key not in sweep.random]
    if layout.by is None:
        layout, rest = replace(layout, by=tuple(rest[:1])), rest[1:]
        if layout.facet is None and rest:
            layout, rest = replace(layout, facet=rest[0]), rest[1:]
    if rest:
        shown = ", ".join(plain(value) for (value,) in in_order(rows, rest[:1]))
        raise InputError(
            f"{rest[0]} has several values, {shown}, but is not in the picture: select one by "
            f"--where {rest[0]}=VALUE, or name it by --x, --by or --facet (in Python: where, x, by, facet)"
        )
    return layout


def _points(rows: pl.DataFrame, layout: Layout, random: Sequence[str]) -> pl.DataFrame:
    """Return mean, half-width of the confidence interval and number of seeds of each setting."""
    # Two random points may have the same value of one key.
    placed = (layout.x, *(layout.by or ()), layout.facet, *random)
    keys = list(dict.fromkeys(key for key in placed if key is not None))
    value = pl.col("value")
    # Two draws may give the same setting, and then the same runs.
    rows = rows.unique([*keys, "seed"], keep="first", maintain_order=True)
    found = rows.group_by(keys, maintain_order=True).agg(mean=value.mean(), spread=value.std(), n=value.len())
    half = interval.half_widths(found["n"].to_numpy(), found["spread"].fill_null(0.0).to_numpy())
    return found.with_columns(half=pl.Series(half))


def _places(rows: pl.DataFrame, x: str, numbers: tuple[str, str] | None) -> dict[object, float]:
    """Return the position of each value on the axis: the number itself, or the rank of a word."""
    if numbers is None:
        return {value: float(rank) for rank, (value,) in enumerate(in_order(rows, [x]))}
    return dict(zip(rows[x], rows[numbers[0]].cast(pl.Float64), strict=True))


def _draw(axes: "Axes", line: _Line, points: pl.DataFrame, places: Mapping[object, float]) -> None:
    look = style.line(line.index, line.count)
    at = np.array([places[value] for value in points[points.columns[0]]])
    order = np.argsort(at, kind="stable")
    if not line.numeric:
        at += _DODGE * ((line.index + 0.5) / line.count - 0.5)
    half = points["half"].to_numpy()
    joined = line.numeric and not line.scattered
    axes.errorbar(
        at[order],
        points["mean"].to_numpy()[order],
        yerr=half[order] if half.any() else None,
        color=look.colour,
        marker=look.marker,
        markersize=4,
        linestyle=look.dashes if joined else "none",
        linewidth=1.2,
        elinewidth=0.8,
        capsize=2,
        label=style.literal(line.label) or "_line",
    )


def _scales(
    axes: "Axes",
    layout: Layout,
    points: pl.DataFrame,
    places: Mapping[object, float],
    words: Sequence[str] | None,
) -> None:
    """Scale the axes; `words` are the categories of a horizontal axis without numbers."""
    from matplotlib.ticker import FuncFormatter

    if words:
        axes.set_xlim(-0.5, len(places) - 0.5)
    else:
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.10g}"))
        axis.scale(axes, "x", list(places.values()), layout.x_scale)
    lowest = float((points["mean"] - points["half"]).min())  # type: ignore[arg-type]
    if layout.y_scale == "log":
        axis.scale(axes, "y", points["mean"].to_list(), "log")
    elif lowest >= 0 or float(points["mean"].min()) >= 0:  # type: ignore[arg-type]
        axes.set_ylim(bottom=0)


def _largest(points: pl.DataFrame) -> float:
    return float(points["mean"].abs().max())  # type: ignore[arg-type]
