"""Train the policy of `learned.py` by the cross-entropy method, and write it to `policy.json`."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from airwnd.study.environment import Environment

GENERATIONS = 30
CANDIDATES = 24
ELITE = 6
SEEDS = range(100, 104)
RADII = ("250m", "700m")
COUNTS = (1, 4)


def cell(count, radius):
    """Return the environment of a cell with this many downloads within this distance."""
    scenario = {
        "name": "training",
        "duration": "10s",
        "radio": {"fading": "epa"},
        "site": [{}],
        "ue": [{"count": count, "placement": {"kind": "disc", "radius": radius}}],
        "flow": [{"id": "download"}],
    }
    return Environment(scenario, "sender", step_s=0.1)


def score(policy, seed):
    """Return the mean reward of a policy, over all training cells."""
    total = steps = 0
    for count in COUNTS:
        for radius in RADII:
            env = cell(count, radius)
            observation, _ = env.reset(options={"seed": seed})
            is_over = False
            while not is_over:
                action = np.tanh(observation @ policy[:-1] + policy[-1])
                observation, reward, _, is_over, _ = env.step(action)
                total, steps = total + reward, steps + 1
    return total / steps


def main():
    """Sample policies around the mean of the best ones of the generation before."""
    rng = np.random.default_rng(1)
    mean, deviation = np.zeros(6), np.full(6, 2.0)
    with ThreadPoolExecutor() as pool:
        for generation in range(GENERATIONS):
            policies = rng.normal(mean, deviation, (CANDIDATES, 6))
            # The same seeds for all policies of a generation; others in the next one.
            seed = SEEDS[generation % len(SEEDS)]
            scores = list(pool.map(score, policies, [seed] * CANDIDATES))
            elite = policies[np.argsort(scores)[-ELITE:]]
            mean, deviation = elite.mean(axis=0), elite.std(axis=0) + 0.5 / (generation + 1)
            elite_mean = np.sort(scores)[-ELITE:].mean()
            print(f"{generation + 1:2}  best {max(scores):.3f}  elite's mean {elite_mean:.3f}")
    Path(__file__).with_name("policy.json").write_text(json.dumps(mean.round(4).tolist()) + "\n")


if __name__ == "__main__":
    main()
