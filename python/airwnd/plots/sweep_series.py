"""Time series of a sweep: a line per value of a swept key, with a band for the interval over the seeds."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from airwnd.plots import axis, category, interval, style
from airwnd.plots.flows import members
from airwnd.plots.series import WITHOUT_ZERO, step, time_text
from airwnd.results.selection import equal, in_order, keys_of_lines, only
from airwnd.support.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from airwnd.results.sweep import SweepData

# The mean of the numbers of two cells is no cell.
_NOT_AVERAGED = ("cell", "neighbour")
_NOW = 1e-9
# Default maximum number of time steps: bands of shorter ones hide each other.
_MAX_STEPS = 100
_TICKS = 6


@dataclass(frozen=True, slots=True)
class _Lines:
    """Swept keys whose values have a line each, and the ids of the flows of each line by its name."""

    by: tuple[str, ...]
    flows: Mapping[str, Sequence[str]]


def plot_sweep_series(  # noqa: PLR0913 (keywords of a public function)
    sweep: "SweepData",
    quantity: str = "delay_ms",
    *,
    by: Sequence[str] | None = None,
    flows: Sequence[str] = (),
    where: Mapping[str, object] | None = None,
    labels: Mapping[str, str] | None = None,
    mean_s: float | None = None,
    size: style.Size | None = None,
) -> "Figure":
    """Draw a column of the series over time; :meth:`airwnd.Sweep.plot_series` documents the arguments."""
    from matplotlib.ticker import MaxNLocator

    if quantity in _NOT_AVERAGED:
        raise InputError(f"series `{quantity}` has no mean over flows and seeds; draw that of a run")
    if mean_s is not None and not 0 < mean_s < math.inf:
        raise InputError(f"mean over {mean_s} s: expected a time above zero")
    data = only(sweep, sweep.read_series([quantity]).rename({quantity: "value"}), where or {})
    lines = _Lines(keys_of_lines(sweep, data, by), members(sweep, flows))
    names = category.names_of(sweep, data, labels)
    mean_s = mean_s or step(data["time_s"], _MAX_STEPS)
    points = _points(data, lines, mean_s)
    if points.is_empty():
        raise InputError(f"series `{quantity}` has no values in these runs")
    with style.styled():
        grow = size is None or size[1] is None
        figure = style.new_figure(size)
        axes = figure.subplots()
        drawn = in_order(points, ["line", *lines.by])
        for index, (line, *values) in enumerate(drawn):
            chosen = points.filter(equal(("line", *lines.by), (line, *values)))
            label = names.line(lines.by, values, str(line) if len(lines.flows) > 1 else "")
            _draw(axes, chosen, style.line(index, len(drawn)), label)
        # As many ticks at any width, since their labels decide how wide the axes can be.
        axes.xaxis.set_major_locator(MaxNLocator(_TICKS))
        axes.set_xlabel("Time (s)" + (f", means of {time_text(mean_s)}" if mean_s else ""))
        seeds = interval.note(points["n"].to_list())
        groups = sweep.flows["group"].unique(maintain_order=True).to_list()
        whole = "" if len(flows) > 1 else axis.population(groups, *flows)
        note = "\n".join(filter(None, (seeds, whole)))
        largest = float(points["mean"].abs().to_numpy().max())
        axis.quantity(axes.yaxis, *axis.name("series", quantity), largest, note)
        if not quantity.endswith(WITHOUT_ZERO):
            axes.set_ylim(bottom=0)
        axes.set_xlim(0, float(data["time_s"].to_numpy().max()))
        if len(drawn) > 1:
            axis.legend(axes, names.title(lines.by), grow=grow)
    return figure


def _points(data: pl.DataFrame, lines: _Lines, mean_s: float | None) -> pl.DataFrame:
    """Return mean, half-width of the interval and number of seeds of each line at each time."""
    if mean_s is not None:
        # A sample belongs to the window that contains the end of its sampling interval.
        window = ((pl.col("time_s") - _NOW) / mean_s).floor()
        data = data.with_columns(time_s=(window + 0.5) * mean_s)
    parts = [
        data.filter(pl.col("flow").is_in(ids)).with_columns(line=pl.lit(name))
        for name, ids in lines.flows.items()
    ]
    value, at = pl.col("value").cast(pl.Float64), ["line", *lines.by, "time_s"]
    found = pl.concat(parts).drop_nulls("value")
    # Each flow of a run has the same weight, however many samples it has.
    for among in (["seed", "flow"], ["seed"]):
        found = found.group_by(*at, *among, maintain_order=True).agg(value.mean())
    found = found.group_by(at, maintain_order=True).agg(mean=value.mean(), spread=value.std(), n=value.len())
    half = interval.half_widths(found["n"].to_numpy(), found["spread"].fill_null(0.0).to_numpy())
    return found.with_columns(half=pl.Series(half))


def _draw(axes: "Axes", points: pl.DataFrame, look: style.Line, label: str) -> None:
    points = points.sort("time_s")
    time, mean, half = (points[name].to_numpy() for name in ("time_s", "mean", "half"))
    if half.any():
        axes.fill_between(time, mean - half, mean + half, color=look.colour, alpha=0.2, linewidth=0)
    name = style.literal(label) or "_line"
    axes.plot(time, mean, color=look.colour, linestyle=look.dashes, linewidth=1.2, label=name)
