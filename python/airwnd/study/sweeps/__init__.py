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
from typing import TYPE_CHECKING

from airwnd.scenario.scenario import Scenario
from airwnd.study.sweeps.axes import grid_axis
from airwnd.study.sweeps.design import Design
from airwnd.study.sweeps.draws import draw
from airwnd.study.sweeps.runner import Swept, carry_out
from airwnd.support.arguments import (
    CALLABLE,
    DURATION,
    FLAG,
    MAPPING,
    NONE,
    PATH,
    POSITIVE,
    TEXT,
    Kind,
    checked,
    instances,
    whole,
)

if TYPE_CHECKING:
    import polars as pl

    from airwnd.study.batch import Workers

__all__ = ["Design", "Swept", "carry_out", "sweep"]


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
    design = Design(
        scenario=scenario,
        grid=tuple(grid_axis(key, values) for key, values in (grid or {}).items()),
        random=tuple(draw(f"{key}={text}", sample_seed) for key, text in (random or {}).items()),
        seeds=seeds,
        sample_seed=sample_seed,
        series=series,
        stack=stack,
        ue=ue,
    )
    carry_out(design, Path(out), workers, progress, force=force)
    return pl.read_parquet(Path(out) / "runs.parquet")
