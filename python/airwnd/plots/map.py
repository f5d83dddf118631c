"""Radio map over the plane, with sites and UEs."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from airwnd.plots import style
from airwnd.support.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patheffects import AbstractPathEffect
    from numpy.typing import NDArray

    from airwnd.results.radio import RadioData

_LABELS = {
    "sinr": "SINR at full load (dB)",
    "rsrp": "RSRP of the best cell (dBm)",
    "cell": "Best cell",
    "uplink": "Uplink SINR, narrowest grant (dB)",
    "uplink-carrier": "Uplink SINR, whole carrier (dB)",
}
# A colour map from dark to bright, suitable for colour-blind readers and for black and white.
_COLOURS = "viridis"
# The colour scale ends at multiples of this step and leaves out the extremes close to sites.
_STEP_DB = 5
_WITHIN = (1, 99)
_KILOMETRES_FROM_M = 3000
_CROWD = 60
_BEST_CELL_ALPHA = 0.55
# Size of the numbers of cells in points; width of a digit and height of a line as parts of it, with a halo.
_NUMBERS_PT = (4.5, 8.5)
_DIGIT, _LINE = 0.85, 1.2
# The part of the figure, across and up, that the map takes at least.
_PART_OF_FIGURE = np.array([0.72, 0.72])


def plot_map(radio: "RadioData", quantity: str = "sinr", axes: "Axes | None" = None) -> "Axes":
    """Draw a map; :meth:`airwnd.RadioMap.plot` documents the arguments."""
    if quantity not in _LABELS:
        raise InputError(f"no map of `{quantity}`; there are {', '.join(_LABELS)}")
    with style.styled():
        axes = axes or style.new_figure().subplots()
        unit_m, unit = (1e3, "km") if _longest(radio) > _KILOMETRES_FROM_M else (1.0, "m")
        axes.grid(visible=False)
        if quantity == "cell":
            _draw_cells(axes, radio, unit_m)
        else:
            _draw_levels(axes, radio, quantity, unit_m)
        _draw_ues(axes, radio, unit_m)
        _draw_sites(axes, radio, unit_m)
        axes.set_aspect("equal")
        west, east, south, north = (float(end) for end in _ends(radio, unit_m))
        axes.set(xlim=(west, east), ylim=(south, north), xlabel=f"East ({unit})", ylabel=f"North ({unit})")
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, borderaxespad=0.2, handletextpad=0.3)
    return axes


def _longest(radio: "RadioData") -> float:
    return float(max(np.ptp(radio.x_m), np.ptp(radio.y_m)))


def _ends(radio: "RadioData", unit_m: float) -> tuple[Any, ...]:
    """Return west, east, south and north end of the pixels; the points are the centres of pixels."""
    x, y = radio.x_m / unit_m, radio.y_m / unit_m
    half = (x[1] - x[0]) / 2, (y[1] - y[0]) / 2
    return x[0] - half[0], x[-1] + half[0], y[0] - half[1], y[-1] + half[1]


def _draw_levels(axes: "Axes", radio: "RadioData", quantity: str, unit_m: float) -> None:
    from matplotlib.ticker import MultipleLocator

    values = {
        "sinr": radio.sinr_db,
        "rsrp": radio.rsrp_dbm,
        "uplink": radio.uplink_narrow_sinr_db,
        "uplink-carrier": radio.uplink_sinr_db,
    }[quantity]
    low, high = np.percentile(values, _WITHIN)
    low, high = _STEP_DB * np.floor(low / _STEP_DB), _STEP_DB * np.ceil(high / _STEP_DB)
    image = axes.imshow(
        values, origin="lower", extent=_ends(radio, unit_m), cmap=_COLOURS, vmin=low, vmax=high
    )
    beyond = {(False, False): "neither", (True, False): "min", (False, True): "max", (True, True): "both"}
    extend = beyond[bool(values.min() < low), bool(values.max() > high)]
    shrink = min(1.0, float(np.ptp(radio.y_m) / np.ptp(radio.x_m)))
    bar = style.figure_of(axes).colorbar(
        image, ax=axes, label=_LABELS[quantity], extend=extend, shrink=shrink
    )
    bar.locator = MultipleLocator(_STEP_DB)


def _draw_cells(axes: "Axes", radio: "RadioData", unit_m: float) -> None:
    """Paint the area of each cell, neighbours in different colours, with the cell's number in the middle."""
    from matplotlib.colors import ListedColormap

    chosen = _apart(radio.cell)
    colours = np.array([chosen.get(cell, 0) for cell in range(int(radio.cell.max()) + 1)])
    axes.imshow(
        colours[radio.cell],
        origin="lower",
        extent=_ends(radio, unit_m),
        cmap=ListedColormap(style.COLOURS),
        vmin=0,
        vmax=len(style.COLOURS) - 1,
        alpha=_BEST_CELL_ALPHA,
        interpolation="nearest",
    )
    size, numbers = _numbers(radio, style.figure_of(axes).get_size_inches())
    for cell, (x_m, y_m) in numbers.items():
        axes.annotate(
            str(cell),
            (x_m / unit_m, y_m / unit_m),
            ha="center",
            va="center",
            fontsize=size,
            fontweight="bold",
            clip_on=True,
            path_effects=[_halo(2.0)],
        )


def _numbers(
    radio: "RadioData", figure_in: "NDArray[np.float64]"
) -> tuple[float, dict[int, tuple[float, float]]]:
    """Return the size in points and the places of the numbers of cells that cover no others."""
    areas = {int(cell): np.nonzero(radio.cell == cell) for cell in np.unique(radio.cell)}
    spans_m = np.array([np.ptp(radio.x_m), np.ptp(radio.y_m)])
    points_per_m = float(np.min(_PART_OF_FIGURE * 72 * figure_in / spans_m))
    pixel_m2 = float(np.prod(spans_m / (radio.cell.shape[1] - 1, radio.cell.shape[0] - 1)))
    side = math.sqrt(float(np.median([rows.size for rows, _ in areas.values()])) * pixel_m2) * points_per_m
    digits = len(str(max(areas)))
    size = min(max(side / (digits * _DIGIT), _NUMBERS_PT[0]), _NUMBERS_PT[1])
    found: dict[int, tuple[float, float]] = {}
    # Of two numbers that would overlap, that of the larger area stays.
    for cell, (rows, columns) in sorted(areas.items(), key=lambda item: (-item[1][0].size, item[0])):
        middle = np.argmin((columns - columns.mean()) ** 2 + (rows - rows.mean()) ** 2)
        x_m, y_m = float(radio.x_m[columns[middle]]), float(radio.y_m[rows[middle]])
        apart = ((abs(x_m - x) * points_per_m, abs(y_m - y) * points_per_m) for x, y in found.values())
        if all(across > digits * _DIGIT * size or up > _LINE * size for across, up in apart):
            found[cell] = x_m, y_m
    return size, found


def _apart(cell: "NDArray[np.uint32]") -> dict[int, int]:
    """Choose a colour index for each cell on the map, different from those of its neighbours."""
    neighbours: dict[int, set[int]] = {int(each): set() for each in np.unique(cell)}
    for a, b in ((cell[1:], cell[:-1]), (cell[:, 1:], cell[:, :-1])):
        for one, other in np.unique(np.stack([a[a != b], b[a != b]], axis=1), axis=0).tolist():
            neighbours[one].add(other)
            neighbours[other].add(one)
    chosen: dict[int, int] = {}
    # Black is the colour of the letters.
    colours = range(len(style.COLOURS) - 1)
    for each, others in neighbours.items():
        taken = {chosen[other] for other in others if other in chosen}
        used = list(chosen.values())
        chosen[each] = min(colours, key=lambda place: (place in taken, used.count(place)))
    return chosen


def _halo(width: float) -> "AbstractPathEffect":
    from matplotlib.patheffects import withStroke

    return withStroke(linewidth=width, foreground="white")


def _outline() -> "AbstractPathEffect":
    from matplotlib.patheffects import withStroke

    return withStroke(linewidth=2.2, foreground="black")


def _draw_ues(axes: "Axes", radio: "RadioData", unit_m: float) -> None:
    """Draw a line for each path, and a dot at the initial position of each UE."""
    crowded = radio.ues.height > _CROWD
    for number, path in enumerate(radio.paths.partition_by("ue", maintain_order=True)):
        axes.plot(
            path["x_m"].to_numpy() / unit_m,
            path["y_m"].to_numpy() / unit_m,
            color="white",
            linewidth=0.5 if crowded else 1.0,
            path_effects=[] if crowded else [_outline()],
            label=("path" if radio.ues.height == 1 else "paths") if number == 0 else "_path",
        )
    axes.scatter(
        radio.ues["x_m"].to_numpy() / unit_m,
        radio.ues["y_m"].to_numpy() / unit_m,
        s=4.0 if crowded else 14.0,
        c="white",
        edgecolors="black",
        linewidths=0.6,
        zorder=2.5,
        label="UE" if radio.ues.height == 1 else "UEs",
    )


def _draw_sites(axes: "Axes", radio: "RadioData", unit_m: float) -> None:
    """Draw a triangle for each site, and a line along the boresight of each directional antenna."""
    length = 0.06 * _longest(radio) / unit_m
    for cell in radio.cells.filter(radio.cells["antenna"] != "isotropic").iter_rows(named=True):
        x, y, angle = cell["x_m"] / unit_m, cell["y_m"] / unit_m, np.radians(cell["boresight_deg"])
        axes.plot(
            [x, x + length * np.cos(angle)],
            [y, y + length * np.sin(angle)],
            color="black",
            linewidth=1.4,
            solid_capstyle="butt",
            path_effects=[_halo(3.0)],
            label="_boresight",
        )
    sites = radio.cells.unique("site", keep="first", maintain_order=True)
    axes.scatter(
        sites["x_m"].to_numpy() / unit_m,
        sites["y_m"].to_numpy() / unit_m,
        s=34,
        marker="^",
        c="black",
        edgecolors="white",
        linewidths=0.8,
        zorder=3,
        label="site" if sites.height == 1 else "sites",
    )
