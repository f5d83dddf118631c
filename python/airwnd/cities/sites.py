"""Sites of a city: a hexagonal grid, or the rows of a CSV file."""

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from airwnd.errors import InputError
from airwnd.files import read_text
from airwnd.text import counted

# The engine's limit for `site.rings`.
MOST_RINGS = 10
# WGS 84: equatorial radius in metres and square of the eccentricity.
_EQUATOR_M = 6_378_137.0
_ECCENTRICITY_2 = 6.694_379_990_14e-3
# The engine's limit for `site.position`.
_FARTHEST_M = 1e6
# Masts that are nearer to each other than this are one.
_SAME_MAST_M = 10.0

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Mast:
    """A mast of a CSV file.

    Attributes
    ----------
    x, y
        Position in metres, east and north of the centre.
    azimuth_deg
        Boresight of the first sector, anticlockwise from east; ``None``: not in the file.
    height_m
        Height of the antennas in metres; ``None``: not in the file.
    """

    x: float
    y: float
    azimuth_deg: float | None = None
    height_m: float | None = None


def rings_for(area_km2: float, spacing_m: float) -> int:
    """Return the least number of rings of hexagonal cells that cover an area.

    Examples
    --------
    >>> rings_for(0.1, 500.0), rings_for(4.0, 500.0), rings_for(4.2, 500.0)
    (0, 2, 3)
    """
    # The hexagon around a mast has the spacing as its inner diameter.
    hexagon_km2 = math.sqrt(3) / 2 * (spacing_m / 1e3) ** 2
    for rings in range(MOST_RINGS + 1):
        if places(rings) * hexagon_km2 >= area_km2:
            return rings
    most = places(MOST_RINGS) * hexagon_km2
    raise InputError(
        f"area: {area_km2:g} km2 need more than {MOST_RINGS} rings of sites {spacing_m:g} m apart, which "
        f"cover {most:.1f} km2; a larger spacing covers more"
    )


def places(rings: int) -> int:
    """Return the number of sites of a grid with this many rings: 1, 7, 19, 37, ..."""
    return 1 + 3 * rings * (rings + 1)


def grid(rings: int, spacing_m: float) -> list[Point]:
    """Return the masts of a hexagonal grid around the origin, as the engine places them.

    Examples
    --------
    >>> [(round(x), round(y)) for x, y in grid(1, 500.0)]
    [(0, 0), (500, 0), (250, 433), (-250, 433), (-500, 0), (-250, -433), (250, -433)]
    """
    half = math.sqrt(3) / 2
    corners = ((1.0, 0.0), (0.5, half), (-0.5, half), (-1.0, 0.0), (-0.5, -half), (0.5, -half), (1.0, 0.0))
    around = [
        (
            spacing_m * ((ring - step) * start[0] + step * end[0]),
            spacing_m * ((ring - step) * start[1] + step * end[1]),
        )
        for ring in range(1, rings + 1)
        for start, end in pairwise(corners)
        for step in range(ring)
    ]
    return [(0.0, 0.0), *around]


def read(path: Path, centre: Point | None, radius_m: float | None, network: str | None) -> list[Mast]:
    """Read the masts of a CSV file, in its order.

    Parameters
    ----------
    path
        File with a header line and the columns `x_m` and `y_m`, or `lat` and `lon` (WGS 84, degrees).
        Optional columns are `azimuth_deg` and `height_m`. Rows less than 10 m apart are one mast. With the
        columns of OpenCelliD (`radio`, `mcc`, `net`, `cell`), LTE cells with the same eNB identity are one
        mast at their mean position.
    centre
        Origin of the city, as latitude and longitude or in metres, as in the file; ``None``: the mean of the
        masts.
    radius_m
        Masts beyond this distance from the centre are left out; ``None``: all masts are kept.
    network
        Network to select by the columns `mcc` and `net`, as in ``"262-1"``; ``None``: the only one.
    """
    rows, columns = _rows(path)
    geographic = {"lat", "lon"} <= columns
    if geographic == ({"x_m", "y_m"} <= columns):
        raise InputError(f"{path}: the header needs the columns x_m and y_m, or lat and lon, not both")
    if {"mcc", "net"} <= columns:
        rows = _of_network(path, rows, network)
    elif network is not None:
        raise InputError(f"{path}: network {network}: the file has no columns mcc and net")
    places = [row.place(geographic=geographic) for row in rows]
    if {"radio", "cell"} <= columns:
        places = _by_enb(path, places)
    if not places:
        raise InputError(f"{path}: there are no sites in the file")
    if centre is None:
        origin = (_mean([x for x, _, _ in places]), _mean([y for _, y, _ in places]))
    else:
        origin = (centre[1], centre[0]) if geographic else centre
    found: list[Mast] = []
    for east, north, row in places:
        x, y = _projected((east, north), origin) if geographic else (east - origin[0], north - origin[1])
        if radius_m is None and max(abs(x), abs(y)) > _FARTHEST_M:
            raise InputError(
                f"{path}:{row.line}: {math.hypot(x, y) / 1e3:,.0f} km from the centre; at most "
                f"{_FARTHEST_M / 1e3:,.0f} km east and north are allowed; a radius leaves out distant sites"
            )
        if radius_m is None or math.hypot(x, y) <= radius_m:
            azimuth = row.optional("azimuth_deg", -360.0, 360.0)
            height = row.optional("height_m", 0.1, 1000.0)
            found.append(Mast(x, y, azimuth, height))
    if not found:
        raise InputError(f"{path}: no site is within {radius_m:g} m of the centre")
    return _apart(found)


def _apart(masts: Sequence[Mast]) -> list[Mast]:
    """Return the masts without those that are next to an earlier one."""
    squares: dict[tuple[int, int], list[Mast]] = {}
    kept = []
    for mast in masts:
        column, row = math.floor(mast.x / _SAME_MAST_M), math.floor(mast.y / _SAME_MAST_M)
        around = [(column + east, row + north) for east in (-1, 0, 1) for north in (-1, 0, 1)]
        near = (each for square in around for each in squares.get(square, ()))
        if all(math.hypot(each.x - mast.x, each.y - mast.y) >= _SAME_MAST_M for each in near):
            squares.setdefault((column, row), []).append(mast)
            kept.append(mast)
    return kept


@dataclass(frozen=True, slots=True)
class _Row:
    """A line of a CSV file."""

    path: Path
    line: int
    cells: Mapping[str, str]

    def number(self, key: str, least: float = -1e15, most: float = 1e15) -> float:
        text = self.cells.get(key, "").strip()
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise InputError(f"{self.path}:{self.line}: {key}: expected a number, found {text!r}")
        if not least <= value <= most:
            raise InputError(
                f"{self.path}:{self.line}: {key}: expected {least:g} to {most:g}, found {value:g}"
            )
        return value

    def optional(self, key: str, least: float, most: float) -> float | None:
        return self.number(key, least, most) if self.cells.get(key, "").strip() else None

    def place(self, *, geographic: bool) -> "_Place":
        """Return longitude and latitude, or metres east and north, and the row."""
        if geographic:
            return self.number("lon", -180.0, 180.0), self.number("lat", -90.0, 90.0), self
        return self.number("x_m"), self.number("y_m"), self


_Place = tuple[float, float, _Row]


def _rows(path: Path) -> tuple[list[_Row], set[str]]:
    reader = csv.DictReader(read_text(path, pipes=True).splitlines())
    names = [name.strip() for name in reader.fieldnames or ()]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f"{path}:1: the column {twice} appears twice")
    reader.fieldnames = names
    rows = []
    try:
        for cells in reader:
            # The reader stores further fields under the key `None`, and `None` for missing ones.
            if None in cells or None in cells.values():
                raise InputError(
                    f"{path}:{reader.line_num}: expected {counted(len(names), 'field')}, as in line 1"
                )
            rows.append(_Row(path, reader.line_num, cells))
    except csv.Error as error:
        raise InputError(f"{path}:{reader.line_num}: {error}") from None
    return rows, set(names)


def _of_network(path: Path, rows: Sequence[_Row], network: str | None) -> list[_Row]:
    def name(row: _Row) -> str:
        return f"{row.number('mcc'):g}-{row.number('net'):g}"

    known = dict.fromkeys(map(name, rows))
    if network is None and len(known) > 1:
        raise InputError(f"{path}: cells of {_listed(known)}; select one network, as in {min(known)}")
    if network is not None and network not in known:
        raise InputError(f"{path}: no cells of network {network}; the file has {_listed(known) or 'none'}")
    return [row for row in rows if network is None or name(row) == network]


def _listed(names: Mapping[str, None], most: int = 5) -> str:
    return ", ".join([*sorted(names)[:most], *(["..."] if len(names) > most else [])])


def _by_enb(path: Path, places: Sequence[_Place]) -> list[_Place]:
    """Return a place for each eNB: the mean of its cells, which OpenCelliD locates one by one."""
    groups: dict[int, list[_Place]] = {}
    for place in places:
        row = place[2]
        if row.cells.get("radio", "").strip().upper() == "LTE":
            # TS 36.413 §9.2.1.38: the first 20 of the 28 bits of a cell identity are those of the macro eNB.
            groups.setdefault(int(row.number("cell")) >> 8, []).append(place)
    if not groups:
        raise InputError(f"{path}: no row has LTE in the column radio")
    return [
        (_mean([x for x, _, _ in cells]), _mean([y for _, y, _ in cells]), cells[0][2])
        for cells in groups.values()
    ]


def _projected(place: Point, origin: Point) -> Point:
    """Return metres east and north of the origin, along the ellipsoid's radii of curvature there."""
    latitude = math.radians(origin[1])
    shape = 1.0 - _ECCENTRICITY_2 * math.sin(latitude) ** 2
    across = _EQUATOR_M / math.sqrt(shape)
    along = across * (1.0 - _ECCENTRICITY_2) / shape
    east = math.remainder(place[0] - origin[0], 360.0)
    return (
        math.radians(east) * across * math.cos(latitude),
        math.radians(place[1] - origin[1]) * along,
    )


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def neighbours(masts: Sequence[Point], index: int, reach_m: float) -> Iterator[Point]:
    """Return the masts that may be nearer to a point within `reach_m` of one mast."""
    x, y = masts[index]
    for other, (east, north) in enumerate(masts):
        if other != index and math.hypot(east - x, north - y) < 2 * reach_m:
            yield east, north
