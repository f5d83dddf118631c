"""A run as its users have it: its data with the pictures and the page that are made of them."""

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from airwnd.arguments import AXES, FLAG, NONE, NUMBER, PATH, TEXT, WHOLE, checked, tuples_of
from airwnd.errors import InputError
from airwnd.run_data import RunData

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Run(RunData):
    """What a simulation gave, with pictures of it; :meth:`airwnd.Scenario.run` makes it.

    Its attributes and tables are those of :class:`airwnd.run_data.RunData`.

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

    @checked(quantity=TEXT, axes=AXES | NONE)
    def plot(self, quantity: str = "cwnd_bytes", axes: "Axes | None" = None) -> "Axes":
        """Draw a column of the series over time, one line per flow.

        Parameters
        ----------
        quantity
            A column of `series`.
        axes
            Where to draw; new axes by default.

        Returns
        -------
        matplotlib.axes.Axes
            The axes; ``run.plot().figure.savefig("cwnd.png")`` writes a picture.

        Raises
        ------
        InputError
            If the run has no such series; the message names those it has.
        """
        from airwnd.plots.series import plot_series

        return plot_series(self.series, quantity, axes)

    @checked(axes=AXES | NONE)
    def plot_fct(self, axes: "Axes | None" = None) -> "Axes":
        """Draw which part of the transfers and pages took how long: a line per group of flows.

        Parameters
        ----------
        axes
            Where to draw; new axes by default.

        Returns
        -------
        matplotlib.axes.Axes
            The axes; ``run.plot_fct().figure.savefig("fct.png")`` writes a picture. Lines end below 1 where
            some were not completed.

        Raises
        ------
        InputError
            If nothing was completed.
        """
        from airwnd.plots.fct import plot_fct

        return plot_fct({self.outcome["scenario"]: self}, axes)

    @checked(cell=WHOLE, window_s=tuples_of(NUMBER, 2, "a pair of numbers") | NONE, axes=AXES | NONE)
    def plot_prbs(
        self, cell: int = 0, window_s: tuple[float, float] | None = None, axes: "Axes | None" = None
    ) -> "Axes":
        """Draw who got which resource blocks of a cell, TTI by TTI: new data, retransmissions, failures.

        Parameters
        ----------
        cell
            The cell's number.
        window_s
            Begin and end in seconds; all `allocations` by default.
        axes
            Where to draw; new axes by default.

        Returns
        -------
        matplotlib.axes.Axes
            The axes; ``run.plot_prbs().figure.savefig("prbs.png")`` writes a picture.

        Raises
        ------
        InputError
            If the run was made without allocations, or has no such cell.
        """
        from airwnd.plots.prbs import plot_prbs

        return plot_prbs(self, cell, window_s, axes)

    @checked(flow=TEXT | NONE)
    def plot_timeline(self, flow: str | None = None) -> "Figure":
        """Draw a flow over time: its cell, SINR, queue, rate, delay and window, and where it changed cells.

        Parameters
        ----------
        flow
            Its id; the first by default.

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
        """Write a page to look around in the run, open it in the browser, and give its path.

        Parameters
        ----------
        path
            The page's file; one for temporary files by default.
        browse
            Whether to open it.

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
