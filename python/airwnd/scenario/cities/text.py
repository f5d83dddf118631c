"""The scenario of a city, in TOML."""

import json
from collections.abc import Iterator, Sequence

from airwnd.scenario.cities.people import APPLICATIONS, MOVEMENTS, Coverage, Group
from airwnd.scenario.cities.sites import Mast, Point

# TR 36.814 Table A.2.1.1-2: transmit power, and pattern of a sector antenna whose gain includes cable loss.
_SECTOR = (
    'power = "46dBm"',
    'antenna = { kind = "parabolic", beamwidth = "70deg", max_attenuation = "25dB", max_gain = "14dB" }',
)
_MAST = ('power = "46dBm"',)
# Boresight of the first sector: between two neighbours of a grid.
_AZIMUTH_DEG = 30.0
# Length of a straight leg of a moving UE: a block of houses and a street.
_LEG = "200m"
_POINTS_PER_LINE = 5


def head(comment: Sequence[str], name: str, duration: str, seed: int, radio: str | None) -> Iterator[str]:
    """Write the top level; `radio` is that of the sites' cells, as the file of the sites has it."""
    yield from (f"# {line}" for line in comment)
    yield f"name = {json.dumps(name)}"
    yield f'duration = "{duration}"'
    yield f"seed = {seed}"
    if radio == "NR":
        yield 'radio.access = "nr"'
    yield 'handover.algorithm = "a3-rsrp"'


def hexagons(rings: int, spacing_m: float, sectors: int) -> Iterator[str]:
    """Write a hexagonal grid."""
    yield ""
    yield "[[site]]"
    yield f"rings = {rings}"
    yield f'spacing = "{spacing_m:g}m"'
    yield from _antennas(sectors, None)


def masts(found: Sequence[Mast], sectors: int) -> Iterator[str]:
    """Write a site for each mast."""
    for mast in found:
        yield ""
        yield "[[site]]"
        yield f"position = {_point((mast.x, mast.y))}"
        if mast.height_m is not None:
            yield f'height = "{mast.height_m:g}m"'
        yield from _antennas(sectors, mast.azimuth_deg)


def _antennas(sectors: int, azimuth_deg: float | None) -> Iterator[str]:
    yield f"sectors = {sectors}"
    if sectors == 1:
        yield from _MAST
        return
    yield f'azimuth = "{_AZIMUTH_DEG if azimuth_deg is None else azimuth_deg:g}deg"'
    yield from _SECTOR


def ues(groups: Sequence[Group], coverage: Coverage, seed: int) -> Iterator[str]:
    """Write the groups of UEs and their flows."""
    (west, east), (south, north) = coverage.box
    for group in groups:
        movement = MOVEMENTS[group.movement]
        yield ""
        yield f"# {movement.meaning}"
        yield "[[ue]]"
        yield f'name = "{group.name}"'
        yield f"count = {group.count}"
        if movement.speed:
            speed = f'min_speed = "{movement.speed}", max_speed = "{movement.speed}"'
            area = f"x = {_point((west, east))}, y = {_point((south, north))}"
            yield f'mobility = {{ kind = "random-walk-2d", distance = "{_LEG}", {speed}, {area} }}'
        yield 'placement = { kind = "list", points = ['
        places = list(map(_point, coverage.points(group.count, f"{seed}/{group.name}")))
        for first in range(0, len(places), _POINTS_PER_LINE):
            yield f"  {', '.join(places[first : first + _POINTS_PER_LINE])},"
        yield "] }"
    for group in groups:
        application = APPLICATIONS[group.application]
        yield ""
        yield f"# {application.meaning}"
        yield "[[flow]]"
        yield f'id = "{group.name}"'
        yield f'ue = "{group.name}"'
        yield f"traffic = {application.traffic}"
        if application.arrivals:
            yield f"arrivals = {application.arrivals}"
        yield f'stagger = "{round(application.spread_s * 1e6 / group.count)}us"'


def _point(point: Point) -> str:
    """Return coordinates with decimetres."""
    return f'["{point[0] + 0.0:.1f}m", "{point[1] + 0.0:.1f}m"]'
