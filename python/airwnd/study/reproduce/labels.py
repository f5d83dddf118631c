"""Placement of point labels that cover neither points nor each other."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

_DISTANCES = (1.0, 1.6, 2.4, 3.4, 4.6, 6.0, 7.6)
"""Distances from a point to its label, in heights of the label, in the order of trial."""

_DIRECTIONS = (0, 180, 90, 270, 30, 330, 150, 210, 60, 300, 120, 240)
"""Directions in degrees, anticlockwise from the right, in the order of trial."""

_LED = 2.0
"""Distance, in heights of the label, from which a line connects a label to its point."""


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle; y grows upwards."""

    left: float
    bottom: float
    right: float
    top: float

    @classmethod
    def around(cls, x: float, y: float, width: float, height: float) -> Self:
        """Create a box from its centre."""
        return cls(x - width / 2, y - height / 2, x + width / 2, y + height / 2)

    def overlap(self, other: "Box") -> float:
        """Return the area of the intersection."""
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.top, other.top) - max(self.bottom, other.bottom)
        return max(width, 0.0) * max(height, 0.0)

    def distance(self, point: tuple[float, float]) -> float:
        """Return the distance of a point outside the box; 0: the point is inside."""
        x, y = point
        return math.hypot(max(self.left - x, 0.0, x - self.right), max(self.bottom - y, 0.0, y - self.top))

    @property
    def area(self) -> float:
        """Width times height."""
        return (self.right - self.left) * (self.top - self.bottom)


@dataclass(frozen=True, slots=True)
class Place:
    """Centre of a label; `led`: it is so far from its point that a line connects them."""

    x: float
    y: float
    led: bool


def place(
    points: Sequence[tuple[float, float]],
    sizes: Sequence[tuple[float, float]],
    inside: Box,
    marker: float,
    avoid: Sequence[Box] = (),
) -> list[Place]:
    """Place a label of each size next to its point, all in the same unit, such as pixels.

    Labels are placed one by one, those with the most neighbours first. Each takes the nearest free place that
    is not closer to another point. If there is none, the criteria are, in this order: minimum overlap with
    points and labels, its own point is the closest, minimum overlap with `avoid`.

    Parameters
    ----------
    points, sizes
        Points, and width and height of each label.
    inside
        Area for labels.
    marker
        Width and height of a point's marker.
    avoid
        Other areas to leave free, such as lines.
    """
    markers = [Box.around(x, y, marker, marker) for x, y in points]
    taken = list(markers)
    places: dict[int, Place] = {}
    for index in sorted(range(len(points)), key=lambda i: (-_neighbours(points, i, sizes[i]), i)):
        places[index], box = _best(points[index], points, sizes[index], (inside, marker), (taken, avoid))
        taken.append(box)
    return [places[index] for index in range(len(points))]


def _neighbours(points: Sequence[tuple[float, float]], index: int, size: tuple[float, float]) -> int:
    return sum(math.dist(points[index], other) < max(size) for other in points) - 1


def _best(
    point: tuple[float, float],
    points: Sequence[tuple[float, float]],
    size: tuple[float, float],
    limits: tuple[Box, float],
    others: tuple[Sequence[Box], Sequence[Box]],
) -> tuple[Place, Box]:
    inside, marker = limits
    taken, avoid = others
    best: tuple[tuple[float, bool, float], Place, Box] | None = None
    width, height = size
    for distance in _DISTANCES:
        for direction in _DIRECTIONS:
            right, up = math.cos(math.radians(direction)), math.sin(math.radians(direction))
            gap = marker / 2 + (distance - 1) * height
            x = point[0] + right * (gap + width / 2 + height / 4)
            y = point[1] + up * (gap + height / 2)
            box = Box.around(x, y, width, height)
            covered = sum(box.overlap(other) for other in taken) + 4 * (box.area - box.overlap(inside))
            misleading = any(box.distance(other) < box.distance(point) for other in points)
            badness = covered, misleading, sum(box.overlap(stroke) for stroke in avoid)
            if best is None or badness < best[0]:
                best = badness, Place(x, y, distance > _LED), box
        if best and best[0] <= (0, False, 0):
            break
    if best is None:
        raise AssertionError("there are distances and directions")
    return best[1], best[2]
