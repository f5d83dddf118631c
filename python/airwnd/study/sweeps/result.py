"""Sweeps with plots; the data set is in :mod:`airwnd.results.sweep`."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from airwnd.results.sweep import SweepData
from airwnd.support.arguments import MAPPING, NONE, SCALE, SEVERAL, SIZE, TEXT, Kind, checked

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

        layout = Layout(x, None if by is None else tuple(by), facet, dict(where or {}), x_scale, y_scale)
        return plot_sweep(self, y, layout, group=group, size=size)
