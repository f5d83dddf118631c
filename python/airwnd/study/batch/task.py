"""A run to execute, and the result that a worker returns."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from airwnd import _native
from airwnd.scenario.scenario import Scenario
from airwnd.support.arguments import DURATION, NONE, SEED, instances


@dataclass(frozen=True, slots=True)
class Finished:
    """Result of a worker: small, and ready to be stored.

    Attributes
    ----------
    outcome
        Results as one JSON object.
    wall_s
        Wall-clock time of the simulation, in seconds.
    tables
        ``series``, ``events`` and ``completions`` as Parquet files, if series were requested.
    """

    outcome: str
    wall_s: float
    tables: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Means:
    """Resources of the machine that a run may use; results do not depend on them.

    Attributes
    ----------
    max_memory
        Memory limit in bytes; ``None``: 80 % of the free memory.
    threads
        Number of threads.
    """

    max_memory: int | None = None
    threads: int = 1


@dataclass(frozen=True, slots=True)
class Task:
    """A run to execute.

    Attributes
    ----------
    scenario, seed
        The scenario and its seed.
    series
        Sampling interval of the time series with its unit, as in ``"100ms"``; ``None``: no series.
    """

    scenario: Scenario
    seed: int
    series: str | None = None

    def __post_init__(self) -> None:
        instances("a Scenario", Scenario).check("scenario", self.scenario)
        SEED.check("seed", self.seed)
        (DURATION | NONE).check("series", self.series)

    @property
    def key(self) -> str:
        """32 hexadecimal digits: digest of all inputs of the result (engine, scenario, seed, series)."""
        what = f"{_native.ENGINE}\n{self.scenario.canonical}\n{self.seed}\n{self.series}"
        return hashlib.sha256(what.encode()).hexdigest()[:32]

    def carry_out(
        self, progress: Callable[[float], object] | None = None, means: Means = Means()
    ) -> Finished:
        """Execute the run with these means."""
        raw = self.scenario.simulate(
            self.seed, self.series, progress, max_memory=means.max_memory, threads=means.threads
        )
        tables = {}
        if self.series is not None:
            from airwnd.results.frames import parquet, recorded

            tables = {name: parquet(frame) for name, frame in recorded(raw).items() if frame.width}
        return Finished(raw.outcome, raw.wall_s, tables)

    def __str__(self) -> str:
        return f"{self.scenario}, seed {self.seed}"
