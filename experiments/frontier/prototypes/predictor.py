"""Measures whether a larger estimator finds more in what a receiver sees than `standing` does.

::

    python experiments/frontier/prototypes/predictor.py out/predictor --jobs 2

Requires airwnd with ``predictor.patch``, and scikit-learn. `standing` without probes records what it sees,
and the oracle's rate, in 240 scenarios that no other run uses. Gradient-boosted trees and a neural network
learn the oracle's rate at the same time and in the future from that, and predict it in the 160 scenarios of
the development sets. Then `standing` runs in these with the rate of the trees: trained on the records of
`standing`, and also on those of the first trees, whose windows lead to other arrivals.
"""

import argparse
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import draw
import evaluate
import information
import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

TRAINING = (31, 32, 33, 34, 35, 36)
"""Seeds of the sets on which predictors are trained."""
RULE: dict[str, Any] = {"kind": "standing", "probe_interval": "none"}
HEAD, FEATURES, STEPS = 6, 84, 100
"""Columns of a record.

The first ones are time, rate, RTT without a queue, and the rate, growth and RTT of `standing`; then features,
and a sequence.
"""
AHEAD_S = 0.5
SAMPLES = (400, 100)
"""Samples of the first connection of a run, and of each other one."""
MOST = 2.0
"""Limit of a logarithm of the rate over `standing`'s."""
SEQUENCES = 60_000
"""Samples on which the neural network is trained."""

Floats = NDArray[np.float64]
Names = tuple[int, int]


def record(job: tuple[Path, Names, dict[str, Any], Path | None]) -> None:
    """Run a scenario and keep samples of what its first connections have seen."""
    folder, (seed, number), settings, model = job
    raw = folder / f"raw-{seed}-{number}"
    os.environ["AIRWND_RECORD"] = str(raw)
    if model:
        os.environ["AIRWND_MODEL"] = str(model)
    evaluate.run((settings, RULE, 1))
    generator = np.random.default_rng(seed * 100 + number)
    samples: list[Floats] = []
    for path in sorted(folder.glob(f"{raw.name}.*"), key=lambda path: int(path.suffix[1:])):
        rows = np.fromfile(path, dtype="<f4").reshape(-1, HEAD + FEATURES + STEPS).astype(float)
        path.unlink()
        if len(rows) < 20 or rows[-1, 0] - rows[0, 0] < 3 * AHEAD_S:
            continue
        usable = np.flatnonzero((rows[:, 0] < rows[-1, 0] - AHEAD_S) & (rows[:, 1] > 0))
        most = SAMPLES[min(len(samples), 1)]
        chosen = np.sort(generator.choice(usable, min(most, len(usable)), replace=False))
        targets = [rows[:, 1], mean_rate(rows, np.maximum(rows[:, 5], 0.01)), mean_rate(rows, AHEAD_S)]
        samples.append(np.column_stack([np.full(len(rows), len(samples)), *targets, rows])[chosen])
    if samples:
        np.save(folder / f"{seed}-{number}.npy", np.concatenate(samples))


def mean_rate(rows: Floats, ahead_s: Floats | float) -> Floats:
    """Return the mean rate from each row on."""
    time, rate = rows[:, 0], rows[:, 1]
    carried = np.concatenate([[0], np.cumsum(rate[:-1] * np.diff(time))])
    end = np.minimum(time + ahead_s, time[-1])
    last = np.searchsorted(time, end, side="right") - 1
    span = np.maximum(end - time, 1e-6)
    mean: Floats = (carried[last] + rate[last] * (end - time[last]) - carried) / span
    return np.where(span > 1e-5, mean, rate)


def number_of(path: Path) -> int:
    """Return a number of the scenario of a record."""
    seed, _, number = path.stem.partition("-")
    return int(seed) * draw.SCENARIOS + int(number)


class Samples:
    """Recorded samples of some sets: logarithms of the rates over `standing`'s, features, and scenarios."""

    def __init__(self, folders: list[Path], seeds: tuple[int, ...], *, only_first: bool) -> None:
        files = [path for folder in folders for path in sorted(folder.glob("*.npy"))]
        chosen = [path for path in files if int(path.stem.partition("-")[0]) in seeds]
        rows = [np.load(path) for path in chosen]
        names = np.concatenate(
            [np.full(len(of), number_of(path)) for path, of in zip(chosen, rows, strict=True)]
        )
        joined = np.concatenate(rows)
        keep = joined[:, 0] == 0 if only_first else np.full(len(joined), fill_value=True)
        joined, self.scenarios = joined[keep], names[keep]
        capacity = joined[:, 7:8]
        self.targets = np.clip(np.log(np.maximum(joined[:, 1:4], 1.0) / capacity), -MOST, MOST)
        self.growth = np.log(joined[:, 8])
        self.features = joined[:, 4 + HEAD :]

    def weights(self) -> Floats:
        """Return weights by which each scenario counts the same."""
        _, of, counts = np.unique(self.scenarios, return_inverse=True, return_counts=True)
        weights: Floats = counts.mean() / counts[of]
        return weights

    def errors(self, estimates: Floats, target: int) -> Floats:
        """Return the RMS error of each scenario."""
        missed = self.targets[:, target] - estimates
        each = [missed[self.scenarios == name] for name in np.unique(self.scenarios)]
        return np.array([np.sqrt(np.mean(of**2)) for of in each])


def trees(samples: Samples, target: int) -> HistGradientBoostingRegressor:
    """Train gradient-boosted trees."""
    model = HistGradientBoostingRegressor(
        loss="absolute_error",
        max_iter=300,
        learning_rate=0.05,
        min_samples_leaf=100,
        l2_regularization=1.0,
        random_state=1,
    )
    return model.fit(samples.features[:, :FEATURES], samples.targets[:, target], samples.weights())


def network(samples: Samples, target: int) -> Any:
    """Train a neural network, which also sees the sequence of the last second."""
    weights = samples.weights()
    generator = np.random.default_rng(1)
    count = min(SEQUENCES, len(weights))
    chosen = generator.choice(len(weights), count, replace=False, p=weights / weights.sum())
    model = make_pipeline(
        StandardScaler(),
        MLPRegressor(
            hidden_layer_sizes=(128, 64), alpha=1e-3, early_stopping=True, max_iter=30, random_state=1
        ),
    )
    return model.fit(np.nan_to_num(samples.features[chosen]), samples.targets[chosen, target])


def write(model: HistGradientBoostingRegressor, path: Path) -> None:
    """Write trees in the form that the patched `standing` reads."""

    def node(of: Any) -> str:
        feature, value = (-1, of["value"]) if of["is_leaf"] else (of["feature_idx"], of["num_threshold"])
        return f"{feature},{float(value)!r},{of['left']},{of['right']},{of['missing_go_to_left']}"

    base = float(np.ravel(model._baseline_prediction)[0])  # noqa: SLF001 (no public access)
    lines = (" ".join(map(node, tree.nodes)) for (tree,) in model._predictors)  # noqa: SLF001 (no public access)
    path.write_text("\n".join([repr(base), *lines]) + "\n", encoding="utf-8")


def compare(training: Samples, unseen: Samples) -> None:
    """Print errors of the predictors in scenarios that they have not seen."""
    print(
        "target, estimate, median RMS error of a scenario, 95 % interval, below 0.1, ratio to standing's rate"
    )
    generator = np.random.default_rng(1)
    for target, name in enumerate(("now", "next RTT", "next 0.5 s")):
        estimates = {
            "standing's rate": np.zeros(len(unseen.growth)),
            "standing's rate with its growth": unseen.growth,
            "the rate now": unseen.targets[:, 0],
            "trees": trees(training, target).predict(unseen.features[:, :FEATURES]),
            "network": network(training, target).predict(np.nan_to_num(unseen.features)),
        }
        errors = {label: unseen.errors(of, target) for label, of in estimates.items()}
        base = errors["standing's rate"]
        for label, of in errors.items():
            draws = generator.integers(0, len(of), (1000, len(of)))
            low, high = np.percentile([np.median(of[drawn]) for drawn in draws], [2.5, 97.5])
            ratios = np.percentile(
                [np.median(of[drawn]) / np.median(base[drawn]) for drawn in draws], [2.5, 97.5]
            )
            print(
                f"| {name} | {label} | {np.median(of):.3f} | {low:.3f} to {high:.3f} |",
                f"{np.mean(of < 0.1):.2f} |",
                f"{np.median(of) / np.median(base):.2f} | {ratios[0]:.2f} to {ratios[1]:.2f} |",
                flush=True,
            )


def verdicts(pool: ProcessPoolExecutor, model: Path | None) -> list[evaluate.Verdict]:
    """Judge `standing` with the rate of a model, or its own, in the development sets."""
    scenarios = [scenario["settings"] for seed in information.SETS for scenario in draw.draw(seed)]

    def figures(rwnd: Any) -> Iterator[evaluate.Figures]:
        path = str(model) if model and rwnd is RULE else None
        jobs = [(path, (settings, rwnd, seed)) for settings in scenarios for seed in information.SEEDS]
        done = list(pool.map(run, jobs))
        seeds = len(information.SEEDS)
        return (evaluate.over_seeds(done[at : at + seeds]) for at in range(0, len(done), seeds))

    known = (RULE, None, evaluate.CONTROLS["autotuning"], evaluate.CONTROLS["oracle"])
    return [evaluate.judge(*of) for of in zip(*map(figures, known), strict=True)]


def run(job: tuple[str | None, tuple[dict[str, Any], Any, int]]) -> evaluate.Figures:
    """Run a scenario in a process of its own, which has read the model."""
    model, of = job
    if model:
        os.environ["AIRWND_MODEL"] = model
    return evaluate.run(of)


def main() -> None:
    """Record, train, compare and run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    seeds = (*TRAINING, *information.SETS)
    scenarios = {
        (seed, number): each["settings"] for seed in seeds for number, each in enumerate(draw.draw(seed))
    }
    folders: list[Path] = []
    models: list[Path | None] = [None]

    def processes() -> ProcessPoolExecutor:
        # A process reads one model, once.
        return ProcessPoolExecutor(arguments.jobs)

    for number in range(2):
        folder = arguments.folder / f"records-{number}"
        folder.mkdir(parents=True, exist_ok=True)
        jobs = [
            (folder, name, settings, models[-1])
            for name, settings in scenarios.items()
            if name[0] in TRAINING or number == 0
        ]
        with processes() as pool:
            list(pool.map(record, jobs))
        folders.append(folder)
        training = Samples(folders, TRAINING, only_first=False)
        if number == 0:
            compare(training, Samples(folders, information.SETS, only_first=True))
        model = arguments.folder / f"trees-{number}.txt"
        write(trees(training, 0), model)
        models.append(model)
    print("rate, passes, at twice the delay, goodput, delay, below 80 %, interval, more than standing's")
    generator = np.random.default_rng(1)
    passes: list[NDArray[np.bool_]] = []
    for label, file in zip(("standing's", "trees", "trees, second round"), models, strict=True):
        with processes() as pool:
            of = verdicts(pool, file)
        counts = [sum(column) for column in list(zip(*of, strict=True))[2:]]
        low, high = information.interval(int(counts[0]), len(of))
        passes.append(np.array([verdict.passes for verdict in of]))
        more = passes[-1].astype(int) - passes[0]
        draws = generator.integers(0, len(more), (10_000, len(more)))
        bounds = np.percentile(more[draws].sum(axis=1), [2.5, 97.5])
        print(
            f"| {label} | {' | '.join(map(str, counts))} | {100 * low:.0f} to {100 * high:.0f} % |",
            f"{more.sum()}, {bounds[0]:.0f} to {bounds[1]:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
