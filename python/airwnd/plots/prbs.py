"""PRB allocations in each slot: a TTI in LTE, 1 ms / 2^μ in NR."""

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from airwnd.plots import style
from airwnd.results.grid import Grid, components
from airwnd.support.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Patch

    from airwnd.results.run import RunData

_SIZE = (7.2, 3.3)
_MAX_SLOTS_WITH_GAPS = 200
# Intervals of TDD without downlink: uplink, guard period.
_UPLINK, _GUARD = "#DDDDDD", "#F2F2F2"
_MAX_VECTORS = 5000
_COLOURS_OF_MANY, _MAX_NUMBERS = "viridis", 30
_RETRANSMISSION = "///////"
_NOT_RECEIVED = {"failed": ("o", "not decoded"), "assignment-lost": ("X", "assignment lost")}


def plot_prbs(
    run: "RunData",
    cell: int = 0,
    window_s: tuple[float, float] | None = None,
    axes: "Axes | None" = None,
    carrier: int = 0,
) -> "Axes":
    """Draw the downlink allocations of a cell; :meth:`airwnd.Run.plot_prbs` documents the arguments."""
    if not run.allocations.width:
        raise InputError('a run without allocations: run with allocations=("1s", "1.1s") or the like')
    if cell not in run.cells["cell"]:
        raise InputError(f"no cell {cell}; there are {run.cells.height}, counted from 0")
    carriers = len(components(run.scenario))
    if not 0 <= carrier < carriers:
        raise InputError(f"no carrier {carrier}; there are {carriers}, counted from 0")
    grid = Grid.of(run.scenario, carrier)
    rows = run.allocations.filter(pl.col("cell") == cell).with_columns(ms=pl.col("time_s") * 1e3)
    if carriers > 1:
        rows = rows.filter(pl.col("carrier") == carrier)
    begin_ms, end_ms = _window(run.allocations["time_s"], grid) if window_s is None else window_s
    begin_ms, end_ms = begin_ms * 1e3, end_ms * 1e3
    rows = rows.filter(pl.col("ms") > begin_ms - grid.slot_ms, pl.col("ms") < end_ms)
    with style.styled():
        if axes is None:
            figure = style.new_figure()
            figure.set_size_inches(*_SIZE)
            axes = figure.subplots()
        axes.grid(visible=False)
        axes.set(
            xlim=(begin_ms, end_ms),
            ylim=(0, grid.prbs),
            xlabel="Time (ms)",
            ylabel="Resource block (PRB)",
            title=_title(cell, carrier if carriers > 1 else None, grid),
        )
        slots = (end_ms - begin_ms) / grid.slot_ms
        uplink = _shade(axes, grid, begin_ms, end_ms) if slots <= _MAX_SLOTS_WITH_GAPS else []
        _draw(axes, rows, grid, gap=0.5 if slots <= _MAX_SLOTS_WITH_GAPS else 0.0, more=uplink)
    return axes


def _title(cell: int, carrier: int | None, grid: Grid) -> str:
    """Return the title; `carrier` is ``None`` if the cell has only one."""
    place = f"Cell {cell}" if carrier is None else f"Cell {cell}, carrier {carrier} at {grid.frequency}"
    if grid.access == "lte":
        return f"{place}, downlink"
    return f"{place}, downlink; {grid.name}"


def _shade(axes: "Axes", grid: Grid, begin_ms: float, end_ms: float) -> "list[Patch]":
    """Shade the intervals in which a cell in TDD does not send; return their entries of the legend."""
    from matplotlib.patches import Patch

    known: dict[bool, Patch] = {}
    for left, right, uplink in grid.without_downlink(begin_ms, end_ms):
        shade = _UPLINK if uplink else _GUARD
        axes.axvspan(left, right, facecolor=shade, edgecolor="none", linewidth=0, zorder=0.5)
        known[uplink] = Patch(facecolor=shade, label="uplink" if uplink else "guard period")
    return [known[uplink] for uplink in sorted(known, reverse=True)]


def _window(times_s: pl.Series, grid: Grid) -> tuple[float, float]:
    if times_s.is_empty():
        raise InputError("nothing was transmitted in the window of the allocations")
    return float(times_s.to_numpy().min()), float(times_s.to_numpy().max()) + grid.slot_ms / 1e3


def _draw(axes: "Axes", rows: pl.DataFrame, grid: Grid, gap: float, more: "list[Patch]") -> None:
    from matplotlib.patches import Patch

    ues = rows["ue"].unique().sort().to_list()
    colours = _colours(axes, ues)
    for again in (False, True):
        part = rows.filter((pl.col("transmission") > 1) == again)
        blocks = _blocks(part, grid, colours)
        blocks.set(linewidth=gap, hatch=_RETRANSMISSION if again else None)
        axes.add_collection(blocks, autolim=False)
    for reception, (marker, label) in _NOT_RECEIVED.items():
        part = rows.filter(pl.col("reception") == reception)
        if part.height:
            x, y = zip(*(_middle(row, grid) for row in part.iter_rows(named=True)), strict=True)
            axes.scatter(
                x, y, s=13, marker=marker, c="white", edgecolors="black", linewidths=0.7, label=label
            )
    known = [Patch(facecolor=colours[ue], label=f"UE {ue}") for ue in ues] if _few(ues) else []
    if (rows["transmission"] > 1).any():
        known.append(
            Patch(facecolor="#888888", edgecolor="white", hatch=_RETRANSMISSION, label="retransmission")
        )
    known += more
    marks = axes.get_legend_handles_labels()[0]
    if known or marks:
        axes.legend(handles=[*known, *marks], loc="upper left", bbox_to_anchor=(1, 1), handlelength=1.2)


def _few(ues: list[int]) -> bool:
    return len(ues) <= len(style.COLOURS)


def _colours(axes: "Axes", ues: list[int]) -> dict[int, Any]:
    """Choose a colour for each UE; a few are listed in the legend, more get a colour bar."""
    if _few(ues):
        return {ue: style.COLOURS[index] for index, ue in enumerate(ues)}
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import BoundaryNorm

    places = np.arange(len(ues))
    scale = ScalarMappable(BoundaryNorm(np.arange(len(ues) + 1) - 0.5, 256), _COLOURS_OF_MANY)
    shown = places[:: 1 + len(ues) // _MAX_NUMBERS]
    bar = style.figure_of(axes).colorbar(scale, ax=axes, label="UE", location="bottom", aspect=60, pad=0.03)
    bar.set_ticks(shown.tolist(), labels=[str(ues[place]) for place in shown], minor=False)
    bar.minorticks_off()
    return dict(zip(ues, scale.to_rgba(places), strict=True))


def _blocks(rows: pl.DataFrame, grid: Grid, colours: dict[int, Any]) -> "PatchCollection":
    """Create a rectangle for each stretch of contiguous RBGs."""
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    patches, faces = [], []
    for row in rows.iter_rows(named=True):
        for first, count in stretches(row["rbgs"]):
            low, high = _edges(first, count, grid)
            patches.append(Rectangle((row["ms"], low), grid.downlink_ms(row["ms"]), high - low))
            faces.append(colours[row["ue"]])
    many = len(patches) > _MAX_VECTORS
    return PatchCollection(patches, facecolors=faces, edgecolors="white", rasterized=many)


def _edges(first: int, count: int, grid: Grid) -> tuple[int, int]:
    """Return the lowest PRB of a stretch of RBGs and the first above it."""
    return first * grid.rbg_prbs, min((first + count) * grid.rbg_prbs, grid.prbs)


def _middle(row: dict[str, Any], grid: Grid) -> tuple[float, float]:
    """Return the centre of the longest stretch of an allocation."""
    first, count = max(stretches(row["rbgs"]), key=lambda stretch: stretch[1])
    return row["ms"] + grid.downlink_ms(row["ms"]) / 2, sum(_edges(first, count, grid)) / 2


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
