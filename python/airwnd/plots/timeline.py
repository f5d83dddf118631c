"""Timeline of a flow: cell, radio conditions, queue, air rate, delay and window."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from airwnd.plots import axis, style
from airwnd.plots.flows import named
from airwnd.support.errors import InputError
from airwnd.vocabulary.columns import find

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from airwnd.results.run import RunData


@dataclass(frozen=True, slots=True)
class _Panel:
    """Columns of the series with their names in the legend.

    Attributes
    ----------
    columns
        Names by column; empty for a single column, ``None``: the column's heading.
    from_zero
        Whether the axis starts at zero.
    has_legend
        Whether the names are in a legend of the panel, not in that of the figure.
    without
        Column whose panel replaces this one if it has values; ``None``: the panel is always drawn.
    """

    columns: dict[str, str | None]
    from_zero: bool = True
    has_legend: bool = False
    without: str | None = None


_PANELS = (
    _Panel({"cell": "serving", "neighbour": "best neighbour"}, from_zero=False),
    _Panel({"rsrp_dbm": "serving", "neighbour_rsrp_dbm": "best neighbour"}, from_zero=False),
    _Panel({"sinr_db": ""}, from_zero=False),
    _Panel({"queue_bytes": ""}),
    _Panel({"air_kbps": ""}),
    _Panel({"throughput_kbps": ""}, without="air_kbps"),
    # The difference is the way of the ACKs: a delay-based control reacts to both.
    _Panel({"delay_ms": "one-way", "rtt_ms": None}, has_legend=True),
    _Panel({"cwnd_bytes": ""}),
)
_WIDTH, _PANEL_HEIGHT, _REST = 7.2, 0.95, 0.7
#: Height of a panel's axis with its legend, relative to the lines alone.
_LEGEND_SPACE = 1.4
# Events about the cell of a flow: name, colour and dashes.
_CHANGES = {
    "handover_end": ("handover", "#555555", (0, (4, 2))),
    "handover_failure": ("handover failure", "#D55E00", (0, (1, 1))),
    "radio_link_failure": ("radio link failure", "#D55E00", "solid"),
    "reestablishment": ("re-establishment", "#009E73", (0, (4, 2))),
}


def plot_timeline(run: "RunData", flow: str | None = None) -> "Figure":
    """Draw the timeline of a flow; :meth:`airwnd.Run.plot_timeline` documents the arguments."""
    if run.series.is_empty():
        raise InputError('a run without time series: run with series="100ms" or the like')
    flow = named(run, [] if flow is None else [flow], groups=False)[0]
    series = run.series.filter(pl.col("flow").cast(pl.String) == flow)
    changes = [
        (row["time_s"], *_CHANGES[row["event"]])
        for row in run.events.filter(pl.col("flow").cast(pl.String) == flow).iter_rows(named=True)
        if row["event"] in _CHANGES
    ]
    panels = [panel for panel in _PANELS if _known(series, panel)]
    with style.styled():
        figure = style.new_figure()
        figure.set_size_inches(_WIDTH, _PANEL_HEIGHT * len(panels) + _REST)
        stack = figure.subplots(len(panels), sharex=True, squeeze=False)[:, 0]
        for axes, panel in zip(stack, panels, strict=True):
            _draw(axes, series, panel)
            for at, name, colour, dashes in changes:
                axes.axvline(at, color=colour, linewidth=0.8, linestyle=dashes, label=name)
        _explain(stack[0])
        stack[-1].set_xlabel("Time (s)")
        stack[-1].set_xlim(0, run.duration_s)
        figure.align_ylabels(list(stack))
    return figure


def _known(series: pl.DataFrame, panel: _Panel) -> list[str]:
    """Return the columns of a panel that have values."""
    if panel.without in series.columns and series[panel.without].null_count() < series.height:
        return []
    return [
        name for name in panel.columns if name in series.columns and series[name].null_count() < series.height
    ]


def _draw(axes: "Axes", series: pl.DataFrame, panel: _Panel) -> None:
    numbers = "cell" in panel.columns
    for index, column in enumerate(_known(series, panel)):
        known = series.drop_nulls(column)
        look = style.line(index, 1)
        axes.plot(
            known["time_s"].to_numpy(),
            known[column].to_numpy(),
            color=look.colour,
            linewidth=1.4 if index == 0 else 0.9,
            drawstyle="steps-post" if numbers else "default",
            label=_name(column, panel.columns[column]),
            zorder=3 - index / 2,
        )
    first = find(f"series.{next(iter(panel.columns))}")
    if numbers:
        axes.set_ylabel(axis.upper(first.short))
    else:
        largest = max(abs(float(series[name].abs().max())) for name in _known(series, panel))  # type: ignore[arg-type]
        axis.quantity(axes.yaxis, axis.upper(first.short), first.shown_unit, largest, before_unit="\n")
    if panel.from_zero:
        axes.set_ylim(bottom=0)
    if panel.has_legend and len(axes.lines) > 1:
        axes.set_ylim(top=axes.get_ylim()[1] * _LEGEND_SPACE)
        axes.legend(loc="upper right", ncols=len(axes.lines), borderaxespad=0.0, fontsize="small")
    if numbers:
        cells = pl.concat([series[name] for name in _known(series, panel)]).drop_nulls().unique().sort()
        axes.set_yticks(cells.to_list())
        axes.set_ylim(cells[0] - 0.5, cells[-1] + 0.5)


def _name(column: str, name: str | None) -> str:
    """Return the name of a line in the legend; one that begins with ``_`` is not in it."""
    return find(f"series.{column}").short if name is None else name or "_line"


def _explain(axes: "Axes") -> None:
    """Draw one legend for all panels above the first."""
    handles, names = axes.get_legend_handles_labels()
    known = dict(zip(names, handles, strict=True))
    if known:
        axes.legend(
            known.values(),
            known.keys(),
            loc="lower left",
            bbox_to_anchor=(0, 1),
            ncols=len(known),
            borderaxespad=0.2,
        )
