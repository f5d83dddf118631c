"""Trains the weights of the learned policy by the cross-entropy method, on scenarios that no other run uses.

::

    python experiments/frontier/prototypes/learned.py --generations 8

Requires airwnd with ``standing.patch``. Prints the mean weights after each generation.
"""

import argparse
import math
import random
import statistics
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import draw
import evaluate

SETS = (21, 22)
FEATURES = 6
POPULATION = 8
ELITE = 3
SCENARIOS = 16
"""Scenarios of a generation, the same for each candidate."""


def score(own: evaluate.Figures, *references: evaluate.Figures) -> float:
    """Return a smooth degree to which the criterion is fulfilled, between 0 and 1."""
    verdict = evaluate.judge(own, *references)
    goodput = math.log(max(verdict.goodput, 1e-3) / 0.9) / 0.05
    delay = math.log(1.5 / max(verdict.delay, 1e-3)) / 0.15
    return 1.0 / ((1.0 + math.exp(-max(goodput, -50.0))) * (1.0 + math.exp(-max(delay, -50.0))))


def main() -> None:
    """Train, and print one line per generation."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--generations", type=int, default=8)
    generations = parser.parse_args().generations
    generator = random.Random("airwnd frontier learned")
    scenarios = [scenario["settings"] for seed in SETS for scenario in draw.draw(seed)]
    known: dict[int, list[evaluate.Figures]] = {}
    means, deviations = [0.0] * FEATURES, [0.3] * FEATURES
    for generation in range(generations):
        chosen = generator.sample(range(len(scenarios)), SCENARIOS)
        for number in chosen:
            if number not in known:
                plain = (None, evaluate.CONTROLS["autotuning"], evaluate.CONTROLS["oracle"])
                known[number] = [evaluate.run((scenarios[number], rwnd, 1)) for rwnd in plain]

        def value(weights: list[float], chosen: list[int] = chosen) -> float:
            rwnd: dict[str, Any] = {"kind": "standing", "weights": weights}
            runs = [evaluate.run((scenarios[number], rwnd, 1)) for number in chosen]
            return statistics.fmean(
                score(own, *known[number]) for own, number in zip(runs, chosen, strict=True)
            )

        drawn = [
            [round(generator.gauss(*each), 3) for each in zip(means, deviations, strict=True)]
            for _ in range(POPULATION - 1)
        ]
        ranked = sorted(((value(weights), weights) for weights in [[0.0] * FEATURES, *drawn]), reverse=True)
        best = list(zip(*(weights for _, weights in ranked[:ELITE]), strict=True))
        # Half of the way, so that three candidates of a noisy ranking do not end the search.
        means = [0.5 * mean + 0.5 * statistics.fmean(each) for mean, each in zip(means, best, strict=True)]
        deviations = [
            max(0.5 * old + 0.5 * statistics.stdev(each), 0.03)
            for old, each in zip(deviations, best, strict=True)
        ]
        zero = next(found for found, weights in ranked if not any(weights))
        print(generation, f"{ranked[0][0]:.3f} {zero:.3f}", [round(mean, 3) for mean in means], flush=True)


if __name__ == "__main__":
    main()
