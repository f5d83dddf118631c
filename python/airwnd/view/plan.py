"""The map of a run: where the masts stand and the sectors look."""

import math
from collections.abc import Mapping, Sequence
from typing import Any


def sites(scenario: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return each site's place in metres, and the directions in degrees, anticlockwise from east, of its cells.

    Cells are numbered as the engine does, sector by sector and mast by mast. Links alone have none.

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
    """Return the masts of a hexagonal grid: the centre, and ring by ring from the east anticlockwise."""
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
