"""Sites of a run for the map: positions, and directions of the cells."""

import math
from collections.abc import Mapping, Sequence
from typing import Any


def sites(scenario: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the position of each site in metres, and the directions of its cells.

    Directions are in degrees, anticlockwise from east. Cells are numbered as in the engine, site by site and
    sector by sector. The list is empty for a scenario without sites.

    Examples
    --------
    >>> sites({"site": [{"position": ["0m", "1.5km"], "sectors": 2, "azimuth": "90deg"}]})
    [{'x': 0.0, 'y': 1500.0, 'cells': [{'cell': 0, 'degrees': 90.0}, {'cell': 1, 'degrees': 270.0}]}]
    """
    found: list[dict[str, Any]] = []
    cell = 0
    for site in scenario.get("site", ()):
        x, y = _metres(site["position"])
        count = site["sectors"]
        first = float(site["azimuth"].removesuffix("deg"))
        for east, north in _grid(site.get("rings", 0), site.get("spacing", "0m")):
            cells = [
                {"cell": cell + sector, "degrees": (first + 360 * sector / count) % 360}
                for sector in range(count)
            ]
            found.append({"x": x + east, "y": y + north, "cells": cells})
            cell += count
    return found


def _grid(rings: int, spacing: str) -> list[tuple[float, float]]:
    """Return the sites of a hexagonal grid: the centre, then each ring anticlockwise from the east."""
    (apart,) = _metres([spacing])
    corners = [(math.cos(math.radians(60 * side)), math.sin(math.radians(60 * side))) for side in range(7)]
    around = [
        (
            apart * ((ring - step) * corners[side][0] + step * corners[side + 1][0]),
            apart * ((ring - step) * corners[side][1] + step * corners[side + 1][1]),
        )
        for ring in range(1, rings + 1)
        for side in range(6)
        for step in range(ring)
    ]
    return [(0.0, 0.0), *around]


def _metres(lengths: Sequence[str]) -> list[float]:
    return [
        float(text.removesuffix("km")) * 1e3 if text.endswith("km") else float(text.removesuffix("m"))
        for text in lengths
    ]
