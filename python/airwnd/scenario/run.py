"""Runs with plots and a browser page; the data is in :mod:`airwnd.results.run`."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from airwnd.results.run import RunData
from airwnd.support.arguments import (
    AXES,
    FLAG,
    NONE,
    NUMBER,
    PATH,
    SEVERAL,
    SIZE,
    TEXT,
    WHOLE,
    checked,
    tuples_of,
)
from airwnd.support.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from airwnd.plots.style import Size


class Run(RunData):
    """Results of a simulation, with plots; returned by :meth:`airwnd.Scenario.run`.

    The attributes and tables are those of :class:`airwnd.results.run.RunData`.

    Examples
    --------
    >>> import airwnd
    >>> scenario = airwnd.Scenario.load("experiments/arwa-2019/table6/scenario.toml")
    >>> run = scenario.with_({"ue[0].count": 2}, duration="200ms").run(series="50ms")
    >>> run.flows.select("id", "cc").rows()
    [('flow-0', 'newreno'), ('flow-1', 'newreno')]
    >>> run.series["time_s"].unique(maintain_order=True).to_list()
    [0.05, 0.1, 0.15, 0.2]
    """

    @checked(quantity=TEXT, axes=AXES | NONE, flows=SEVERAL, mean_s=NUMBER | NONE, size=SIZE | NONE)
    def plot(
        self,
        quantity: str = "cwnd_bytes",
        axes: "Axes | None" = None,
        *,
        flows: Sequence[str] = (),
        mean_s: float | None = None,
        size: "Size | None" = None,
    ) -> "Axes":
        """Draw a column of the series over time: a line per flow, or a band over many flows.

        Parameters
        ----------
        quantity
            A column of `series`.
        axes
            Axes to draw on; ``None``: new axes.
        flows
            Ids of flows or of groups of flows, each drawn as a line. Empty: all flows; more than twelve are
            drawn as a band, the median with the 5th to 95th percentile over the flows.
        mean_s
            Length in seconds of the windows over which values are averaged; ``None``: no averaging of lines,
            an automatic length for a band.
        size
            Width and height of a new figure in inches; a height of ``None`` follows from the width.

        Returns
        -------
        matplotlib.axes.Axes
            The axes; ``run.plot().figure.savefig("cwnd.png")`` writes a picture.

        Raises
        ------
        InputError
            If the run has no such series or flow; the message names those that exist.
        """
        from airwnd.plots.series import plot_series

        return plot_series(self, quantity, axes, flows=flows, mean_s=mean_s, size=size)

    @checked(quantity=TEXT, axes=AXES | NONE, groups=SEVERAL)
    def plot_cdf(
        self, quantity: str = "fct_s", axes: "Axes | None" = None, *, groups: Sequence[str] = ()
    ) -> "Axes":
        """Draw the cumulative distribution of a quantity: a line per group of flows.

        Parameters
        ----------
        quantity
            A column of `completions` (``"fct_s"``), of `flows` (``"goodput_kbps"``) or of `series`
            (``"delay_ms"``).
        axes
            Axes to draw on; ``None``: new axes.
        groups
            Groups of flows; empty: all groups that have values.

        Returns
        -------
        matplotlib.axes.Axes
            The axes; ``run.plot_cdf("goodput_kbps").figure.savefig("goodput.png")`` writes a picture.

        Raises
        ------
        InputError
            If there is no such column, or the column has no values.
        """
        from airwnd.plots.cdf import plot_cdf

        return plot_cdf({self.outcome["scenario"]: self}, quantity, axes, groups=groups)

    @checked(axes=AXES | NONE)
    def plot_fct(self, axes: "Axes | None" = None) -> "Axes":
        """Draw the distribution of completion times of transfers and pages: a line per group of flows.

        Parameters
        ----------
        axes
            Axes to draw on; ``None``: new axes.

        Returns
        -------
        matplotlib.axes.Axes
            The axes; ``run.plot_fct().figure.savefig("fct.png")`` writes a picture. A line ends below 1 if
            some transfers or pages were not completed.

        Raises
        ------
        InputError
            If no transfer or page was completed.
        """
        from airwnd.plots.cdf import plot_fct

        return plot_fct({self.outcome["scenario"]: self}, axes)

    @checked(
        cell=WHOLE,
        window_s=tuples_of(NUMBER, 2, "a pair of numbers") | NONE,
        axes=AXES | NONE,
        carrier=WHOLE,
    )
    def plot_prbs(
        self,
        cell: int = 0,
        window_s: tuple[float, float] | None = None,
        axes: "Axes | None" = None,
        carrier: int = 0,
    ) -> "Axes":
        """Draw the downlink PRB allocation of a cell in each slot: new data, retransmissions, failures.

        A slot is a TTI in LTE. In TDD, uplink and guard periods are shaded in windows of up to 200 slots.

        Parameters
        ----------
        cell
            Number of the cell.
        window_s
            Begin and end in seconds; ``None``: all `allocations`.
        axes
            Axes to draw on; ``None``: new axes.
        carrier
            Number of the component carrier; 0: the primary one.

        Returns
        -------
        matplotlib.axes.Axes
            The axes; ``run.plot_prbs().figure.savefig("prbs.png")`` writes a picture.

        Raises
        ------
        InputError
            If the run has no allocations, no such cell or no such carrier.
        """
        from airwnd.plots.prbs import plot_prbs

        return plot_prbs(self, cell, window_s, axes, carrier)

    @checked(flow=TEXT | NONE)
    def plot_timeline(self, flow: str | None = None) -> "Figure":
        """Draw a flow over time: cell, SINR, queue, air rate, delay and window, with handovers.

        Parameters
        ----------
        flow
            Id of the flow; ``None``: the first.

        Returns
        -------
        matplotlib.figure.Figure
            The figure; ``run.plot_timeline().savefig("timeline.png")`` writes a picture.

        Raises
        ------
        InputError
            If the run has no time series, or no such flow.
        """
        from airwnd.plots.timeline import plot_timeline

        return plot_timeline(self, flow)

    @checked(path=PATH | NONE, browse=FLAG)
    def view(self, path: str | PathLike[str] | None = None, *, browse: bool = True) -> Path:
        """Write a page for exploring the run, open it in the browser, and return its path.

        Parameters
        ----------
        path
            File of the page; ``None``: a temporary file.
        browse
            Open the page in the browser.

        Returns
        -------
        pathlib.Path
            The page.

        Raises
        ------
        InputError
            If the run has no time series.
        """
        from airwnd import view

        if self.series.is_empty():
            raise InputError(
                'a run without time series has nothing to view: run with series="10ms" or the like'
            )
        page = view.write({self.outcome["scenario"]: self}, None if path is None else Path(path))
        if browse:
            view.show(page)
        return page
