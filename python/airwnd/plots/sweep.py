"""Plot over a swept key: a line per value of another key, with means and confidence intervals over seeds."""

import difflib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from airwnd.plots import axis, category, style
from airwnd.support.errors import InputError
from airwnd.vocabulary.columns import later_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from airwnd.results.sweep import SweepData

# As in the reproductions: with two values, Student's t is too wide to be informative.
_CONFIDENCE, _MIN_SEEDS = 0.95, 3
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
    panels = _in_order(rows, [layout.facet]) if layout.facet else [()]
    names = {key: category.texts(rows[key].unique(maintain_order=True)) for key in sweep.keys}
    lines = _in_order(rows, list(layout.by or ()))
    name, unit = axis.name(found.table, y)
    seeds = _note(int(points["n"].min()), int(points["n"].max()))  # type: ignore[arg-type]
    note = "\n".join(filter(None, (seeds, found.population)))
    with style.styled():
        columns = min(len(panels), _PANELS_IN_A_ROW)
        stack = math.ceil(len(panels) / columns)
        figure = style.new_figure(_size(size, columns, stack) if len(panels) > 1 else size)
        all_axes = figure.subplots(stack, columns, sharex=True, sharey=True, squeeze=False)
        for place, axes in enumerate(all_axes.flat):
            if place >= len(panels):
                axes.remove()
                continue
            part = points if layout.facet is None else points.filter(_is([layout.facet], panels[place]))
            for index, values in enumerate(lines):
                chosen = part.filter(_is(layout.by or (), values)) if values else part
                label = ", ".join(
                    names[key][value] for key, value in zip(layout.by or (), values, strict=True)
                )
                look = _Line(index, len(lines), label, numbers is not None, bool(sweep.random))
                _draw(axes, look, chosen, places)
            if layout.facet is not None:
                axes.set_title(style.literal(f"{layout.facet} = {names[layout.facet][panels[place][0]]}"))
            if place % columns == 0:
                axis.quantity(axes.yaxis, name, unit, _largest(points), note)
        axes = all_axes[0, 0]
        words = None if numbers else [names[layout.x][value] for value in places]
        _scales(axes, layout, points, places, words)
        below = layout.x + (f" ({numbers[1]})" if numbers and numbers[1] else "")
        for each in all_axes[-1]:
            each.set_xlabel(style.literal(below))
            if words:
                longest = max(map(len, words))
                tilted = style.tilt_labels(each, longest, len(words))
                if tilted and each is all_axes[-1][0] and (size is None or size[1] is None):
                    figure.set_figheight(figure.get_figheight() + _PER_CHARACTER_IN * longest)
        if len(lines) > 1:
            title = ", ".join(layout.by or ())
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


@dataclass(frozen=True, slots=True)
class Values:
    """A column of a table: a row per run with its ``value``, and the flows that it covers, for the label."""

    table: str
    column: str
    rows: pl.DataFrame
    population: str


def values_of(sweep: "SweepData", y: str, group: str | None) -> Values:
    """Return the values of a column by run.

    Parameters
    ----------
    sweep
        The data set.
    y
        A column of the runs, or of the flows, averaged over those of a run.
    group
        Group of flows; ``None``: all.
    """
    numbers = (found[0] for found in map(sweep.number, sweep.keys) if found is not None)
    keys = list(dict.fromkeys((*sweep.keys, *numbers)))
    groups = sweep.flows["group"].unique(maintain_order=True).to_list()
    flows = sweep.flows
    if group is not None:
        if group not in groups:
            raise InputError(f"no group `{group}`; {_hint(group, groups)}")
        flows = flows.filter(pl.col("group") == group)
    # Totals are results of all flows together.
    frames = {"totals": sweep.runs, "flows": flows} if group is None else {"flows": flows}
    prefix, dot, rest = y.rpartition(".")
    if dot and prefix in frames:
        y, frames = rest, {prefix: frames[prefix]}
    there = {
        table: [
            name
            for name, dtype in frame.schema.items()
            if dtype.is_numeric() and name not in keys and name != "seed"
        ]
        for table, frame in frames.items()
    }
    table = next((table for table, names in there.items() if y in names), None)
    if table is None:
        known = dict.fromkeys(name for names in there.values() for name in names)
        whole = f" of the group `{group}`" if group else ""
        raise InputError(f"no column `{y}`{whole}; {_hint(y, known)}")
    value = pl.col(y).cast(pl.Float64)
    if table == "totals":
        # Of the totals, PRB use and drops are results of the cells and links.
        unlike = axis.population(groups) if y in sweep.flows.columns or y == "jain" else ""
        return Values(table, y, frames[table].select(*keys, "seed", value=value), unlike)
    rows = flows.group_by(*keys, "seed", maintain_order=True).agg(value=value.mean())
    return Values(table, y, rows, axis.population(groups, group))


def _hint(word: str, known: Iterable[str]) -> str:
    if word in (later := later_names("totals", [word])):
        return f"it is called `{later[word]}` now"
    near = difflib.get_close_matches(word, list(known), n=3)
    if near:
        return f"did you mean {' or '.join(f'`{each}`' for each in near)}?"
    return f"there are {', '.join(known)}"


def only(sweep: "SweepData", rows: pl.DataFrame, where: Mapping[str, object]) -> pl.DataFrame:
    """Return the rows with these values of swept keys.

    Parameters
    ----------
    sweep
        The data set.
    rows
        Rows with its keys.
    where
        Values by key.
    """
    for key, value in where.items():
        _check(sweep, key, "where")
        kept = rows.filter(pl.col(key).cast(pl.String) == category.plain(value))
        if kept.is_empty():
            there = ", ".join(category.plain(each) for (each,) in _in_order(rows, [key]))
            raise InputError(f"where {key}={category.plain(value)}: no such value; there are {there}")
        rows = kept
    return rows


def _check(sweep: "SweepData", key: str, option: str) -> None:
    if key not in sweep.keys:
        raise InputError(f"{option} {key}: not a swept key; there are {', '.join(sweep.keys) or 'none'}")


def _filled(sweep: "SweepData", layout: Layout, rows: pl.DataFrame) -> Layout:
    """Assign the remaining keys: the longest numeric one to the axis, then to lines, then to panels."""
    given = [(layout.x, "x"), *((key, "by") for key in layout.by or ()), (layout.facet, "facet")]
    used: list[str] = []
    for key, option in given:
        if key is None:
            continue
        _check(sweep, key, option)
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
        raise InputError(
            f"{rest[0]} has {count[rest[0]]} values but is not in the picture: name it as x, by or facet, "
            "or select one value by where"
        )
    return layout


def _points(rows: pl.DataFrame, layout: Layout, random: Sequence[str]) -> pl.DataFrame:
    """Return mean, half-width of the confidence interval and number of seeds of each setting."""
    from scipy import stats

    # Two random points may have the same value of one key.
    placed = (layout.x, *(layout.by or ()), layout.facet, *random)
    keys = list(dict.fromkeys(key for key in placed if key is not None))
    value = pl.col("value")
    # Two draws may give the same setting, and then the same runs.
    rows = rows.unique([*keys, "seed"], keep="first", maintain_order=True)
    found = rows.group_by(keys, maintain_order=True).agg(mean=value.mean(), spread=value.std(), n=value.len())
    counts = found["n"].to_numpy()
    enough = counts >= _MIN_SEEDS
    quantile = stats.t.ppf((1 + _CONFIDENCE) / 2, np.maximum(counts - 1, 1))
    half = np.where(enough, quantile * found["spread"].fill_null(0.0).to_numpy() / np.sqrt(counts), 0.0)
    return found.with_columns(half=pl.Series(half))


def _places(rows: pl.DataFrame, x: str, numbers: tuple[str, str] | None) -> dict[object, float]:
    """Return the position of each value on the axis: the number itself, or the rank of a word."""
    if numbers is None:
        return {value: float(rank) for rank, (value,) in enumerate(_in_order(rows, [x]))}
    return dict(zip(rows[x], rows[numbers[0]].cast(pl.Float64), strict=True))


def _in_order(rows: pl.DataFrame, keys: Sequence[str]) -> list[tuple[object, ...]]:
    """Return the combinations of keys' values in the order of the sweep; the last key changes fastest."""
    if not keys:
        return [()]
    ranks = [
        {value: rank for rank, value in enumerate(rows[key].unique(maintain_order=True))} for key in keys
    ]
    found = rows.select(keys).unique().iter_rows()
    return sorted(found, key=lambda values: [rank[value] for rank, value in zip(ranks, values, strict=True)])


def _is(keys: Sequence[str], values: Sequence[object]) -> pl.Expr:
    return pl.all_horizontal(pl.col(key) == value for key, value in zip(keys, values, strict=True))


def _draw(axes: "Axes", line: _Line, points: pl.DataFrame, places: Mapping[object, float]) -> None:
    look = style.series(line.index, line.count)
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
        axes.set_xticks(list(places.values()), list(map(style.literal, words)))
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


def _note(minimum: int, maximum: int) -> str:
    """Describe the points: number of seeds, and confidence level."""
    if maximum == 1:
        return ""
    seeds = f"{maximum} seeds" if minimum == maximum else f"{minimum} to {maximum} seeds"
    return f"mean of {seeds}" + (f", {_CONFIDENCE:.0%} CI" if maximum >= _MIN_SEEDS else "")
