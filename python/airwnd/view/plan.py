"""The map of a run: where the masts stand and the sectors look."""

from collections.abc import Mapping, Sequence
from typing import Any


def sites(scenario: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Give each site's place in metres, and the directions in degrees, anticlockwise from east, of its cells.

    Cells are numbered as the engine does, sector by sector and site by site. Links alone have none.

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
        cells = [
            {"cell": cell + sector, "degrees": (first + 360 * sector / count) % 360}
            for sector in range(count)
        ]
        found.append({"x": x, "y": y, "cells": cells})
        cell += count
    return found


def _metres(position: Sequence[str]) -> tuple[float, float]:
    x, y = (
        float(text.removesuffix("km")) * 1e3 if text.endswith("km") else float(text.removesuffix("m"))
        for text in position
    )
    return x, y
