"""PRB allocations in each TTI."""

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from airwnd import style
from airwnd.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes
    from matplotlib.collections import PatchCollection

    from airwnd.run_data import RunData

# TS 36.101 Table 5.6-1.
_PRBS = {"1.4MHz": 6, "3MHz": 15, "5MHz": 25, "10MHz": 50, "15MHz": 75, "20MHz": 100}
# TS 36.213 Table 7.1.6.1-1: maximum number of PRBs of the carrier, and PRBs per RBG.
_GROUPS = ((10, 1), (26, 2), (63, 3), (110, 4))

_TTI_MS = 1.0
_SIZE = (7.2, 3.3)
_MOST_TTIS_WITH_GAPS = 200
_MOST_VECTORS = 5000
_COLOURS_OF_MANY, _MOST_NUMBERS = "viridis", 30
_RETRANSMISSION = "///////"
_NOT_RECEIVED = {"failed": ("o", "not decoded"), "assignment-lost": ("X", "assignment lost")}


def plot_prbs(
    run: "RunData", cell: int = 0, window_s: tuple[float, float] | None = None, axes: "Axes | None" = None
) -> "Axes":
    """Draw the downlink allocations of a cell; :meth:`airwnd.Run.plot_prbs` documents the arguments."""
    if not run.allocations.width:
        raise InputError('a run without allocations: run with allocations=("1s", "1.1s") or the like')
    if cell not in run.cells["cell"]:
        raise InputError(f"no cell {cell}; there are {run.cells.height}, counted from 0")
    prbs = _PRBS[run.scenario["carrier"]["bandwidth"]]
    group = next(size for most, size in _GROUPS if prbs <= most)
    rows = run.allocations.filter(pl.col("cell") == cell).with_columns(ms=pl.col("time_s") * 1e3)
    begin_ms, end_ms = _window(run.allocations["time_s"]) if window_s is None else window_s
    begin_ms, end_ms = begin_ms * 1e3, end_ms * 1e3
    rows = rows.filter(pl.col("ms") > begin_ms - _TTI_MS, pl.col("ms") < end_ms)
    with style.styled():
        if axes is None:
            figure = style.new_figure()
            figure.set_size_inches(*_SIZE)
            axes = figure.subplots()
        axes.grid(visible=False)
        axes.set(
            xlim=(begin_ms, end_ms),
            ylim=(0, prbs),
            xlabel="Time (ms)",
            ylabel="Resource block (PRB)",
            title=f"Cell {cell}, downlink",
        )
        _draw(axes, rows, group, gap=0.5 if end_ms - begin_ms <= _MOST_TTIS_WITH_GAPS * _TTI_MS else 0.0)
    return axes


def _window(times_s: pl.Series) -> tuple[float, float]:
    if times_s.is_empty():
        raise InputError("nothing was transmitted in the window of the allocations")
    return float(times_s.to_numpy().min()), float(times_s.to_numpy().max()) + _TTI_MS / 1e3


def _draw(axes: "Axes", rows: pl.DataFrame, group: int, gap: float) -> None:
    from matplotlib.patches import Patch

    ues = rows["ue"].unique().sort().to_list()
    colours = _colours(axes, ues)
    for again in (False, True):
        part = rows.filter((pl.col("transmission") > 1) == again)
        blocks = _blocks(part, group, colours)
        blocks.set(linewidth=gap, hatch=_RETRANSMISSION if again else None)
        axes.add_collection(blocks, autolim=False)
    for reception, (marker, label) in _NOT_RECEIVED.items():
        part = rows.filter(pl.col("reception") == reception)
        if part.height:
            x, y = zip(*(_middle(row, group) for row in part.iter_rows(named=True)), strict=True)
            axes.scatter(
                x, y, s=13, marker=marker, c="white", edgecolors="black", linewidths=0.7, label=label
            )
    known = [Patch(facecolor=colours[ue], label=f"UE {ue}") for ue in ues] if _few(ues) else []
    if (rows["transmission"] > 1).any():
        known.append(
            Patch(facecolor="#888888", edgecolor="white", hatch=_RETRANSMISSION, label="retransmission")
        )
    marks = axes.get_legend_handles_labels()[0]
    if known or marks:
        axes.legend(handles=[*known, *marks], loc="upper left", bbox_to_anchor=(1, 1), handlelength=1.2)


def _few(ues: list[int]) -> bool:
    return len(ues) <= len(style.LINES)


def _colours(axes: "Axes", ues: list[int]) -> dict[int, Any]:
    """Choose a colour for each UE; a few are listed in the legend, more get a colour bar."""
    if _few(ues):
        return {ue: style.LINES[index].colour for index, ue in enumerate(ues)}
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import BoundaryNorm

    places = np.arange(len(ues))
    scale = ScalarMappable(BoundaryNorm(np.arange(len(ues) + 1) - 0.5, 256), _COLOURS_OF_MANY)
    shown = places[:: 1 + len(ues) // _MOST_NUMBERS]
    bar = style.figure_of(axes).colorbar(scale, ax=axes, label="UE", location="bottom", aspect=60, pad=0.03)
    bar.set_ticks(shown.tolist(), labels=[str(ues[place]) for place in shown], minor=False)
    bar.minorticks_off()
    return dict(zip(ues, scale.to_rgba(places), strict=True))


def _blocks(rows: pl.DataFrame, group: int, colours: dict[int, Any]) -> "PatchCollection":
    """Create a rectangle for each stretch of contiguous RBGs."""
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    patches, faces = [], []
    for row in rows.iter_rows(named=True):
        for first, count in stretches(row["rbgs"]):
            patches.append(Rectangle((row["ms"], first * group), _TTI_MS, count * group))
            faces.append(colours[row["ue"]])
    many = len(patches) > _MOST_VECTORS
    return PatchCollection(patches, facecolors=faces, edgecolors="white", rasterized=many)


def _middle(row: dict[str, Any], group: int) -> tuple[float, float]:
    """Return the centre of the longest stretch of an allocation."""
    first, count = max(stretches(row["rbgs"]), key=lambda stretch: stretch[1])
    return row["ms"] + _TTI_MS / 2, (first + count / 2) * group


def stretches(rbgs: int) -> "Iterator[tuple[int, int]]":
    """Yield first RBG and length of each contiguous stretch in a bit mask of RBGs.

    Examples
    --------
    >>> list(stretches(0b1011100))
    [(2, 3), (6, 1)]
    """
    first = 0
    while rbgs >> first:
        if rbgs >> first & 1:
            rest = rbgs >> first
            count = ((rest + 1) & ~rest).bit_length() - 1
            yield first, count
            first += count
        else:
            first += 1
