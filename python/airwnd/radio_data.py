"""What is heard where, as data: the radio environment of a scenario over the plane."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from airwnd.text import counted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class RadioData:
    """What a UE of the first group hears at the points of a grid.

    :meth:`airwnd.Scenario.radio_map` makes it.

    Every cell sends on all its PRBs. Shadowing and fading are left out: they are drawn for UEs, not for
    places. So it is a map of medians at full load.

    Attributes
    ----------
    x_m, y_m
        The points' coordinates, east and north of the origin.
    sinr_db
        SINR of the cell that is heard best, P_best / (N + sum of the other cells' P), by row (`y_m`) and
        column (`x_m`).
    rsrp_dbm
        That cell's reference signal received power.
    cell
        That cell's number.
    uplink_sinr_db
        SINR at which that cell receives a UE that sends over the whole carrier; no other one sends.
    uplink_narrow_sinr_db
        The same on each resource block of the narrowest grant.
    cells
        A row per cell: ``cell``, its ``site``, place ``x_m`` and ``y_m``, ``boresight_deg``, anticlockwise
        from east, and kind of ``antenna``.
    ues
        A row per UE: ``ue``, its ``group``, and the place ``x_m``, ``y_m`` where it begins.
    paths
        Where UEs that move are, at 201 instants from the begin of the warm-up to the end: ``ue``,
        ``time_s`` since the end of the warm-up, ``x_m`` and ``y_m``.
    """

    x_m: "NDArray[np.float64]"
    y_m: "NDArray[np.float64]"
    sinr_db: "NDArray[np.float64]"
    rsrp_dbm: "NDArray[np.float64]"
    cell: "NDArray[np.uint32]"
    uplink_sinr_db: "NDArray[np.float64]"
    uplink_narrow_sinr_db: "NDArray[np.float64]"
    cells: pl.DataFrame
    ues: pl.DataFrame
    paths: pl.DataFrame

    def __repr__(self) -> str:
        rows, columns = self.sinr_db.shape
        return (
            f"<{type(self).__name__} of {columns} x {rows} points: {counted(self.cells.height, 'cell')}, "
            f"{counted(self.ues.height, 'UE')}, SINR {self.sinr_db.min():.1f} to {self.sinr_db.max():.1f} dB>"
        )
