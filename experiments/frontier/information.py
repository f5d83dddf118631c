"""Measures how well a receiver must know the rate, and draws the figure of the page.

::

    python experiments/frontier/information.py docs/img/receiver-frontier.svg

The window is that of the oracle with worse knowledge: a rate of the past, or a rate with an error, with a
measured RTT without a queue; one that is too large or too small; or that of `standing` with the factor that
makes its mean that of the oracle's. Every control runs in the same scenarios, those of the development sets
`SETS`, with the same seeds. A scenario is judged by its means over the seeds, and by each seed alone;
intervals are Wilson's at 95 % over the scenarios.
"""

import argparse
import math
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import draw
import evaluate
import matplotlib.pyplot as plt

from airwnd.plots import style

SETS = (11, 12, 13, 14)
"""Seeds of the sets of scenarios."""
AGES_MS = (0, 50, 100, 200, 500)
ERRORS = (0.0, 0.1, 0.2, 0.4)
SCALES = (0.8, 0.9, 1.1, 1.25)
"""Factors of the oracle's window."""
CALIBRATIONS = {"1 s": "1s", "5 s": "5s", "the whole run": "1000s"}
"""Times over which the mean of the oracle's window is known to `standing`."""
NORMAL = 1.96
"""Quantile of the normal distribution for 95 %."""
MEASURED: dict[str, Any] = {"kind": "oracle", "base": "measured", "jitter": True}
OTHERS: dict[str, Any] = (
    {
        "known rate, known RTT": "oracle",
        "known rate, measured RTT": {"kind": "oracle", "base": "measured"},
        "known rate, known RTT, room for variation": {"kind": "oracle", "jitter": True},
        "measured rate: standing": "standing",
        "measured rate: standing without probes": {"kind": "standing", "probe_interval": "none"},
        "rLEDBAT": "rledbat",
    }
    | {f"window of the oracle, {scale} times": {"kind": "oracle", "scale": scale} for scale in SCALES}
    | {
        f"standing with the mean window of the oracle over {name}": {
            "kind": "standing",
            "probe_interval": "none",
            "calibration": time,
        }
        for name, time in CALIBRATIONS.items()
    }
)


def interval(passed: int, count: int) -> tuple[float, float]:
    """Return Wilson's interval of a share."""
    share, squared = passed / count, NORMAL**2
    centre = (share + squared / (2 * count)) / (1 + squared / count)
    spread = NORMAL / (1 + squared / count)
    half = spread * math.sqrt(share * (1 - share) / count + squared / (4 * count**2))
    return centre - half, centre + half


Share = tuple[float, float, float]
"""Percentage of scenarios that pass, and its interval."""


def plot(path: Path, ages: list[Share], standing: Share, errors: list[Share]) -> None:
    """Draw the shares against age and error of the known rate."""
    with style.styled():
        chart, panels = plt.subplots(1, 2, figsize=(7, 2.8), sharey=True, layout="constrained")
        for panel, x, values, label in (
            (panels[0], AGES_MS, ages, "Age of the known rate (ms)"),
            (panels[1], ERRORS, errors, "Standard deviation of ln(known rate / rate)"),
        ):
            middle, low, high = zip(*values, strict=True)
            below = [m - v for m, v in zip(middle, low, strict=True)]
            above = [v - m for m, v in zip(middle, high, strict=True)]
            panel.errorbar(x, middle, yerr=[below, above], marker="o", capsize=3, label="known rate")
            panel.axhline(standing[0], color="tab:orange", linestyle="--", label="measured rate (standing)")
            panel.set_xlabel(label)
        panels[0].set_ylabel("Scenarios that pass (%)")
        panels[0].set_ylim(0, 100)
        panels[1].legend()
        chart.savefig(path, metadata={"Date": None})


def main() -> None:
    """Run all controls, print the table and draw the figure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("figure", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    seeds = range(1, arguments.seeds + 1)
    scenarios = [scenario["settings"] for seed in SETS for scenario in draw.draw(seed)]

    with ProcessPoolExecutor(arguments.jobs) as pool:

        def figures(rwnd: Any) -> list[list[evaluate.Figures]]:
            """Run all scenarios with a control: one list for each seed."""
            return [
                list(pool.map(evaluate.run, [(settings, rwnd, seed) for settings in scenarios]))
                for seed in seeds
            ]

        references = [
            figures(rwnd) for rwnd in (None, evaluate.CONTROLS["autotuning"], evaluate.CONTROLS["oracle"])
        ]

        def judge(runs: list[list[evaluate.Figures]], part: slice) -> list[evaluate.Verdict]:
            means = [map(evaluate.over_seeds, zip(*of[part], strict=True)) for of in (runs, *references)]
            return [evaluate.judge(*of) for of in zip(*means, strict=True)]

        def passed(label: str, rwnd: Any) -> Share:
            runs = figures(rwnd)
            counts = [sum(column) for column in list(zip(*judge(runs, slice(None)), strict=True))[2:]]
            alone = [
                sum(verdict.passes for verdict in judge(runs, slice(at, at + 1))) for at in range(len(seeds))
            ]
            low, high = interval(int(counts[0]), len(scenarios))
            print(
                f"| {label} | {' | '.join(map(str, counts))} | {100 * low:.0f} to {100 * high:.0f} % |",
                f"{', '.join(map(str, alone))} |",
                flush=True,
            )
            return 100 * counts[0] / len(scenarios), 100 * low, 100 * high

        ages = [passed(f"rate of {age} ms ago", {**MEASURED, "age": f"{age}ms"}) for age in AGES_MS]
        standing = passed(next(name for name in OTHERS if "standing" in name), "standing")
        errors = [passed(f"error {error}", {**MEASURED, "error": error}) for error in ERRORS if error]
        errors.insert(0, ages[0])
        for label, rwnd in OTHERS.items():
            if rwnd != "standing":
                passed(label, rwnd)
    plot(arguments.figure, ages, standing, errors)


if __name__ == "__main__":
    main()
