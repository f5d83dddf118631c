"""Radio environment of a scenario over the plane, as data: SINR, RSRP and best cell."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from airwnd.text.quantities import counted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class RadioData:
    """Radio conditions of a UE of the first group at the points of a grid.

    Returned by :meth:`airwnd.Scenario.radio_map`.

    Every cell transmits on all its PRBs. Shadowing and fading are left out: they are drawn per UE, not per
    place. The map shows medians at full load.

    Attributes
    ----------
    x_m, y_m
        Coordinates of the points, east and north of the origin.
    sinr_db
        SINR of the best cell, P_best / (N + sum of the other cells' P), by row (`y_m`) and column (`x_m`).
    rsrp_dbm
        Reference signal received power of the best cell.
    cell
        Number of the best cell.
    uplink_sinr_db
        Uplink SINR at the best cell for a UE that transmits over the whole carrier; no other UE transmits.
    uplink_narrow_sinr_db
        The same for each PRB of the narrowest grant.
    cells
        A row per cell: ``cell``, ``site``, position ``x_m`` and ``y_m``, ``boresight_deg`` (anticlockwise
        from east), and ``antenna`` (kind).
    ues
        A row per UE: ``ue``, ``group``, and initial position ``x_m``, ``y_m``.
    paths
        Positions of moving UEs at 201 instants, from the begin of the warm-up to the end of the run: ``ue``,
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
