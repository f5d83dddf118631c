"""Comparison of runs: a row for each run, a panel for each quantity."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from airwnd.plots import axis, category, style
from airwnd.support.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from airwnd.results.run import RunData


@dataclass(frozen=True, slots=True)
class _Panel:
    """Columns of the totals, and the ends of the axis."""

    columns: tuple[str, ...]
    ends: tuple[float, float | None] = (0.0, None)


_PANELS = (
    _Panel(("throughput_kbps",)),
    _Panel(("delay_ms_mean", "delay_ms_p95")),
    _Panel(("jain",), (0.0, 1.05)),
    _Panel(("pdf_percent",), (0.0, 105.0)),
)
# Heights of a row, of all else, and of the line that names the flows, in inches.
_ROW_IN, _REST_IN, _NOTE_IN = 0.24, 0.85, 0.2


def plot_compare(
    runs: "Mapping[str, RunData]", *, group: str | None = None, size: style.Size | None = None
) -> "Figure":
    """Draw throughput, delay, fairness and packet delivery fraction of runs.

    Parameters
    ----------
    runs
        Runs by name, from top to bottom.
    group
        Group of flows whose results are drawn; ``None``: all flows together. If they are of several groups,
        the picture says so.
    size
        Width and height in inches; ``None``: the width of a page, and a height that follows from the number
        of runs.

    Returns
    -------
    matplotlib.figure.Figure
        The figure, with a panel for each quantity. A missing value leaves its row empty.

    Raises
    ------
    InputError
        If there is no run, or a run has no such group.
    """
    if not runs:
        raise InputError("no run to compare")
    names = [category.shortened(name) for name in runs]
    groups = list(dict.fromkeys(each for run in runs.values() for each in run.flows["group"]))
    rows = [run.totals if group is None else _of_group(name, run, group) for name, run in runs.items()]
    with style.styled():
        width, height = size or (style.WIDTHS["page"], None)
        figure = style.new_figure((width, height or _REST_IN + _ROW_IN * len(runs)))
        row = figure.subplots(1, len(_PANELS), sharey=True)
        for axes, panel in zip(row, _PANELS, strict=True):
            _draw(axes, rows, panel)
        row[0].set_yticks(range(len(names)), [style.literal(name) for name in names])
        row[0].set_ylim(len(names) - 0.5, -0.5)
        if flows := axis.population(groups, group):
            figure.supxlabel(style.literal(axis.upper(flows)), fontsize="medium")
            figure.set_figheight(figure.get_figheight() + (0.0 if height else _NOTE_IN))
    return figure


def _of_group(name: str, run: "RunData", group: str) -> "Mapping[str, float | None]":
    """Return the columns of the totals for the flows of one group."""
    flows = run.flows.filter(pl.col("group") == group)
    if flows.is_empty():
        there = ", ".join(run.flows["group"].unique(maintain_order=True))
        raise InputError(f"{name}: no group `{group}`; there are {there}")
    (row,) = run.groups.filter(pl.col("group") == group).iter_rows(named=True)
    goodput = flows["goodput_kbps"].fill_null(0.0).to_numpy()
    squares = float(np.square(goodput).sum())
    counted = flows.filter(pl.col("pdf_percent").is_not_null())
    sent, received = (int(counted[column].sum()) for column in ("packets_sent", "packets_received"))
    return {
        **{column: row[column] for column in ("throughput_kbps", "delay_ms_mean", "delay_ms_p95")},
        "jain": float(goodput.sum()) ** 2 / (goodput.size * squares) if squares else None,
        "pdf_percent": 100.0 * received / sent if sent else None,
    }


def _draw(axes: "Axes", runs: "Sequence[Mapping[str, Any]]", panel: _Panel) -> None:
    from matplotlib.ticker import MaxNLocator

    rows: list[list[Any]] = [[run.get(column) for column in panel.columns] for run in runs]
    for place, values in enumerate(rows):
        known = [value for value in values if value is not None]
        if len(known) > 1:
            axes.hlines(place, min(known), max(known), color="#999999", linewidth=1.0, zorder=1)
    # Columns of one quantity have its name before the comma.
    names = [axis.name("totals", column)[0].partition(", ") for column in panel.columns]
    for index, (column, (_, _, part)) in enumerate(zip(panel.columns, names, strict=True)):
        look = style.point(index)
        points = [
            (float(values[index]), place) for place, values in enumerate(rows) if values[index] is not None
        ]
        axes.plot(
            [value for value, _ in points],
            [place for _, place in points],
            linestyle="none",
            marker=look.marker,
            color=look.colour,
            markersize=5,
            label=part or f"_{column}",
            zorder=2,
        )
    largest = max((value for values in rows for value in values if value is not None), default=1.0)
    _, unit = axis.name("totals", panel.columns[0])
    axis.quantity(axes.xaxis, names[0][0], unit, largest)
    axes.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
    axes.set_xlim(panel.ends[0], panel.ends[1] or 1.08 * largest or 1.0)
    axes.tick_params("y", length=0)
    axis.legend(axes, panels=len(_PANELS))
