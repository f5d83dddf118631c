"""Comparison of runs: a row for each run, a panel for each quantity."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airwnd.plots import axis, style
from airwnd.support.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

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
_ROW_IN, _REST_IN = 0.24, 0.85
_LONGEST_NAME = 32


def plot_compare(runs: "Mapping[str, RunData]", *, size: style.Size | None = None) -> "Figure":
    """Draw throughput, delay, fairness and packet delivery fraction of runs.

    Parameters
    ----------
    runs
        Runs by name, from top to bottom.
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
        If there is no run.
    """
    if not runs:
        raise InputError("no run to compare")
    names = [_short(name) for name in runs]
    with style.styled():
        width, height = size or (style.WIDTHS["page"], None)
        figure = style.new_figure((width, height or _REST_IN + _ROW_IN * len(runs)))
        row = figure.subplots(1, len(_PANELS), sharey=True)
        for axes, panel in zip(row, _PANELS, strict=True):
            _draw(axes, list(runs.values()), panel)
        row[0].set_yticks(range(len(names)), [style.literal(name) for name in names])
        row[0].set_ylim(len(names) - 0.5, -0.5)
    return figure


def _draw(axes: "Axes", runs: "list[RunData]", panel: _Panel) -> None:
    from matplotlib.ticker import MaxNLocator

    rows: list[list[Any]] = [[run.totals.get(column) for column in panel.columns] for run in runs]
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


def _short(name: str) -> str:
    """Leave out the middle of a long name."""
    half = _LONGEST_NAME // 2 - 1
    return name if len(name) <= _LONGEST_NAME else f"{name[:half]}…{name[-half:]}"
