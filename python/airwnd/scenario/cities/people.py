"""UEs of a city: how they move, what they use, and where they are."""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from airwnd.scenario.cities.sites import Point, neighbours
from airwnd.support.errors import InputError

# TR 36.814 Table A.2.1.1-2: minimum distance between a macro site and a UE.
_MIN_M = 35.0
# Neighbours of a site in a hexagonal grid.
_NEAREST = 6
# A mast without neighbours covers what it would cover in a grid of this spacing.
_LONE_SPACING_M = 500.0
_MAX_ATTEMPTS = 1000


@dataclass(frozen=True, slots=True)
class Movement:
    """A way of moving.

    Attributes
    ----------
    share
        Default share of the UEs.
    speed
        Speed; ``None``: the UE does not move.
    meaning
        Meaning and source, for comments.
    """

    share: float
    speed: str | None
    meaning: str


@dataclass(frozen=True, slots=True)
class Application:
    """A use of the network.

    Attributes
    ----------
    share
        Default share of the UEs.
    traffic
        Traffic model, in TOML.
    arrivals
        Arrival process of the flows, in TOML; ``None``: one flow.
    spread_s
        Time over which the UEs begin.
    meaning
        Meaning and source, for comments.
    """

    share: float
    traffic: str
    arrivals: str | None
    spread_s: float
    meaning: str


# Klepeis et al., The National Human Activity Pattern Survey, 2001, abstract: 87 % of the time in
# buildings, 6 % in vehicles; 7 % remain.
MOVEMENTS: Mapping[str, Movement] = {
    "still": Movement(0.87, None, "in buildings; share: Klepeis et al. 2001"),
    "walking": Movement(
        0.07, "3km/h", "outdoors; share: Klepeis et al. 2001; speed: TR 36.814 Table A.2.1.1-2"
    ),
    "driving": Movement(0.06, "30km/h", "in vehicles; share: Klepeis et al. 2001; speed: ITU-R M.2412"),
}
# NGMN, Radio Access Performance Evaluation Methodology, 2008: 20 % of users browse, 20 % watch video, 10 %
# transfer files, and the others call or play, which is left out.
APPLICATIONS: Mapping[str, Application] = {
    "web": Application(
        0.4, '"web"', None, 30.0, "pages of 3GPP R1-070674; begin over a mean reading time; share: NGMN 2008"
    ),
    "video": Application(
        0.4,
        '{ kind = "ftp", rate = "937.5kbps", chunk = "64KiB" }',
        None,
        0.5,
        "750 kbit/s (ARWA 2019 Table 1) in blocks, 1.25 times as fast (Rao et al. 2011); share: NGMN 2008",
    ),
    "file": Application(
        0.2,
        '{ kind = "transfer", size = { kind = "lognormal", mu = 14.45, sigma = 0.35, max = "5MB" } }',
        '{ kind = "poisson", rate = 0.005556 }',
        0.0,
        "2 MB every 180 s on average (NGMN 2008); share: NGMN 2008",
    ),
    "bulk": Application(0.0, '"bulk"', None, 1.0, "endless downloads"),
}


@dataclass(frozen=True, slots=True)
class Group:
    """UEs that move in the same way and use the same application."""

    movement: str
    application: str
    count: int

    @property
    def name(self) -> str:
        """Name of the group of UEs, and id of its flows."""
        return f"{self.movement}-{self.application}"


def shares(what: str, given: Mapping[str, float] | None, defaults: Mapping[str, float]) -> dict[str, float]:
    """Return shares with the sum 1, in the order of the defaults.

    Examples
    --------
    >>> shares("movement", {"driving": 1, "still": 3}, {"still": 1.0, "driving": 0.0})
    {'still': 0.75, 'driving': 0.25}
    """
    every = defaults if given is None else given
    if unknown := [name for name in every if name not in defaults]:
        raise InputError(f"{what}: unknown {unknown[0]!r}; expected {', '.join(defaults)}")
    for name, share in every.items():
        if not (math.isfinite(share) and share >= 0):
            raise InputError(f"{what}: {name}: expected a share of at least 0, found {share:g}")
    total = math.fsum(every.values())
    if not total > 0:
        raise InputError(f"{what}: no share is above 0")
    return {name: every.get(name, 0.0) / total for name in defaults}


def groups(ues: int, movements: Mapping[str, float], applications: Mapping[str, float]) -> list[Group]:
    """Divide UEs among the combinations by largest remainders, so that their sum is exact.

    Examples
    --------
    >>> [each.count for each in groups(10, {"still": 0.75, "driving": 0.25}, {"web": 0.5, "bulk": 0.5})]
    [4, 4, 1, 1]
    """
    pairs = [
        (one, other, ues * movements[one] * applications[other])
        for one in movements
        for other in applications
    ]
    counts = [int(exact) for _, _, exact in pairs]
    order = sorted(range(len(pairs)), key=lambda index: (counts[index] - pairs[index][2], index))
    for index in order[: ues - sum(counts)]:
        counts[index] += 1
    return [Group(one, other, count) for (one, other, _), count in zip(pairs, counts, strict=True) if count]


class Coverage:
    """The area of a city: for each mast the points that are nearer to it than to any other, within its reach.

    Parameters
    ----------
    masts
        Masts around which UEs are placed.
    beyond
        Further positions that bound the outer masts' areas, such as the next ring of a grid.
    """

    def __init__(self, masts: Sequence[Point], beyond: Sequence[Point] = ()) -> None:
        every = [*masts, *beyond]
        self._masts = masts
        self._reach = [_reach(every, index) for index in range(len(masts))]
        self._near = [list(neighbours(every, index, self._reach[index])) for index in range(len(masts))]

    @property
    def box(self) -> tuple[Point, Point]:
        """Western and eastern, southern and northern edge."""
        pairs = list(zip(self._masts, self._reach, strict=True))
        west, east = min(x - reach for (x, _), reach in pairs), max(x + reach for (x, _), reach in pairs)
        south, north = min(y - reach for (_, y), reach in pairs), max(y + reach for (_, y), reach in pairs)
        return (west, east), (south, north)

    def points(self, number: int, seed: str) -> list[Point]:
        """Return random points, uniform around each mast, with as many around each on average.

        Operators put masts where people are. The points of a smaller count begin those of a larger one.
        """
        # `random()` is the one method with a guarantee of the same numbers in later versions of Python.
        draw = random.Random(seed).random  # noqa: S311
        found = []
        for _ in range(number):
            mast = min(int(draw() * len(self._masts)), len(self._masts) - 1)
            found.append(self._point(mast, draw))
        return found

    def _point(self, mast: int, draw: Callable[[], float]) -> Point:
        """Return a point of a mast's area; for a mast that others surround closely, a point near it."""
        point = self._masts[mast]
        for _ in range(_MAX_ATTEMPTS):
            point, apart_2 = self._around(mast, draw)
            if all((point[0] - x) ** 2 + (point[1] - y) ** 2 >= apart_2 for x, y in self._near[mast]):
                break
        return point

    def _around(self, mast: int, draw: Callable[[], float]) -> tuple[Point, float]:
        """Return a uniform point within reach of a mast, and the square of its distance."""
        (x, y), reach = self._masts[mast], self._reach[mast]
        while True:
            east, north = (2 * draw() - 1) * reach, (2 * draw() - 1) * reach
            apart_2 = east * east + north * north
            if _MIN_M**2 <= apart_2 <= reach * reach:
                return (x + east, y + north), apart_2


def _reach(masts: Sequence[Point], index: int) -> float:
    """Return the distance to the corner of a hexagon, if the nearest masts were those of a grid."""
    x, y = masts[index]
    apart = sorted(math.hypot(a - x, b - y) for other, (a, b) in enumerate(masts) if other != index)[
        :_NEAREST
    ]
    spacing = math.fsum(apart) / len(apart) if apart else _LONE_SPACING_M
    # Also masts that share a roof leave room outside the minimum distance.
    return max(spacing / math.sqrt(3), 2 * _MIN_M)
