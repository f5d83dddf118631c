"""Plots of a run's time series: a line per flow, or a band over many flows."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from airwnd.plots import axis, style
from airwnd.plots.flows import named
from airwnd.support.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from airwnd.results.run import RunData

#: Columns whose axis does not start at zero: levels in decibels, positions, and cell numbers.
WITHOUT_ZERO = ("_db", "_dbm", "_m", "cell", "neighbour")
# Maximum number of time steps of a band.
_MAX_STEPS = 300
_BAND = (0.05, 0.5, 0.95)
_NOW = 1e-9


def plot_series(  # noqa: PLR0913
    run: "RunData",
    quantity: str,
    axes: "Axes | None" = None,
    *,
    flows: Sequence[str] = (),
    mean_s: float | None = None,
    size: style.Size | None = None,
) -> "Axes":
    """Draw a column of the series over time; :meth:`airwnd.Run.plot` documents the arguments."""
    series = run.series
    drawable = [name for name in series.columns if name not in ("time_s", "flow")]
    if quantity not in drawable:
        there = ", ".join(drawable) or 'none: run with series="10ms" or the like'
        raise InputError(f"no series `{quantity}`; there are {there}")
    if mean_s is not None and not 0 < mean_s < math.inf:
        raise InputError(f"mean over {mean_s} s: expected a time above zero")
    chosen = named(run, flows)
    data = series.select("time_s", pl.col("flow").cast(pl.String), value=pl.col(quantity).cast(pl.Float64))
    data = data.filter(pl.col("flow").is_in(chosen)).drop_nulls("value")
    drawn = set(data["flow"].unique())
    lines = [flow for flow in chosen if flow in drawn]
    if not lines:
        raise InputError(f"series `{quantity}` has no values for {', '.join(chosen[:5])}")
    crowded = len(lines) > axis.MAX_LINES and not flows
    if crowded and mean_s is None:
        mean_s = step(series["time_s"])
    data = data if mean_s is None else means(data, mean_s)
    with style.styled():
        grow = axes is None and (size is None or size[1] is None)
        axes = axes or style.new_figure(size).subplots()
        if crowded:
            _draw_band(axes, data, len(lines))
        else:
            _draw_lines(axes, data, lines)
        axes.set_xlabel("Time (s)")
        note = "" if mean_s is None else f"means of {time_text(mean_s)}"
        axis.quantity(axes.yaxis, *axis.name("series", quantity), abs(float(_largest(data))), note)
        if not quantity.endswith(WITHOUT_ZERO):
            axes.set_ylim(bottom=0)
        axes.set_xlim(0, run.duration_s)
        if crowded or len(lines) > 1 or flows:
            axis.legend(axes, grow=grow)
    return axes


def means(data: pl.DataFrame, mean_s: float) -> pl.DataFrame:
    """Average the values of each flow over time windows, placed at the middle of each window.

    A sample belongs to the window that contains the end of its sampling interval.
    """
    window = ((pl.col("time_s") - _NOW) / mean_s).floor()
    found = data.group_by("flow", window.alias("window"), maintain_order=True).agg(pl.col("value").mean())
    return found.select("flow", "value", time_s=(pl.col("window") + 0.5) * mean_s)


def step(times: pl.Series, maximum: int = _MAX_STEPS) -> float | None:
    """Return the averaging window of a band, in whole sampling intervals; ``None``: no averaging."""
    count = times.n_unique()
    samples = math.ceil(count / maximum)
    return None if samples == 1 else samples * float(times.max()) / count  # type: ignore[arg-type]


def _largest(data: pl.DataFrame) -> float:
    return data["value"].abs().max()  # type: ignore[return-value]


def time_text(seconds: float) -> str:
    """Return a time with its unit, as in ``500 ms``."""
    return f"{seconds:.4g} s" if seconds >= 1 else f"{seconds * 1e3:.4g} ms"


def _draw_lines(axes: "Axes", data: pl.DataFrame, lines: Sequence[str]) -> None:
    parts = data.partition_by("flow", as_dict=True)
    for index, flow in enumerate(lines):
        look = style.line(index, len(lines))
        axes.plot(
            parts[flow,]["time_s"].to_numpy(),
            parts[flow,]["value"].to_numpy(),
            color=look.colour,
            linestyle=look.dashes,
            linewidth=1.0,
            label=style.literal(flow),
        )


def _draw_band(axes: "Axes", data: pl.DataFrame, count: int) -> None:
    """Draw median, 5th and 95th percentile over the flows at each instant."""
    spread = data.group_by("time_s").agg(
        pl.col("value").quantile(part, "linear").alias(f"{part}") for part in _BAND
    )
    spread = spread.sort("time_s")
    time, low, median, high = (spread[name].to_numpy() for name in ("time_s", *map(str, _BAND)))
    look = style.line(0, 1)
    label = "5th to 95th percentile"
    axes.fill_between(time, low, high, color=look.colour, alpha=0.25, linewidth=0, label=label)
    axes.plot(time, median, color=look.colour, linewidth=1.2, label=f"median of {count} flows")
