"""Sweeps: runs of a scenario over a grid of settings, random points and seeds, with one data set.

>>> import airwnd, tempfile
>>> base = airwnd.Scenario.load("experiments/arwa-2019/table6/scenario.toml").with_(duration="100ms")
>>> with tempfile.TemporaryDirectory() as folder:
...     frame = airwnd.sweep(base, grid={"ue[0].count": [2, 3]}, seeds=2, out=folder)
>>> frame.select("ue[0].count", "seed").rows()
[(2, 1), (2, 2), (3, 1), (3, 2)]
"""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from airwnd.results.sweep import SweepData
from airwnd.scenario.scenario import Scenario
from airwnd.study.axis import grid_axis
from airwnd.study.comparison import Difference
from airwnd.study.design import Design
from airwnd.study.draws import draw
from airwnd.study.runner import sweep as carry_out
from airwnd.support.arguments import (
    CALLABLE,
    DURATION,
    FLAG,
    MAPPING,
    NONE,
    PATH,
    POSITIVE,
    REAL,
    SCALE,
    SEVERAL,
    SIZE,
    TEXT,
    Kind,
    checked,
    instances,
    whole,
)

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from airwnd.plots.style import Size
    from airwnd.study.batch import Workers


@checked(
    scenario=instances("a Scenario", Scenario),
    grid=MAPPING | NONE,
    random=MAPPING | NONE,
    seeds=POSITIVE,
    out=PATH,
    workers=Kind("Processes, Dask or the like", lambda value: hasattr(value, "carry_out")) | NONE,
    sample_seed=whole(0, None, "a whole number, not negative"),
    series=DURATION | NONE,
    stack=TEXT | NONE,
    ue=TEXT | NONE,
    progress=CALLABLE | NONE,
    force=FLAG,
)
def sweep(  # noqa: PLR0913
    scenario: Scenario,
    *,
    grid: Mapping[str, Sequence[object]] | None = None,
    random: Mapping[str, str] | None = None,
    seeds: int = 1,
    out: str | PathLike[str],
    workers: "Workers | None" = None,
    sample_seed: int = 1,
    series: str | None = None,
    stack: str | None = None,
    ue: str | None = None,
    progress: Callable[[float], object] | None = None,
    force: bool = False,
) -> "pl.DataFrame":
    """Run a scenario with many settings and seeds, and return a row per run.

    The same call continues an interrupted sweep. A sweep with more values or seeds reuses finished runs.

    Parameters
    ----------
    scenario
        Scenario common to all runs.
    grid
        Values by dotted key; all combinations are run. A quantity is a text with its unit.
    random
        Random draws by dotted key, as in ``"10KiB..1MiB:20"`` or ``"log:10KiB..1MiB:20"``. The keys are drawn
        jointly, with the same number of points, and each point is combined with the whole grid.
    seeds
        Number of seeds per setting: each is run with seeds 1 to `seeds`.
    out
        Folder of the data set: ``runs.parquet``, ``flows.parquet``, ``manifest.json``, and finished runs.
    workers
        :class:`airwnd.study.batch.Processes` or :class:`airwnd.study.batch.Dask`; ``None``: a process for
        each core.
    sample_seed
        Seed of the random draws.
    series
        Sampling interval of time series, as in ``"100ms"``, for :meth:`airwnd.Sweep.plot_series`; ``None``:
        no series.
    stack
        Name of a stack, as for ``airwnd stack``, of which a transfer runs beside the flows of the scenario:
        the flow ``stack`` in the results. Its options are keys, as in ``grid={"stack.cc": ["reno", "bbr"]}``.
        Naming a file or a module executes it. ``None``: that of the key ``stack``, as in
        ``grid={"stack": ["quinn:bbr", "smoltcp:reno"]}``, or none.
    ue
        UE of that transfer; ``None``: the first.
    progress
        Called periodically with the finished fraction, 0 to 1, of the runs to execute.
    force
        Use a folder that holds other data, such as a sweep of another scenario; its tables are replaced.

    Returns
    -------
    polars.DataFrame
        Content of ``runs.parquet``: settings, seed and totals.

    Raises
    ------
    InputError
        If a setting is wrong, if the folder holds other data, or if another process uses it.
    OSError
        If the folder cannot be written; finished runs are kept.
    """
    import polars as pl

    for name, given in (("grid", grid), ("random", random)):
        for key in given or {}:
            TEXT.check(name, key)
    for key, text in (random or {}).items():
        TEXT.check(f"random {key}", text)
    design = Design.of(
        scenario,
        grid=[grid_axis(key, values) for key, values in (grid or {}).items()],
        random=[draw(f"{key}={text}", sample_seed) for key, text in (random or {}).items()],
        seeds=seeds,
        sample_seed=sample_seed,
        series=series,
        stack=stack,
        ue=ue,
    )
    carry_out(design, Path(out), workers, progress, force=force)
    return pl.read_parquet(Path(out) / "runs.parquet")


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
        by=TEXT | SEVERAL | NONE,
        x=TEXT,
        y=TEXT,
        group=TEXT | NONE,
        where=MAPPING | NONE,
        labels=MAPPING | NONE,
        spread=Kind("'interval' or 'deviation'", lambda value: value in ("interval", "deviation")),
        x_scale=Kind("'auto'", lambda value: value == "auto") | SCALE,
        size=SIZE | NONE,
    )
    def plot_frontier(  # noqa: PLR0913
        self,
        by: str | Sequence[str] | None = None,
        x: str = "delay_ms_mean",
        y: str = "goodput_kbps",
        *,
        group: str | None = None,
        where: Mapping[str, object] | None = None,
        labels: Mapping[str, str] | None = None,
        spread: Literal["interval", "deviation"] = "interval",
        x_scale: Literal["auto", "linear", "log"] = "auto",
        size: "Size | None" = None,
    ) -> "Figure":
        """Draw one result against another: a point for each value of a swept key, the mean over the seeds.

        Parameters
        ----------
        by
            Key, or keys, with a point for each combination of values; ``None``: the first with several
            values.
        x, y
            Columns of `runs`, or of `flows`, as for :meth:`plot`.
        group
            Group of flows; ``None``: all flows.
        where
            Values by key: only runs with these values are drawn.
        labels
            Names in the picture by key or value, as for :meth:`plot`.
        spread
            Around each point, from three seeds on: ``"interval"``, the 95 % confidence intervals of both
            means; ``"deviation"``, an ellipse of one standard deviation of the runs.
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
            self,
            by,
            x,
            y,
            group=group,
            where=where,
            labels=labels,
            spread=spread,
            x_scale=x_scale,
            size=size,
        )

    @checked(
        by=TEXT | SEVERAL | NONE,
        to=TEXT | REAL | FLAG | NONE,
        columns=SEVERAL | NONE,
        group=TEXT | NONE,
        where=MAPPING | NONE,
    )
    def compare(
        self,
        by: str | Sequence[str] | None = None,
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
            Key whose values are compared, or keys whose combinations are; ``None``: the only one.
        to
            Value that the others are compared to, or combination, as in ``"prague, dualpi2"``; ``None``: the
            first.
        columns
            Columns of `runs`, or of `flows`, as for :meth:`plot`; ``None``: goodput, completion time,
            delay, packets on time and losses, and without `group` fairness, where they have values.
        group
            Group of flows; ``None``: all flows.
        where
            Values by key: only runs with these values are compared.

        Returns
        -------
        list[airwnd.study.comparison.Difference]
            A difference per column, combination of the other keys, and value.

        Raises
        ------
        InputError
            If a key, column, group or value does not exist.
        """
        from airwnd.study.comparison import compare

        return compare(self, by, to, columns, group=group, where=where)
