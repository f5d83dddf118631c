"""Sites of a city: a hexagonal grid, or the rows of a CSV file."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from airwnd.scenario.cities.cells import COLUMNS, MAX_CELLS, POSITIONAL, RADIOS, Cells, LeftOut
from airwnd.support.errors import InputError
from airwnd.text.csv_rows import Rows
from airwnd.text.quantities import counted

Point = tuple[float, float]

# The engine's limit for `site.rings`.
MAX_RINGS = 10
# WGS 84: equatorial radius in metres and square of the eccentricity.
_EQUATOR_M = 6_378_137.0
_ECCENTRICITY_2 = 6.694_379_990_14e-3
# The engine's limit for `site.position`.
_FARTHEST_M = 1e6
# Masts that are nearer to each other than this are one.
_SAME_MAST_M = 10.0
# Range of an LTE cell: TS 36.211 §5.7.1, the longest guard time of a preamble. A cell's position in a list is
# that of the phones which heard it.
_FARTHEST_CELL_M = 100_000.0
# Sites of a list that is not one of cells. A scenario may have 1000: enough to choose from, in a few 100 MB.
_MAX_ROWS = 1_000_000
_SELECTS = "a centre with a radius, or a network, selects some"
_COLUMNS = {name: name for name in ("x_m", "y_m", "lat", "lon", "azimuth_deg", "height_m")} | COLUMNS


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
    for rings in range(MAX_RINGS + 1):
        if places(rings) * hexagon_km2 >= area_km2:
            return rings
    maximum = places(MAX_RINGS) * hexagon_km2
    raise InputError(
        f"area: {area_km2:g} km2 need more than {MAX_RINGS} rings of sites {spacing_m:g} m apart, which "
        f"cover {maximum:.1f} km2; a larger spacing covers more"
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


@dataclass(frozen=True, slots=True)
class Sites:
    """The masts of a file.

    Attributes
    ----------
    masts
        The masts, in the order of the file.
    radio
        ``"LTE"`` or ``"NR"`` if the file is a list of cells, otherwise ``None``.
    source
        What the masts were made from, in a line.
    left_out
        The rows that were left out, by reason; empty: none was.
    """

    masts: list[Mast]
    radio: str | None
    source: str
    left_out: str


def read(
    path: Path, centre: Point | None, radius_m: float | None, network: str | None, radio: str | None = None
) -> Sites:
    """Read the masts of a CSV file; :class:`airwnd.text.csv_rows.Rows` describes its format.

    Parameters
    ----------
    path
        File with a header line and the columns `x_m` and `y_m`, or `lat` and `lon` (WGS 84, degrees), and
        optionally `azimuth_deg` and `height_m`; rows less than 10 m apart are one mast. Or a list of cells
        with the columns of OpenCelliD or of Mozilla's exports, or with OpenCelliD's and no header line: LTE
        cells with the same eNB identity, or NR cells with the same gNB identity, are one mast at their mean
        position. Rows of such a list without coordinates are left out.
    centre
        Origin of the city, as latitude and longitude or in metres, as in the file; ``None``: the mean of the
        masts.
    radius_m
        Masts beyond this distance from the centre are left out; ``None``: all masts are kept.
    network
        Network to select by the columns `mcc` and `net`, as in ``"262-1"``; ``None``: the only one.
    radio
        ``"LTE"`` or ``"NR"``, to select from a list of cells; ``None``: LTE if it has any, otherwise NR.
    """
    rows = Rows(path, _COLUMNS, POSITIONAL, RADIOS)
    columns = {name: place for place, name in enumerate(rows.columns)}
    geographic = {"lat", "lon"} <= columns.keys()
    if geographic == ({"x_m", "y_m"} <= columns.keys()):
        raise InputError(f"{rows.name}: the header needs the columns x_m and y_m, or lat and lon, not both")
    for one, other in (("radio", "cell"), ("mcc", "net")):
        if (one in columns) != (other in columns):
            raise InputError(f"{rows.name}: the columns {one} and {other} belong together")
    for option, value, column in (("network", network, "mcc"), ("radio", radio, "radio")):
        if value is not None and column not in columns:
            raise InputError(f"{rows.name}: {option} {value}: the file has no column {column}")
    origin = None if centre is None else (centre[1], centre[0]) if geographic else centre
    area = _Area(geographic, origin, radius_m)
    selected = _selected(rows, columns, network)
    if "radio" in columns:
        return _of_list(rows, selected, area, radio)
    kept: list[tuple[Point, _Row]] = []
    is_distant = False
    for row in selected:
        place = row.place(geographic=geographic)
        if not area.has(place):
            is_distant = True
            continue
        if len(kept) == _MAX_ROWS:
            raise InputError(f"{rows.name}: more than {_MAX_ROWS:,} sites; {_SELECTS}")
        kept.append((place, row))
    if not kept and is_distant:
        raise area.nothing(rows.name)
    return Sites(_masts(rows.name, kept, area), None, f"sites of {rows.name}", "")


@dataclass(frozen=True, slots=True)
class _Area:
    """The part of the plane to keep; positions are longitude and latitude, or metres east and north."""

    geographic: bool
    origin: Point | None
    radius_m: float | None

    def nothing(self, name: str) -> InputError:
        """Return the error of a file without a site in the area."""
        return InputError(f"{name}: no site is within {self.radius_m:g} m of the centre")

    def offset(self, place: Point, origin: Point) -> Point:
        """Return the metres east and north of the origin."""
        return _projected(place, origin) if self.geographic else (place[0] - origin[0], place[1] - origin[1])

    def has(self, place: Point, around_m: float = 0.0) -> bool:
        """Return whether a place may be in the area, or within a distance around it."""
        if self.origin is None or self.radius_m is None:
            return True
        return math.hypot(*self.offset(place, self.origin)) <= self.radius_m + around_m


def _of_list(rows: Rows, selected: "Iterator[_Row]", area: _Area, radio: str | None) -> Sites:
    """Return the base stations of a list of cells; only cells that may be in the area are kept in memory."""
    lists = {name: Cells(name) for name in ((radio,) if radio else ("LTE", "NR"))}
    left_out = LeftOut()
    is_distant = False
    for row in selected:
        name = row.text("radio").upper()
        if name not in lists:
            left_out.radios[name if name in RADIOS else "other radios"] += 1
        elif not (row.text("lat") and row.text("lon")):
            left_out.without_place += 1
        else:
            try:
                place = row.place(geographic=True)
                # In the Gulf of Guinea, where no mast is: unknown places are sometimes written as zeros.
                if place == (0.0, 0.0):
                    left_out.without_place += 1
                    continue
                identity = row.whole("cell")
                if not area.has(place, _FARTHEST_CELL_M):
                    is_distant = True
                elif len(lists[name]) == MAX_CELLS:
                    raise InputError(f"{rows.name}: more than {MAX_CELLS:,} cells; {_SELECTS}")
                else:
                    lists[name].add(identity, place, row.line)
            except _RowError as error:
                left_out.note_wrong(error)
    cells = _chosen(lists.values(), left_out)
    if cells is None:
        if is_distant:
            raise area.nothing(rows.name)
        why = f"; left out: {left_out}" if str(left_out) else ""
        raise InputError(f"{rows.name}: no row has {' or '.join(lists)} in the column radio{why}")
    found, bits = cells.sites(_projected)
    stations = [(place, _Row(rows, line, [], {})) for place, line in found]
    kind = "eNB" if cells.radio == "LTE" else "gNB"
    length = "" if cells.radio == "LTE" else f" with identities of {bits} bits, as their positions suggest"
    source = f"{counted(len(found), kind)}{length}, of {len(cells):,} {cells.radio} cells in {rows.name}"
    return Sites(_masts(rows.name, stations, area), cells.radio, source, str(left_out))


def _chosen(lists: Collection[Cells], left_out: LeftOut) -> Cells | None:
    """Return the first list that has cells, and count the rows of the others."""
    chosen = next((each for each in lists if len(each)), None)
    for each in lists:
        if each is chosen or chosen is None:
            left_out.illegal += each.illegal
        elif len(each) or each.illegal:
            left_out.radios[each.radio] += len(each) + each.illegal
    return chosen


def _masts(name: str, places: "Sequence[tuple[Point, _Row]]", area: _Area) -> list[Mast]:
    """Return the masts in the area."""
    if not places:
        raise InputError(f"{name}: there are no sites in the file")
    mean = (_mean([place[0] for place, _ in places]), _mean([place[1] for place, _ in places]))
    found: list[Mast] = []
    for place, row in places:
        x, y = area.offset(place, area.origin or mean)
        if area.radius_m is None and max(abs(x), abs(y)) > _FARTHEST_M:
            raise row.error(
                f"{math.hypot(x, y) / 1e3:,.0f} km from the centre; at most {_FARTHEST_M / 1e3:,.0f} km east "
                "and north are allowed; a radius leaves out distant sites"
            )
        if area.radius_m is None or math.hypot(x, y) <= area.radius_m:
            azimuth = row.optional("azimuth_deg", -360.0, 360.0)
            height = row.optional("height_m", 0.1, 1000.0)
            found.append(Mast(x, y, azimuth, height))
    if not found:
        raise area.nothing(name)
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


class _RowError(InputError):
    """An error in a row."""


@dataclass(frozen=True, slots=True)
class _Row:
    """A line of a CSV file."""

    rows: Rows
    line: int
    fields: Sequence[str]
    columns: Mapping[str, int]

    def error(self, message: str) -> _RowError:
        return _RowError(f"{self.rows.name}:{self.line}: {message}")

    def text(self, key: str) -> str:
        """Return the text in a column; empty: there is no such column."""
        return self.fields[self.columns[key]] if key in self.columns else ""

    def number(self, key: str, minimum: float = -1e15, maximum: float = 1e15) -> float:
        text = self.text(key)
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            hint = "; decimals have a point" if "," in text else ""
            raise self.error(f"{key}: expected a number, found {text!r}{hint}")
        if not minimum <= value <= maximum:
            raise self.error(f"{key}: expected {minimum:g} to {maximum:g}, found {value:g}")
        return value

    def whole(self, key: str) -> int:
        value = self.number(key, 0)
        if value != int(value):
            raise self.error(f"{key}: expected a whole number, found {value:g}")
        return int(value)

    def optional(self, key: str, minimum: float, maximum: float) -> float | None:
        return self.number(key, minimum, maximum) if self.text(key) else None

    def place(self, *, geographic: bool) -> Point:
        """Return longitude and latitude, or metres east and north."""
        if geographic:
            return self.number("lon", -180.0, 180.0), self.number("lat", -90.0, 90.0)
        return self.number("x_m"), self.number("y_m")


def _selected(rows: Rows, columns: Mapping[str, int], network: str | None) -> Iterator[_Row]:
    """Yield the rows of a network.

    Raises
    ------
    InputError
        At the end, if there is no such network, or several and none is named.
    """
    known: dict[str, None] = {}
    for line, fields in rows:
        row = _Row(rows, line, fields, columns)
        if "mcc" in columns:
            name = f"{row.number('mcc'):g}-{row.number('net'):g}"
            known[name] = None
            if name != (network or next(iter(known))):
                continue
        yield row
    if network is None and len(known) > 1:
        raise InputError(f"{rows.name}: cells of {_listed(known)}; select one network, as in {min(known)}")
    if network is not None and network not in known:
        raise InputError(
            f"{rows.name}: no cells of network {network}; the file has {_listed(known) or 'none'}"
        )


def _listed(names: Mapping[str, None], maximum: int = 5) -> str:
    return ", ".join([*sorted(names)[:maximum], *(["..."] if len(names) > maximum else [])])


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
