"""A run as its users have it: its data with the pictures and the page that are made of them."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from airwnd.arguments import AXES, FLAG, NONE, NUMBER, PATH, SEVERAL, SIZE, TEXT, WHOLE, checked, tuples_of
from airwnd.errors import InputError
from airwnd.run_data import RunData

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from airwnd.style import Size


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
        """Draw a column of the series over time: a line per flow, or the spread over many flows.

        Parameters
        ----------
        quantity
            A column of `series`.
        axes
            Where to draw; new axes by default.
        flows
            Ids of flows or of groups of flows, each with a line of its own. By default all flows: more than
            twelve become a band, the median and the 5th to 95th percentile over the flows.
        mean_s
            Draw means over windows of this length in seconds; a band has windows of its own by default.
        size
            Width and height of a new figure in inches; a height of ``None`` suits the width.

        Returns
        -------
        matplotlib.axes.Axes
            The axes; ``run.plot().figure.savefig("cwnd.png")`` writes a picture.

        Raises
        ------
        InputError
            If the run has no such series or flow; the message names those it has.
        """
        from airwnd.plots.series import plot_series

        return plot_series(self, quantity, axes, flows=flows, mean_s=mean_s, size=size)

    @checked(quantity=TEXT, axes=AXES | NONE, groups=SEVERAL)
    def plot_cdf(
        self, quantity: str = "fct_s", axes: "Axes | None" = None, *, groups: Sequence[str] = ()
    ) -> "Axes":
        """Draw the cumulative distribution of a figure: a line per group of flows.

        Parameters
        ----------
        quantity
            A column of `completions` (``"fct_s"``), of `flows` (``"goodput_kbps"``) or of `series`
            (``"delay_ms"``).
        axes
            Where to draw; new axes by default.
        groups
            Groups of flows; all that have values by default.

        Returns
        -------
        matplotlib.axes.Axes
            The axes; ``run.plot_cdf("goodput_kbps").figure.savefig("goodput.png")`` writes a picture.

        Raises
        ------
        InputError
            If there is no such column, or it has no values.
        """
        from airwnd.plots.cdf import plot_cdf

        return plot_cdf({self.outcome["scenario"]: self}, quantity, axes, groups=groups)

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
        from airwnd.plots.cdf import plot_fct

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
