"""Cumulative distributions over transfers and pages, flows, or samples."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from airwnd.plots import axis, style
from airwnd.support.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from airwnd.results.run import RunData

#: Tables in the order of search for a column, with the name of their rows.
ROWS = {"completions": "transfers and pages begun", "flows": "flows", "series": "samples"}
#: Columns whose distribution means nothing.
NOT_DRAWN = ("flow", "time_s", "start_s", "ue", "cell", "neighbour")


@dataclass(frozen=True, slots=True)
class _Sample:
    """Sorted values, and the number of rows; it is larger if some transfers are not completed."""

    values: "np.typing.NDArray[np.float64]"
    rows: int


def plot_fct(
    runs: "Mapping[str, RunData]",
    axes: "Axes | None" = None,
    groups: Sequence[str] = (),
    *,
    logarithmic: bool = False,
) -> "Axes":
    """Draw completion times: a line per run and group of flows; `runs` maps names to runs."""
    if not any(run.completions.height for run in runs.values()):
        raise InputError("no transfer or page was completed; groups with completions: none")
    return plot_cdf(runs, "fct_s", axes, groups=groups, logarithmic=logarithmic)


def plot_cdf(  # noqa: PLR0913
    runs: "Mapping[str, RunData]",
    quantity: str = "fct_s",
    axes: "Axes | None" = None,
    *,
    groups: Sequence[str] = (),
    logarithmic: bool = False,
    size: style.Size | None = None,
) -> "Axes":
    """Draw cumulative distributions: a line per run and group of flows.

    Parameters
    ----------
    runs
        Runs by name.
    quantity
        A column of `completions`, `flows` or `series`, searched in this order, such as ``"fct_s"``,
        ``"goodput_kbps"`` or ``"delay_ms"``.
    axes
        Axes to draw on; ``None``: new axes.
    groups
        Groups of flows; empty: all groups that have values.
    logarithmic
        Make the axis of the quantity logarithmic.
    size
        Width and height of a new figure in inches; a height of ``None`` follows from the width.

    Returns
    -------
    matplotlib.axes.Axes
        The axes. A line of completion times ends below 1 if some transfers were not completed.

    Raises
    ------
    InputError
        If no run has the column, or no group has values of it.
    """
    table = _table(runs, quantity)
    samples = {
        (label, group): sample
        for label, run in runs.items()
        for group, sample in _samples(run, table, quantity).items()
        if not groups or group in groups
    }
    if not samples:
        there = dict.fromkeys(group for run in runs.values() for group in _samples(run, table, quantity))
        wanted = f" of {', '.join(groups)}" if groups else ""
        if quantity == "fct_s":
            found = f"no transfer or page{wanted} was completed; groups with completions"
        else:
            found = f"no values of {quantity}{wanted}; groups that have values"
        raise InputError(f"{found}: {', '.join(there) or 'none'}")
    with style.styled():
        grow = axes is None and (size is None or size[1] is None)
        axes = axes or style.new_figure(size).subplots()
        for index, (key, sample) in enumerate(samples.items()):
            look = style.line(index, len(samples))
            values = sample.values
            axes.step(
                np.concatenate((values[:1], values)),
                np.arange(values.size + 1) / sample.rows,
                where="post",
                color=look.colour,
                linestyle=look.dashes,
                label=style.literal(_label(key, list(samples), sample)),
            )
        largest = max(sample.values[-1] for sample in samples.values())
        axis.quantity(axes.xaxis, *axis.name(table, quantity), float(largest))
        axes.set_ylabel(f"CDF over {_rows(table, runs)}")
        axes.set_ylim(0, 1.02)
        if logarithmic:
            axis.scale(axes, "x", np.concatenate([sample.values for sample in samples.values()]), "log")
        elif min(sample.values[0] for sample in samples.values()) >= 0:
            axes.set_xlim(left=0)
        axis.legend(axes, grow=grow)
    return axes


def _table(runs: "Mapping[str, RunData]", quantity: str) -> str:
    """Return the table that has the column."""
    for table in ROWS:
        if any(quantity in _columns(run, table) for run in runs.values()):
            return table
    if quantity == "fct_s":
        return "completions"
    there = dict.fromkeys(name for run in runs.values() for table in ROWS for name in _columns(run, table))
    hint = "" if any(run.series.width for run in runs.values()) else "; a run with time series has more"
    raise InputError(f"no column `{quantity}` to draw; there are {', '.join(there)}{hint}")


def _columns(run: "RunData", table: str) -> list[str]:
    frame: pl.DataFrame = getattr(run, table)
    return [each.name for each in frame if each.dtype.is_numeric() and each.name not in NOT_DRAWN]


def _rows(table: str, runs: "Mapping[str, RunData]") -> str:
    """Return the name of the rows; for samples of a series, with the sampling interval."""
    if table != "series":
        return ROWS[table]
    intervals = {
        round(1e3 * float(run.series["time_s"].max()) / run.series["time_s"].n_unique(), 3)  # type: ignore[arg-type]
        for run in runs.values()
        if run.series.height
    }
    return f"samples of {intervals.pop():g} ms" if len(intervals) == 1 else "samples"


def _samples(run: "RunData", table: str, quantity: str) -> dict[str, _Sample]:
    """Return the values of each group that has any; for transfers and pages, null values count as rows."""
    if quantity not in _columns(run, table):
        return {}
    frame: pl.DataFrame = getattr(run, table)
    if table != "flows":
        group = run.flows.select(flow=pl.col("id"), group=pl.col("group"))
        frame = frame.with_columns(pl.col("flow").cast(pl.String)).join(
            group, on="flow", how="left", maintain_order="left"
        )
    found = {}
    order = run.groups["group"].to_list() or frame["group"].unique(maintain_order=True).to_list()
    parts = frame.partition_by("group", as_dict=True)
    for name in order:
        part = parts.get((name,))
        if part is None or part[quantity].null_count() == part.height:
            continue
        values = np.sort(part[quantity].drop_nulls().cast(pl.Float64).to_numpy())
        found[str(name)] = _Sample(values, part.height if table == "completions" else values.size)
    return found


def _label(key: tuple[str, str], keys: Sequence[tuple[str, str]], sample: _Sample) -> str:
    """Return the label of a line: the parts of its key that differ between lines, and the value count."""
    differing = [part for place, part in enumerate(key) if len({each[place] for each in keys}) > 1]
    done = sample.values.size
    count = f"{done:,}" if done == sample.rows else f"{done:,} of {sample.rows:,}"
    return f"{': '.join(differing or key[1:])} ({count})"
