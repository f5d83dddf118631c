"""Which part of transfers and pages took how long."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from airwnd import style
from airwnd.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from airwnd.run_data import RunData


def plot_fct(
    runs: "Mapping[str, RunData]",
    axes: "Axes | None" = None,
    groups: Sequence[str] = (),
    *,
    logarithmic: bool = False,
) -> "Axes":
    """Draw a line per run, which is given by name, and group of flows; those named, or all that completed."""
    samples = {
        (label, group): times
        for label, run in runs.items()
        for group, times in _times(run).items()
        if not groups or group in groups
    }
    if not samples:
        there = ", ".join(dict.fromkeys(group for run in runs.values() for group in _times(run)))
        wanted = f" of {', '.join(groups)}" if groups else ""
        raise InputError(f"nothing{wanted} was completed; groups in which something was: {there or 'none'}")
    with style.styled():
        axes = axes or style.new_figure().subplots()
        for index, (key, times) in enumerate(samples.items()):
            look = style.line(index, len(samples))
            done = np.sort(times.drop_nulls().to_numpy())
            parts = np.arange(done.size + 1) / len(times)
            axes.step(
                np.concatenate(([done[0]], done)),
                parts,
                where="post",
                color=look.colour,
                linestyle=look.dashes,
                label=style.literal(_label(key, list(samples), done.size, len(times))),
            )
        axes.set_xlabel("Completion time (s)")
        axes.set_ylabel("Part of all that began")
        axes.set_ylim(0, 1.02)
        if logarithmic:
            axes.set_xscale("log")
        else:
            axes.set_xlim(left=0)
        axes.legend(loc="lower right")
    return axes


def _times(run: "RunData") -> dict[str, pl.Series]:
    """Give the completion times of each group in which something was completed; null for what was not."""
    if run.completions.is_empty():
        return {}
    group = run.flows.select(flow=pl.col("id"), group=pl.col("group"))
    table = run.completions.with_columns(pl.col("flow").cast(pl.String)).join(group, on="flow")
    parts = table.partition_by("group", maintain_order=True, as_dict=True)
    return {
        str(name): part["fct_s"]
        for (name,), part in parts.items()
        if part["fct_s"].null_count() < part.height
    }


def _label(key: tuple[str, str], keys: Sequence[tuple[str, str]], done: int, began: int) -> str:
    """Name what tells a line from the others, and how many there are."""
    telling = [part for place, part in enumerate(key) if len({each[place] for each in keys}) > 1]
    count = f"{done:,}" if done == began else f"{done:,} of {began:,}"
    return f"{': '.join(telling or key[1:])} ({count})"
