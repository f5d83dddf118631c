"""Radio map of a scenario: SINR, RSRP and best cell over the plane, with plots."""

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from airwnd.results.frames import table_of
from airwnd.results.radio import RadioData
from airwnd.support.arguments import AXES, NONE, TEXT, checked
from airwnd.support.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from airwnd import _native

_FEWEST_POINTS, _MAX_POINTS = 2, 5000
_PARTS = 200
_MARGIN = 0.15
# Minimum ratio of the shorter to the longer side, and minimum length of a side in metres.
_SLIMMEST = 0.6
_SMALLEST_M = 500.0

Extent = tuple[float, float, float, float]


class RadioMap(RadioData):
    """Radio map with plots, returned by :meth:`Scenario.radio_map`.

    The attributes are those of :class:`airwnd.results.radio.RadioData`.
    """

    @checked(quantity=TEXT, axes=AXES | NONE)
    def plot(self, quantity: str = "sinr", axes: "Axes | None" = None) -> "Axes":
        """Draw the map with sites, boresights, UEs and their paths.

        Parameters
        ----------
        quantity
            ``sinr``, ``rsrp``, ``cell`` (best cell), ``uplink`` (uplink SINR on the narrowest grant) or
            ``uplink-carrier`` (uplink SINR over the whole carrier).
        axes
            Axes to draw on; ``None``: new axes.

        Returns
        -------
        matplotlib.axes.Axes
            The axes; ``map.plot().figure.savefig("map.png")`` writes a picture.

        Raises
        ------
        InputError
            If there is no such quantity.
        """
        from airwnd.plots.map import plot_map

        return plot_map(self, quantity, axes)


@dataclass(frozen=True, slots=True)
class Grid:
    """Grid of a radio map; its fields are documented at :meth:`Scenario.radio_map`."""

    points: int
    extent: Extent | None
    height_m: float | None

    def __post_init__(self) -> None:
        if not _FEWEST_POINTS <= self.points <= _MAX_POINTS:
            raise InputError(f"points: {self.points} is not in the range {_FEWEST_POINTS}..{_MAX_POINTS}")
        if self.height_m is not None and not (isfinite(self.height_m) and self.height_m > 0):
            raise InputError(f"height: {self.height_m:g} m is not above ground")
        if self.extent is not None:
            west, east, south, north = self.extent
            if not all(map(isfinite, self.extent)) or west >= east or south >= north:
                given = ",".join(f"{each:g}" for each in self.extent)
                raise InputError(f"extent: {given} is not an area; expected WEST,EAST,SOUTH,NORTH in metres")

    def axes(self, *places: pl.DataFrame) -> "tuple[NDArray[np.float64], NDArray[np.float64]]":
        """Return the coordinates of the points; without an extent, of an area around the given places."""
        west, east, south, north = self.extent or _around(*places)
        step = max(east - west, north - south) / (self.points - 1)
        x_m, y_m = (
            np.linspace(low, high, max(_FEWEST_POINTS, round((high - low) / step) + 1))
            for low, high in ((west, east), (south, north))
        )
        return x_m, y_m


def survey(checked: "_native.Scenario", origin: str, grid: Grid, seed: int) -> RadioMap:
    """Compute the map of a scenario; `origin` names the scenario in messages."""
    cells, ues = table_of(checked.cells()), table_of(checked.ues(seed))
    paths = table_of(checked.paths(seed, _PARTS))
    x_m, y_m = grid.axes(cells, ues, paths)
    computed = checked.radio_map(x_m.tolist(), y_m.tolist(), grid.height_m)
    if computed is None:
        raise InputError(f"{origin}: there is no [[site]], so there is no radio to map")
    sinr_db, rsrp_dbm, cell, uplink, narrow = computed
    shape = (len(y_m), len(x_m))
    return RadioMap(
        x_m,
        y_m,
        sinr_db.reshape(shape),
        rsrp_dbm.reshape(shape),
        cell.reshape(shape),
        uplink.reshape(shape),
        narrow.reshape(shape),
        cells,
        ues,
        paths,
    )


def _around(*places: pl.DataFrame) -> Extent:
    """Return an area that contains all places, with a margin."""
    x, y = (np.concatenate([frame[name].to_numpy() for frame in places]) for name in ("x_m", "y_m"))
    longest = max(np.ptp(x), np.ptp(y))
    minimum = max(_SLIMMEST * longest, _SMALLEST_M)
    (west, east), (south, north) = (
        ((values.min() + values.max()) / 2 + side * (max(np.ptp(values), minimum) / 2 + _MARGIN * longest))
        for values in (x, y)
        for side in [np.array([-1.0, 1.0])]
    )
    return float(west), float(east), float(south), float(north)
