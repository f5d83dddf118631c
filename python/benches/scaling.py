"""Cost and memory of a simulated second against UEs, cells, bandwidth, flows and threads: a table, a picture.

Run with ``make bench-scaling``, which writes ``experiments/performance/scaling.csv`` and
``docs/img/scaling.svg``. A point is the time of a run minus that of its first half, for the other half of the
simulated time, so that the time to build the network does not count. It is processor time, and wall-clock
time where threads vary. Memory is the peak of the run.
"""

import argparse
import csv
import math
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from processes import Finished, finished

from airwnd.plots import style

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "experiments/performance/scaling.csv"
PICTURE = ROOT / "docs/img/scaling.svg"
COLUMNS = ("axis", "mode", "x", "seconds", "cpu_s_per_s", "wall_s_per_s", "memory_mb")
FEW_UES = 3
"""UEs per cell while cells vary."""
UES = (3, 10, 30, 100, 300)
RINGS = (0, 1, 2, 3, 5, 10)
EXACT_RINGS = 2
"""Largest network that is also simulated with interference from all cells."""
BANDWIDTHS = {"1.4MHz": 1.4, "3MHz": 3, "5MHz": 5, "10MHz": 10, "15MHz": 15, "20MHz": 20}
FLOWS = (1, 3, 10, 30)
THREADS_RINGS = {"57 cells": 2}
"""Networks that several threads advance."""
TITLES = {
    "ues": "UEs in 3 cells",
    "cells": "Cells with 3 UEs",
    "bandwidth": "Bandwidth (MHz)",
    "flows": "Flows per UE",
    "threads": "Threads, 57 cells,\nwall-clock time",
}
LINEAR = ("bandwidth", "threads")
COLOURS = {"all cells": "#0072b2", "neighbours": "#d55e00", "57 cells": "#009e73"}
"""Colours of Okabe and Ito."""


@dataclass(frozen=True)
class Point:
    """A scenario of one axis.

    Attributes
    ----------
    axis
        Quantity that varies.
    mode
        Interference from ``all cells``, or from ``neighbours``; against threads, the network.
    x
        Its value.
    scenario
        The scenario in TOML, without duration.
    seconds
        Simulated seconds.
    threads
        Number of threads.
    """

    axis: str
    mode: str
    x: float
    scenario: str
    seconds: float
    threads: int = 1


def scenario(rings: int = 0, ues: int = 30, bandwidth: str = "10MHz", flows: int = 1, mode: str = "") -> str:
    """Return a network of three-sector sites 500 m apart, all of whose UEs download over fading channels."""
    threshold = {"all cells": "radio.neighbour_threshold = 0\n", "neighbours": "", "": ""}[mode]
    return (
        f'warmup = "2s"\ncarrier.bandwidth = "{bandwidth}"\n{threshold}'
        f'[[site]]\nrings = {rings}\nsectors = 3\nspacing = "500m"\nazimuth = "30deg"\npower = "46dBm"\n'
        'antenna = {kind = "parabolic", beamwidth = "70deg", max_gain = "14dB"}\n'
        f'[[ue]]\ncount = {ues}\nplacement = {{kind = "disc", radius = "{300 + 500 * rings}m"}}\n'
        f"[[flow]]\ncount = {flows}\n"
    )


def points() -> Iterator[Point]:
    """Yield the points of all axes."""
    for ues in UES:
        yield Point("ues", "all cells", ues, scenario(ues=ues), 4)
    for rings in RINGS:
        cells = 3 * (1 + 3 * rings * (rings + 1))
        for mode in ("all cells", "neighbours"):
            # Up to 48 cells all are neighbours.
            if rings <= (EXACT_RINGS if mode == "all cells" else RINGS[-1]) and (
                rings > 1 or mode == "all cells"
            ):
                network = scenario(rings, FEW_UES * cells, mode=mode)
                yield Point("cells", mode, cells, network, 2)
    for bandwidth, megahertz in BANDWIDTHS.items():
        yield Point("bandwidth", "all cells", megahertz, scenario(bandwidth=bandwidth), 4)
    for flows in FLOWS:
        yield Point("flows", "all cells", flows, scenario(flows=flows), 4)
    for name, rings in THREADS_RINGS.items():
        network = scenario(rings, FEW_UES * 3 * (1 + 3 * rings * (rings + 1)))
        for threads in range(1, (os.cpu_count() or 1) + 1):
            yield Point("threads", name, threads, network, 2, threads)


def run(program: Path, file: Path, seconds: float, threads: int) -> Finished:
    """Run a scenario for this simulated time."""
    command = [str(program), str(file), f"duration={round(seconds * 1000)}ms"]
    return finished(command, {"AIRWND_THREADS": str(threads)})


def measure(program: Path, point: Point, folder: Path) -> dict[str, str]:
    """Return a row of the table."""
    file = folder / "scenario.toml"
    file.write_text(point.scenario, encoding="utf-8")
    half, whole = (run(program, file, share * point.seconds, point.threads) for share in (0.5, 1))
    cost, wall = (
        (late - early) / (0.5 * point.seconds)
        for early, late in ((half.cpu_s, whole.cpu_s), (half.wall_s, whole.wall_s))
    )
    figures = (f"{cost:.4g}", f"{wall:.4g}", f"{whole.megabytes:.0f}")
    row = (point.axis, point.mode, f"{point.x:g}", f"{point.seconds:g}", *figures)
    return dict(zip(COLUMNS, row, strict=True))


def draw(rows: list[dict[str, str]]) -> None:
    """Draw cost and memory along each axis."""
    figure = style.new_figure((style.WIDTHS["page"], 4.0))
    axes = figure.subplots(2, len(TITLES), sharex="col", sharey="row")
    for column, (axis, title) in enumerate(TITLES.items()):
        for line, (name, label) in enumerate(
            (("cpu_s_per_s", "CPU s per simulated s"), ("memory_mb", "Peak memory (MB)"))
        ):
            part = axes[line][column]
            for mode, colour in COLOURS.items():
                value = "wall_s_per_s" if axis == "threads" and line == 0 else name
                values = [
                    (float(row["x"]), float(row[value]))
                    for row in rows
                    if (row["axis"], row["mode"]) == (axis, mode)
                ]
                if values:
                    part.plot(*zip(*values, strict=True), marker="o", markersize=3, color=colour, label=mode)
            part.set(xscale="linear" if axis in LINEAR else "log", yscale="log")
            for each in (part.xaxis, part.yaxis):
                each.set_major_formatter("{x:g}")
            if column == 0:
                part.set_ylabel(label)
            if axis == "threads":
                part.set_xticks(sorted({float(row["x"]) for row in rows if row["axis"] == axis}))
        axes[1][column].set_xlabel(title)
    handles, modes = axes[0][1].get_legend_handles_labels()
    names = [f"interference from {mode}" for mode in modes]
    figure.legend(handles, names, loc="outside upper center", ncols=len(names))
    figure.savefig(PICTURE, metadata={"Date": None, "Title": "cost and memory of a simulated second"})


def exponent(rows: list[dict[str, str]]) -> float:
    """Return the exponent of a power law fitted to the cost against cells, with the default interference."""
    default = {
        row["x"]: row
        for mode in ("all cells", "neighbours")
        for row in rows
        if (row["axis"], row["mode"]) == ("cells", mode)
    }
    x = [math.log(float(row["x"])) for row in default.values()]
    y = [math.log(float(row["cpu_s_per_s"])) for row in default.values()]
    return statistics.linear_regression(x, y).slope


def main() -> None:
    """Measure all points, and print, store and draw them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--airwnd", type=Path, help="the example `run` of airwnd-lab; without it, draw the stored table"
    )
    parser.add_argument("--axis", choices=TITLES, help="measure this axis only, and keep the others")
    given = parser.parse_args()
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    if given.airwnd:
        axes = [given.axis] if given.axis else list(TITLES)
        rows = [row for row in rows if row["axis"] not in axes]
        with tempfile.TemporaryDirectory() as folder:
            for point in points():
                if point.axis in axes:
                    rows.append(measure(given.airwnd, point, Path(folder)))
                    print(*rows[-1].values(), sep="  ", file=sys.stderr, flush=True)
        with TABLE.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    with style.styled(salt="scaling"):
        draw(rows)
    print(f"cost grows with cells to the power of {exponent(rows):.2f}")


if __name__ == "__main__":
    main()
