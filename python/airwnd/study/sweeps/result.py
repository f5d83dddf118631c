"""Sweeps with plots; the data set is in :mod:`airwnd.results.sweep`."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from airwnd.results.sweep import SweepData
from airwnd.study.sweeps.comparison import Difference
from airwnd.support.arguments import FLAG, MAPPING, NONE, REAL, SCALE, SEVERAL, SIZE, TEXT, Kind, checked

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from airwnd.plots.style import Size


class Sweep(SweepData):
    """Data set of a sweep, with plots; ``Sweep.load`` reads a folder.

    The attributes and tables are those of :class:`airwnd.results.sweep.SweepData`.

    Examples
    --------
    >>> import airwnd, tempfile
    >>> base = airwnd.Scenario.load("experiments/arwa-2019/table6/scenario.toml").with_(duration="100ms")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     frame = airwnd.sweep(base, grid={"ue[0].count": [2, 3]}, out=folder)
    ...     sweep = airwnd.Sweep.load(folder)
    >>> sweep.keys, sweep.runs.height
    (('ue[0].count',), 2)
    >>> figure = sweep.plot("throughput_kbps")
    """

    @checked(
        y=TEXT,
        x=TEXT | NONE,
        by=SEVERAL | NONE,
        facet=TEXT | NONE,
        where=MAPPING | NONE,
        group=TEXT | NONE,
        labels=MAPPING | NONE,
        x_scale=Kind("'auto'", lambda value: value == "auto") | SCALE,
        y_scale=SCALE,
        size=SIZE | NONE,
    )
    def plot(  # noqa: PLR0913
        self,
        y: str = "delay_ms_mean",
        *,
        x: str | None = None,
        by: Sequence[str] | None = None,
        facet: str | None = None,
        where: Mapping[str, object] | None = None,
        group: str | None = None,
        labels: Mapping[str, str] | None = None,
        x_scale: Literal["auto", "linear", "log"] = "auto",
        y_scale: Literal["linear", "log"] = "linear",
        size: "Size | None" = None,
    ) -> "Figure":
        """Draw a result over a swept key: mean and 95 % confidence interval over the seeds.

        Parameters
        ----------
        y
            A column of `runs`, or of `flows` (averaged over the flows of each run); ``"flows.delay_ms_mean"``
            names the table of a column that both have.
        x
            Key on the horizontal axis; ``None``: the numeric key with the most values.
        by
            Keys with a line for each combination of values; ``None``: the first of the remaining keys.
        facet
            Key with a panel for each value; ``None``: the second of the remaining keys.
        where
            Values by key: only runs with these values are drawn.
        group
            Group of flows, to average a column of `flows` over; ``None``: all flows. If they are of several
            groups, the axis label says so.
        labels
            Names in the picture by key or value, as in ``{"flow[0].cc": "Sender", "cubic": "CUBIC"}``.
        x_scale
            ``"auto"``: logarithmic if the values spread unevenly over a decade or more.
        y_scale
            Scale of the vertical axis.
        size
            Width and height in inches; a height of ``None`` follows from the width.

        Returns
        -------
        matplotlib.figure.Figure
            The figure; ``sweep.plot().savefig("delay.pdf")`` writes a picture. With fewer than three seeds
            there is no interval.

        Raises
        ------
        InputError
            If a key, column, group or value does not exist, or if a swept key is not in the picture.
        """
        from airwnd.plots.sweep import Layout, plot_sweep

        layout = Layout(
            x=x,
            by=None if by is None else tuple(by),
            facet=facet,
            where=dict(where or {}),
            labels=dict(labels or {}),
            x_scale=x_scale,
            y_scale=y_scale,
        )
        return plot_sweep(self, y, layout, group=group, size=size)

    @checked(
        quantity=TEXT,
        by=SEVERAL | NONE,
        flows=SEVERAL,
        where=MAPPING | NONE,
        labels=MAPPING | NONE,
        mean_s=REAL | NONE,
        size=SIZE | NONE,
    )
    def plot_series(  # noqa: PLR0913
        self,
        quantity: str = "delay_ms",
        *,
        by: Sequence[str] | None = None,
        flows: Sequence[str] = (),
        where: Mapping[str, object] | None = None,
        labels: Mapping[str, str] | None = None,
        mean_s: float | None = None,
        size: "Size | None" = None,
    ) -> "Figure":
        """Draw a column of the time series: a line per value of a swept key, with an interval over the seeds.

        A point of a line is the mean over the flows of a run, and then over the seeds; the band is the 95 %
        confidence interval of that mean. The sweep must have been run with series.

        Parameters
        ----------
        quantity
            Column of the series, such as ``"throughput_kbps"``.
        by
            Keys with a line for each combination of values; ``None``: the first with several values.
        flows
            Ids of flows or groups: a line for each of them; empty: the mean of all flows. If they are of
            several groups, the axis label says so.
        where
            Values by key: only runs with these values are drawn.
        labels
            Names in the picture by key or value, as for :meth:`plot`.
        mean_s
            Length in seconds of the windows over which samples are averaged; ``None``: as long as is needed
            for at most 100 points.
        size
            Width and height in inches; a height of ``None`` follows from the width.

        Returns
        -------
        matplotlib.figure.Figure
            The figure. With fewer than three seeds there is no interval.

        Raises
        ------
        InputError
            If the runs have no series, if a column, key, flow or value does not exist, or if another key has
            several values.
        """
        from airwnd.plots.sweep_series import plot_sweep_series

        return plot_sweep_series(
            self, quantity, by=by, flows=flows, where=where, labels=labels, mean_s=mean_s, size=size
        )

    @checked(
        quantity=TEXT,
        by=SEVERAL | NONE,
        groups=SEVERAL,
        where=MAPPING | NONE,
        labels=MAPPING | NONE,
        logarithmic=FLAG,
        size=SIZE | NONE,
    )
    def plot_cdf(  # noqa: PLR0913
        self,
        quantity: str = "fct_s",
        *,
        by: Sequence[str] | None = None,
        groups: Sequence[str] = (),
        where: Mapping[str, object] | None = None,
        labels: Mapping[str, str] | None = None,
        logarithmic: bool = False,
        size: "Size | None" = None,
    ) -> "Figure":
        """Draw a cumulative distribution: a line per value of a swept key, with an interval over the seeds.

        A line is the mean of the distributions of the runs with different seeds, the band its 95 % confidence
        interval at each place.

        Parameters
        ----------
        quantity
            A column of `flows`, such as ``"goodput_kbps"``; if the sweep was run with series also of the
            completions, such as ``"fct_s"``, or of the series, such as ``"delay_ms"``.
        by
            Keys with a line for each combination of values; ``None``: the first with several values.
        groups
            Groups or ids of flows: a line for each of them; empty: all flows together.
        where
            Values by key: only runs with these values are drawn.
        labels
            Names in the picture by key or value, as for :meth:`plot`.
        logarithmic
            Make the axis of the quantity logarithmic.
        size
            Width and height in inches; a height of ``None`` follows from the width.

        Returns
        -------
        matplotlib.figure.Figure
            The figure. A line of completion times ends below 1 if some transfers were not completed.

        Raises
        ------
        InputError
            If a column, key, group or value does not exist, or if another key has several values.
        """
        from airwnd.plots.sweep_cdf import plot_sweep_cdf

        return plot_sweep_cdf(
            self,
            quantity,
            by=by,
            groups=groups,
            where=where,
            labels=labels,
            logarithmic=logarithmic,
            size=size,
        )

    @checked(
        by=TEXT | NONE,
        x=TEXT,
        y=TEXT,
        group=TEXT | NONE,
        where=MAPPING | NONE,
        labels=MAPPING | NONE,
        x_scale=Kind("'auto'", lambda value: value == "auto") | SCALE,
        size=SIZE | NONE,
    )
    def plot_frontier(  # noqa: PLR0913
        self,
        by: str | None = None,
        x: str = "delay_ms_mean",
        y: str = "goodput_kbps",
        *,
        group: str | None = None,
        where: Mapping[str, object] | None = None,
        labels: Mapping[str, str] | None = None,
        x_scale: Literal["auto", "linear", "log"] = "auto",
        size: "Size | None" = None,
    ) -> "Figure":
        """Draw one result against another: a point for each value of a swept key.

        Each point is the mean over the seeds, with an ellipse of one standard deviation around it from three
        seeds on.

        Parameters
        ----------
        by
            Key with a point for each value; ``None``: the first with several values.
        x, y
            Columns of `runs`, or of `flows`, as for :meth:`plot`.
        group
            Group of flows; ``None``: all flows.
        where
            Values by key: only runs with these values are drawn.
        labels
            Names in the picture by key or value, as for :meth:`plot`.
        x_scale
            ``"auto"``: logarithmic if the values spread unevenly over a decade or more.
        size
            Width and height in inches; a height of ``None`` follows from the width.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.

        Raises
        ------
        InputError
            If a key, column, group or value does not exist, or another key has several values.
        """
        from airwnd.plots.frontier import plot_frontier

        return plot_frontier(
            self, by, x, y, group=group, where=where, labels=labels, x_scale=x_scale, size=size
        )

    @checked(
        by=TEXT | NONE,
        to=TEXT | REAL | FLAG | NONE,
        columns=SEVERAL | NONE,
        group=TEXT | NONE,
        where=MAPPING | NONE,
    )
    def compare(
        self,
        by: str | None = None,
        to: str | float | None = None,
        columns: Sequence[str] | None = None,
        *,
        group: str | None = None,
        where: Mapping[str, object] | None = None,
    ) -> list[Difference]:
        """Compare the values of a swept key, by differences of runs with the same seed.

        Parameters
        ----------
        by
            Key whose values are compared; ``None``: the only one.
        to
            Value that the others are compared to; ``None``: the first.
        columns
            Columns of `runs`, or of `flows`, as for :meth:`plot`; ``None``: goodput, delay and losses, and
            without `group` fairness.
        group
            Group of flows; ``None``: all flows.
        where
            Values by key: only runs with these values are compared.

        Returns
        -------
        list[airwnd.study.sweeps.comparison.Difference]
            A difference per column, combination of the other keys, and value.

        Raises
        ------
        InputError
            If a key, column, group or value does not exist.
        """
        from airwnd.study.sweeps.comparison import compare

        return compare(self, by, to, columns, group=group, where=where)
