"""Plots of a run's time series."""

from typing import TYPE_CHECKING

import polars as pl

from airwnd import style
from airwnd.errors import InputError
from airwnd.text import axis_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_KEYS = ("flow", "ue", "cell")
# Decibels and places have no zero to begin at.
_WITHOUT_ZERO = ("_db", "_dbm", "_m")
_MOST_IN_LEGEND = len(style.LINES)


def plot_series(series: pl.DataFrame, quantity: str, axes: "Axes | None" = None) -> "Axes":
    """Draw one line per flow (or UE, or cell); :meth:`airwnd.Run.plot` says what the arguments are."""
    drawable = [name for name in series.columns if name not in ("time_s", *_KEYS)]
    if quantity not in drawable:
        there = ", ".join(drawable) or 'none: run with series="10ms" or the like'
        raise InputError(f"no series `{quantity}`; there are {there}")
    key = next(name for name in _KEYS if name in series.columns)
    with style.styled():
        axes = axes or style.new_figure().subplots()
        parts = series.drop_nulls(quantity).partition_by(key, maintain_order=True)
        for index, part in enumerate(parts):
            look = style.line(index, len(parts))
            label = style.literal(f"{key} {part[key][0]}") if len(parts) <= _MOST_IN_LEGEND else None
            axes.plot(
                part["time_s"].to_numpy(),
                part[quantity].to_numpy(),
                color=look.colour,
                linestyle=look.dashes,
                linewidth=1.0,
                label=label,
            )
        axes.set_xlabel("Time (s)")
        axes.set_ylabel(axis_label("series", quantity))
        if not quantity.endswith(_WITHOUT_ZERO):
            axes.set_ylim(bottom=0)
        axes.margins(x=0)
        if 1 < len(parts) <= _MOST_IN_LEGEND:
            axes.legend()
    return axes
