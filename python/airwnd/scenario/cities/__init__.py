"""Scenarios of cities: sites, UEs that stay, walk and drive, and their traffic at an hour of the day.

>>> import airwnd
>>> airwnd.city(rings=1, ues=40, hour=4).name
'city of 7 sites, 7 UEs at 4:00'
"""

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path

from airwnd.scenario.cities.day import BUSIEST
from airwnd.scenario.cities.plan import Plan
from airwnd.scenario.cities.sites import MAX_RINGS
from airwnd.scenario.scenario import Scenario
from airwnd.support.arguments import (
    DURATION,
    MAPPING,
    NONE,
    NUMBER,
    PATH,
    POSITIVE,
    SEED,
    TEXT,
    checked,
    tuples_of,
    whole,
)

__all__ = ["Plan", "city"]

_HOUR = whole(0, 23, "an hour from 0 to 23")


@checked(
    rings=whole(0, MAX_RINGS, f"a number of rings from 0 to {MAX_RINGS}") | NONE,
    area_km2=NUMBER | NONE,
    spacing_m=NUMBER,
    sites=PATH | NONE,
    centre=tuples_of(NUMBER, 2, "a pair of numbers") | NONE,
    radius_m=NUMBER | NONE,
    network=TEXT | NONE,
    radio=TEXT | NONE,
    sectors=whole(1, 12, "a number of sectors from 1 to 12"),
    ues=POSITIVE,
    hour=_HOUR,
    movement=MAPPING | NONE,
    traffic=MAPPING | NONE,
    duration=DURATION,
    seed=SEED,
)
def city(  # noqa: PLR0913
    *,
    rings: int | None = None,
    area_km2: float | None = None,
    spacing_m: float = 500.0,
    sites: str | PathLike[str] | None = None,
    centre: Sequence[float] | None = None,
    radius_m: float | None = None,
    network: str | None = None,
    radio: str | None = None,
    sectors: int = 3,
    ues: int = 1000,
    hour: int = BUSIEST,
    movement: Mapping[str, float] | None = None,
    traffic: Mapping[str, float] | None = None,
    duration: str = "10s",
    seed: int = 1,
) -> Scenario:
    """Create the scenario of a city, on a hexagonal grid or with the sites of a CSV file.

    UEs are uniform in the area of each site, with the same mean number for each: operators put sites where
    people are. Positions follow from `seed` alone, and those at a quiet hour begin those at a busy one.

    Parameters
    ----------
    rings
        Rings of sites around the first: 0 for 1 site in all, 1 for 7, 2 for 19; ``None``: 2, or as many as
        `area_km2` needs.
    area_km2
        Area to cover with the grid, in square kilometres, instead of `rings`.
    spacing_m
        Inter-site distance of the grid, in metres.
    sites
        CSV file of sites instead of a grid, with the columns ``lat`` and ``lon``, or ``x_m`` and ``y_m``.
        Optional columns are ``azimuth_deg`` (anticlockwise from east) and ``height_m``. Cells of
        OpenCelliD's and Mozilla's files become eNBs or gNBs; rows without coordinates are left out, of
        which ``airwnd city`` prints the number. The file may be compressed with gzip.
    centre
        Centre of the city: latitude and longitude, or x and y as in the file; ``None``: the mean of the
        sites.
    radius_m
        Sites of the file beyond this distance from the centre are left out; ``None``: all are kept.
    network
        Network to select if the file has the columns ``mcc`` and ``net``, as in ``"262-1"``.
    radio
        ``"LTE"`` or ``"NR"``, to select from a list of cells; ``None``: LTE if it has any, otherwise NR.
        Sites of NR cells make a scenario of NR.
    sectors
        Sectors of each site.
    ues
        Number of active UEs in the busiest hour.
    hour
        Hour of the day, 0 to 23, which scales the number of UEs; the default is the busiest.
    movement
        Shares of ``still``, ``walking`` and ``driving`` UEs; they are divided by their sum.
    traffic
        Shares of UEs that use ``web``, ``video``, ``file`` and ``bulk``; they are divided by their sum.
    duration
        Duration with its unit, as in ``"10s"``.
    seed
        Seed of the positions, and the scenario's seed.

    Returns
    -------
    Scenario
        The scenario.

    Raises
    ------
    InputError
        If an argument or the file is wrong.
    ScenarioError
        If the engine's limits are exceeded, such as that of the cells.
    OSError
        If the file cannot be read.
    """
    plan = Plan(
        rings=rings,
        area_km2=area_km2,
        spacing_m=spacing_m,
        sites=None if sites is None else Path(sites),
        centre=None if centre is None else (centre[0], centre[1]),
        radius_m=radius_m,
        network=network,
        radio=radio,
        sectors=sectors,
        ues=ues,
        hour=hour,
        movement=movement,
        traffic=traffic,
        duration=duration,
        seed=seed,
    )
    return Scenario.from_toml(plan.toml(), "city")
