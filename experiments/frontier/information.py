"""Measures how well a receiver must know the rate, and draws the figure of the page.

::

    python experiments/frontier/information.py docs/img/receiver-frontier.svg

The window is that of the oracle with worse knowledge: a rate of the past, or a rate with an error, with a
measured RTT without a queue. Every control runs in the same scenarios, those of the development sets `SETS`,
with the same seed. Intervals are Wilson's at 95 % over the scenarios.
"""

import argparse
import math
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import draw
import evaluate
import matplotlib.pyplot as plt

from airwnd import style

SETS = (11, 12)
"""Seeds of the sets of scenarios."""
SEED = 1
AGES_MS = (0, 50, 100, 200, 500)
ERRORS = (0.0, 0.1, 0.2, 0.4)
NORMAL = 1.96
"""Quantile of the normal distribution for 95 %."""
MEASURED: dict[str, Any] = {"kind": "oracle", "base": "measured", "jitter": True}
OTHERS: dict[str, Any] = {
    "known rate, known RTT": "oracle",
    "known rate, measured RTT": {"kind": "oracle", "base": "measured"},
    "known rate, known RTT, room for variation": {"kind": "oracle", "jitter": True},
    "measured rate: standing": "standing",
    "rLEDBAT": "rledbat",
}


def interval(passed: int, count: int) -> tuple[float, float]:
    """Return Wilson's interval of a share."""
    share, squared = passed / count, NORMAL**2
    centre = (share + squared / (2 * count)) / (1 + squared / count)
    spread = NORMAL / (1 + squared / count)
    half = spread * math.sqrt(share * (1 - share) / count + squared / (4 * count**2))
    return centre - half, centre + half


def main() -> None:
    """Run all controls, print the table and draw the figure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("figure", type=Path)
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    scenarios = [scenario["settings"] for seed in SETS for scenario in draw.draw(seed)]

    with ProcessPoolExecutor(arguments.jobs) as pool:

        def figures(rwnd: Any) -> list[evaluate.Figures]:
            return list(pool.map(evaluate.run, [(settings, rwnd, SEED) for settings in scenarios]))

        references = [
            figures(rwnd) for rwnd in (None, evaluate.CONTROLS["autotuning"], evaluate.CONTROLS["oracle"])
        ]

        def passed(label: str, rwnd: Any) -> tuple[float, float, float]:
            verdicts = [evaluate.judge(*of) for of in zip(figures(rwnd), *references, strict=True)]
            counts = [sum(column) for column in list(zip(*verdicts, strict=True))[2:]]
            low, high = interval(int(counts[0]), len(scenarios))
            print(
                f"| {label} | {' | '.join(map(str, counts))} | {100 * low:.0f} to {100 * high:.0f} % |",
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
        chart.savefig(arguments.figure, metadata={"Date": None})


if __name__ == "__main__":
    main()
