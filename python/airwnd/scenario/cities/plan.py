"""The plan of a city: what to put where, and the scenario that it makes."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from airwnd.results.engine import duration_ns
from airwnd.scenario.cities import text
from airwnd.scenario.cities.day import BUSIEST, active
from airwnd.scenario.cities.people import APPLICATIONS, MOVEMENTS, Coverage, groups, shares
from airwnd.scenario.cities.sites import Point, Sites, grid, places, read, rings_for
from airwnd.support.errors import InputError
from airwnd.text.quantities import counted

_MAX_SPACING_M = 100_000.0
_DEFAULT_RINGS = 2
# The engine's limits, checked before the work that they bound.
_MAX_UES = 100_000
_MAX_CELLS = 1000


@dataclass(frozen=True, slots=True)
class Plan:
    """Arguments of :func:`airwnd.city`, which documents them."""

    rings: int | None = None
    area_km2: float | None = None
    spacing_m: float = 500.0
    sites: Path | None = None
    centre: Point | None = None
    radius_m: float | None = None
    network: str | None = None
    radio: str | None = None
    sectors: int = 3
    ues: int = 1000
    hour: int = BUSIEST
    movement: Mapping[str, float] | None = None
    traffic: Mapping[str, float] | None = None
    duration: str = "10s"
    seed: int = 1

    def toml(self) -> str:
        """Return the scenario of the city."""
        return self.made()[0]

    def made(self) -> tuple[str, str]:
        """Return the scenario, and the rows of the file that were left out; empty: none was."""
        self._check()
        movement = shares("movement", self.movement, {name: each.share for name, each in MOVEMENTS.items()})
        traffic = shares("traffic", self.traffic, {name: each.share for name, each in APPLICATIONS.items()})
        number, coverage, lines, found = self._network()
        count = active(self.ues, self.hour)
        name = f"city of {counted(number, 'site')}, {counted(count, 'UE')} at {self.hour}:00"
        comment = [
            f"Made by airwnd city. Active UEs: {self.ues:,} in the busiest hour, {BUSIEST}:00; {count:,} at "
            f"{self.hour}:00",
            "(daily traffic profile of EARTH D2.3, 2012).",
        ]
        if found:
            comment += [f"Sites: {found.source}."]
            comment += [f"Left out: {found.left_out}."] if found.left_out else []
        radio = found.radio if found else None
        members = groups(count, movement, traffic)
        parts = (
            text.head(comment, name, self.duration, self.seed, radio),
            lines,
            text.ues(members, coverage, self.seed),
        )
        made = "".join(f"{line}\n" for part in parts for line in part)
        return made, found.left_out if found else ""

    def _check(self) -> None:
        for name, metres in (("spacing", self.spacing_m), ("radius", self.radius_m)):
            if metres is not None and not 1 <= metres <= _MAX_SPACING_M:
                raise InputError(f"{name}: expected 1 to {_MAX_SPACING_M:,.0f} m, found {metres:g}")
        if self.area_km2 is not None and not (math.isfinite(self.area_km2) and self.area_km2 > 0):
            raise InputError(f"area: expected square kilometres above 0, found {self.area_km2:g}")
        for option, value in _selections(self):
            if value is not None and self.sites is None:
                raise InputError(f"{option}: selects from a file of sites; there is none")
        for option, value in (("rings", self.rings), ("area", self.area_km2)):
            if value is not None and self.sites is not None:
                raise InputError(f"{option}: belongs to a grid; the sites are those of {self.sites}")
        if self.rings is not None and self.area_km2 is not None:
            raise InputError("area: rings are given, too; expected one of them")
        if self.centre is not None and not all(map(math.isfinite, self.centre)):
            raise InputError(f"centre: expected finite numbers, found {self.centre[0]:g},{self.centre[1]:g}")
        if (count := active(self.ues, self.hour)) > _MAX_UES:
            raise InputError(f"ues: {count:,} active UEs at {self.hour}:00; at most {_MAX_UES:,} are allowed")
        if self.radio not in (None, "LTE", "NR"):
            raise InputError(f"radio: expected LTE or NR, found {self.radio}")
        duration_ns("duration", self.duration)

    def _network(self) -> tuple[int, Coverage, list[str], Sites | None]:
        """Return the number of sites, their area, their part of the scenario, and the contents of a file."""
        if self.sites is not None:
            found = read(self.sites, self.centre, self.radius_m, self.network, self.radio)
            masts = found.masts
            if (cells := len(masts) * self.sectors) > _MAX_CELLS:
                raise InputError(
                    f"{self.sites}: {counted(len(masts), 'site')} with {counted(self.sectors, 'sector')} "
                    f"each, {cells:,} cells in all; at most {_MAX_CELLS:,} are allowed; a centre and a "
                    "radius select sites"
                )
            coverage = Coverage([(mast.x, mast.y) for mast in masts])
            return len(masts), coverage, list(text.masts(masts, self.sectors)), found
        if self.rings is not None:
            rings = self.rings
        else:
            rings = _DEFAULT_RINGS if self.area_km2 is None else rings_for(self.area_km2, self.spacing_m)
        number = places(rings)
        # The next ring bounds the areas of the outer sites.
        every = grid(rings + 1, self.spacing_m)
        coverage = Coverage(every[:number], every[number:])
        return number, coverage, list(text.hexagons(rings, self.spacing_m, self.sectors)), None


def _selections(plan: Plan) -> Sequence[tuple[str, object]]:
    """Return the arguments that select from a file of sites."""
    return (
        ("centre", plan.centre),
        ("radius", plan.radius_m),
        ("network", plan.network),
        ("radio", plan.radio),
    )
