"""A flow over time: its cell, what it hears, and what that does to queue, rate, delay and window."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from airwnd import style
from airwnd.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from airwnd.run import Run


@dataclass(frozen=True, slots=True)
class _Panel:
    """A column of the series, how its axis is called, and in how many of the column's units that is."""

    column: str
    label: str
    unit: float = 1.0
    from_zero: bool = True


_PANELS = (
    _Panel("cell", "Cell", from_zero=False),
    _Panel("rsrp_dbm", "RSRP\n(dBm)", from_zero=False),
    _Panel("sinr_db", "SINR\n(dB)", from_zero=False),
    _Panel("queue_bytes", "Queue\n(kB)", 1e3),
    _Panel("rate_kbps", "Rate\n(Mbit/s)", 1e3),
    _Panel("delay_ms", "Delay\n(ms)"),
    _Panel("cwnd_bytes", "cwnd\n(kB)", 1e3),
)
_MOST_NAMED = 5
_WIDTH, _PANEL_HEIGHT, _REST = 7.2, 0.95, 0.7
_HANDOVER = "#777777"


def plot_timeline(run: "Run", flow: str | None = None) -> "Figure":
    """Draw a flow's timeline; :meth:`airwnd.Run.plot_timeline` says what the arguments are."""
    if run.series.is_empty():
        raise InputError('a run without time series: run with series="100ms" or the like')
    ids = run.flows["id"].to_list()
    flow = ids[0] if flow is None else flow
    if flow not in ids:
        shown = ", ".join(ids[:_MOST_NAMED]) + (", ..." if len(ids) > _MOST_NAMED else "")
        raise InputError(f"no flow `{flow}`; there are {shown}")
    series = run.series.filter(pl.col("flow").cast(pl.String) == flow)
    panels = [
        panel
        for panel in _PANELS
        if panel.column in series.columns and series[panel.column].null_count() < series.height
    ]
    with style.styled():
        figure = style.new_figure()
        figure.set_size_inches(_WIDTH, _PANEL_HEIGHT * len(panels) + _REST)
        stack = figure.subplots(len(panels), sharex=True, squeeze=False)[:, 0]
        for axes, panel in zip(stack, panels, strict=True):
            _draw(axes, series, panel)
            for instant in handovers(series):
                axes.axvline(
                    instant, color=_HANDOVER, linewidth=0.8, linestyle=(0, (4, 2)), label="_handover"
                )
        stack[-1].set_xlabel("Time (s)")
        stack[-1].set_xlim(0, run.duration_s)
        figure.align_ylabels(list(stack))
    return figure


def _draw(axes: "Axes", series: pl.DataFrame, panel: _Panel) -> None:
    known = series.drop_nulls(panel.column)
    look = style.line(0, 1)
    steps = "steps-post" if panel.column == "cell" else "default"
    values = known[panel.column].to_numpy() / panel.unit
    axes.plot(known["time_s"].to_numpy(), values, color=look.colour, linewidth=1.0, drawstyle=steps)
    axes.set_ylabel(panel.label)
    if panel.from_zero:
        axes.set_ylim(bottom=0)
    if panel.column == "cell":
        cells = known["cell"].unique().sort().to_list()
        axes.set_yticks(cells)
        axes.set_ylim(cells[0] - 0.5, cells[-1] + 0.5)


def handovers(series: pl.DataFrame) -> list[float]:
    """Find the samples at which a flow's terminal has another cell than at the one before; in seconds.

    Examples
    --------
    >>> handovers(pl.DataFrame({"time_s": [0.1, 0.2, 0.3], "cell": [0, 0, 2]}))
    [0.3]
    """
    known = series.drop_nulls("cell")
    return known.filter(pl.col("cell") != pl.col("cell").shift())["time_s"].to_list()
