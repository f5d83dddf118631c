"""Shows why A11 and A12 fail at 20 UEs, placement by placement, and draws the figure of the page.

::

    python experiments/arwa-2019/table6/causes.py docs/img/arwa-twenty-ues.svg

Left: ARWA's reduction of autotuning's delay over autotuning's delay, in the three cells of the table. Right:
packets lost with ARWA in the disc, with and without the errors of control channels. Each point is one seed,
and each seed has its own placement of the UEs.
"""

import argparse
from pathlib import Path
from typing import Any

from airwnd import Scenario
from airwnd.plots import style

CELLS: dict[str, dict[str, Any]] = {
    "sector of 500 m": {"kind": "sector", "radius": "500m", "width": "120deg"},
    "sector of 650 m": {"kind": "sector", "radius": "650m", "width": "120deg"},
    "disc of 500 m": {"kind": "disc", "radius": "500m"},
}
PAPER_MS = (32.90, 8.95)
"""Delay of autotuning and of ARWA with 20 UEs in the paper's Table 6."""
TICKS_MS = (5, 10, 20, 50, 100, 200, 400)
REQUIRED = (57.8, 87.8)
"""Range of the reduction in per cent that claim A11 requires."""
REQUIRED_LOSS = 0.12
"""Loss in per cent that claim A12 allows: a PDF of 99.88 %."""


def totals(scenario: Scenario, seeds: int, jobs: int, **changes: Any) -> list[dict[str, float]]:
    """Run 20 UEs and return the totals of each seed."""
    changed = scenario.with_({"ue[0].count": 20, "flow[0].stagger": "1ms", **changes})
    return [run.outcome["totals"] for run in changed.run_many(range(1, seeds + 1), jobs)]


def main() -> None:
    """Run, print the numbers and draw the figure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("figure", type=Path)
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    scenario = Scenario.load(Path(__file__).with_name("scenario.toml"))

    def run(**changes: Any) -> list[dict[str, float]]:
        return totals(scenario, arguments.seeds, arguments.jobs, **changes)

    delays = {
        name: [
            [each["delay_ms_mean"] for each in run(**{"ue[0].placement": cell, "flow[0].rwnd": rwnd})]
            for rwnd in ("autotuning", "arwa")
        ]
        for name, cell in CELLS.items()
    }
    lossy = {"ue[0].placement": CELLS["disc of 500 m"], "flow[0].rwnd": "arwa"}
    losses = [
        [100.0 - each["pdf_percent"] for each in run(**lossy, **{"radio.control_errors": errors})]
        for errors in (True, False)
    ]
    for name, (before, after) in delays.items():
        print(name, *(f"{a:.1f} to {b:.1f}" for a, b in zip(before, after, strict=True)), sep="; ")
    print("loss in %", *(f"{a:.3f} and {b:.3f}" for a, b in zip(*losses, strict=True)), sep="; ")

    with style.styled():
        figure = style.new_figure((7.16, 3.0))
        left, right = figure.subplots(1, 2, width_ratios=[3, 2])
        left.axhspan(*REQUIRED, color="0.5", alpha=0.15, linewidth=0, label="required by A11")
        for index, (name, (before, after)) in enumerate(delays.items()):
            reduction = [100 * (1 - a / b) for b, a in zip(before, after, strict=True)]
            point = style.point(index)
            left.plot(before, reduction, point.marker, color=point.colour, label=name, linestyle="none")
        paper = 100 * (1 - PAPER_MS[1] / PAPER_MS[0])
        left.plot(
            PAPER_MS[:1],
            [paper],
            "*",
            color="#000000",
            markersize=12,
            markerfacecolor="none",
            label="the paper",
            linestyle="none",
        )
        left.set_xscale("log")
        left.set_xticks(TICKS_MS, [str(each) for each in TICKS_MS])
        left.minorticks_off()
        left.set_xlabel("Autotuning's mean delay (ms)")
        left.set_ylabel("Reduction by ARWA (%)")
        left.set_ylim(-8, 100)
        left.legend(loc="lower right")
        for with_errors, without in zip(*losses, strict=True):
            right.plot([0, 1], [with_errors, without], color="0.6", linewidth=0.8)
        for index, values in enumerate(losses):
            point = style.point(index)
            right.plot([index] * len(values), values, point.marker, color=point.colour, linestyle="none")
        right.axhline(REQUIRED_LOSS, color="0.5", linestyle="--")
        right.annotate("allowed by A12", (-0.37, REQUIRED_LOSS), xytext=(0, 3), textcoords="offset points")
        right.set_xticks([0, 1], ["with errors of\ncontrol channels", "without"])
        right.set_xlim(-0.4, 1.4)
        right.set_ylim(0, None)
        right.set_ylabel("Packets lost with ARWA, disc (%)")
        figure.savefig(arguments.figure, metadata={"Date": None})


if __name__ == "__main__":
    main()
