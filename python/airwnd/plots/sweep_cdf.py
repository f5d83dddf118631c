"""Distributions over the runs of a sweep: a line per value of a swept key, with a band over the seeds."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from airwnd.plots import axis, category, interval, style
from airwnd.plots.cdf import NOT_DRAWN, ROWS
from airwnd.plots.flows import members
from airwnd.plots.series import time_text
from airwnd.results.engine import duration_ns
from airwnd.results.selection import equal, in_order, keys_of_lines, only
from airwnd.support.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from airwnd.results.sweep import SweepData

# Number of points of a line.
_POINTS = 400


def plot_sweep_cdf(  # noqa: PLR0913 (keywords of a public function)
    sweep: "SweepData",
    quantity: str = "fct_s",
    *,
    by: Sequence[str] | None = None,
    groups: Sequence[str] = (),
    where: Mapping[str, object] | None = None,
    labels: Mapping[str, str] | None = None,
    logarithmic: bool = False,
    size: style.Size | None = None,
) -> "Figure":
    """Draw a distribution over all runs; :meth:`airwnd.Sweep.plot_cdf` documents the arguments."""
    table, rows = _rows(sweep, quantity)
    rows = only(sweep, rows, where or {})
    by = keys_of_lines(sweep, rows, by)
    names = category.names_of(sweep, rows, labels)
    flows = members(sweep, groups)
    curves: list[tuple[str, _Curve]] = []
    for name, ids in flows.items():
        part = rows.filter(pl.col("flow").is_in(ids))
        for values in in_order(part, by) if by else [()]:
            chosen = part.filter(equal(by, values)) if by else part
            if (curve := _curve(chosen)) is not None:
                curves.append((names.line(by, values, name if len(flows) > 1 else ""), curve))
    if not curves:
        none = "no transfer or page was completed" if quantity == "fct_s" else "there are no values"
        raise InputError(f"no `{quantity}` in these runs: {none}")
    with style.styled():
        figure = style.new_figure(size)
        axes = figure.subplots()
        for index, (label, (at_x, mean, half, _)) in enumerate(curves):
            look = style.line(index, len(curves))
            if half.any():
                low, high = np.clip(mean - half, 0, 1), np.clip(mean + half, 0, 1)
                axes.fill_between(at_x, low, high, step="post", color=look.colour, alpha=0.2, linewidth=0)
            text = style.literal(label) or "_line"
            axes.step(at_x, mean, where="post", color=look.colour, linestyle=look.dashes, label=text)
        drawn = sweep.flows.filter(pl.col("id").is_in(rows["flow"].unique().to_list()))
        every = drawn["group"].unique(maintain_order=True).to_list()
        whole = "" if len(groups) > 1 else axis.population(every, *groups)
        largest = max(float(at_x[-1]) for _, (at_x, *_) in curves)
        axis.quantity(axes.xaxis, *axis.name(table, quantity), largest, whole)
        note = interval.note([count for _, (*_, count) in curves])
        of = f"samples of {_interval(sweep)}" if table == "series" else ROWS[table]
        axes.set_ylabel(style.literal(f"CDF over {of}" + (f",\n{note}" if note else "")))
        axes.set_ylim(0, 1.02)
        if logarithmic:
            axis.scale(axes, "x", np.concatenate([at_x for _, (at_x, *_) in curves]), "log")
        elif min(float(at_x[0]) for _, (at_x, *_) in curves) >= 0:
            axes.set_xlim(left=0)
        if len(curves) > 1:
            axis.legend(axes, names.title(by), grow=size is None or size[1] is None)
    return figure


#: Places along the axis, means and half-widths of the intervals there, and the number of runs.
_Curve = tuple[NDArray[Any], NDArray[Any], NDArray[Any], int]


def _interval(sweep: "SweepData") -> str:
    return time_text(duration_ns("series", sweep.series or "") / 1e9)


def _rows(sweep: "SweepData", quantity: str) -> tuple[str, pl.DataFrame]:
    """Return the first table with a column, and its rows: the swept keys, ``seed``, ``flow``, ``value``."""
    tables = {"flows": sweep.flows.rename({"id": "flow"})}
    if sweep.series is not None:
        tables = {"completions": sweep.read_completions(), **tables, "series": sweep.read_series()}
    there: dict[str, None] = {}
    on = [*sweep.keys, "seed", "flow"]
    for name in ROWS:
        frame = tables.get(name, pl.DataFrame())
        drawable = [
            each.name for each in frame if each.dtype.is_numeric() and each.name not in (*on, *NOT_DRAWN)
        ]
        if quantity in drawable:
            found = frame.select(*on, value=pl.col(quantity).cast(pl.Float64))
            # Transfers that were not completed count, samples without a value do not.
            return name, found if name == "completions" else found.drop_nulls("value")
        there |= dict.fromkeys(drawable)
    hint = "" if sweep.series else "; a sweep with --series has more"
    raise InputError(f"no column `{quantity}` to draw; there are {', '.join(there)}{hint}")


def _curve(rows: pl.DataFrame) -> _Curve | None:
    """Return the mean of the distributions of the runs; ``None`` if they have no values.

    A value that is missing, of a transfer that was not completed, is larger than all others.
    """
    every = np.sort(rows["value"].drop_nulls().to_numpy())
    if every.size == 0:
        return None
    at_x = np.unique(every[np.linspace(0, every.size - 1, _POINTS).round().astype(int)])
    parts = [
        np.searchsorted(np.sort(run["value"].drop_nulls().to_numpy()), at_x, side="right") / run.height
        for run in rows.partition_by("seed", maintain_order=True)
    ]
    deviations = np.std(parts, axis=0, ddof=1) if len(parts) > 1 else np.zeros(at_x.size)
    half = interval.half_widths(np.full(at_x.size, len(parts), np.uint32), deviations)
    # The lines begin at zero.
    start = np.concatenate((at_x[:1], at_x))
    return start, np.concatenate(([0.0], np.mean(parts, axis=0))), np.concatenate(([0.0], half)), len(parts)
