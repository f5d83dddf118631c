"""A run to be made, and what comes back from whoever made it."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from airwnd import _native
from airwnd.arguments import DURATION, NONE, SEED, instances
from airwnd.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Finished:
    """What a worker hands back: small, and ready to be stored.

    Attributes
    ----------
    outcome
        The figures as one JSON object.
    wall_s
        How long the simulation took, in seconds.
    tables
        ``series``, ``events`` and ``completions`` as Parquet files, if series were asked for.
    """

    outcome: str
    wall_s: float
    tables: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Task:
    """A run to be made.

    Attributes
    ----------
    scenario, seed
        What to run.
    series
        Sampling interval of the time series with its unit, as in ``"100ms"``; no series without it.
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
        """32 hexadecimal digits, from all that decides the result: engine, scenario, seed and series."""
        what = f"{_native.ENGINE}\n{self.scenario.canonical}\n{self.seed}\n{self.series}"
        return hashlib.sha256(what.encode()).hexdigest()[:32]

    def carry_out(
        self, progress: Callable[[float], object] | None = None, max_memory: int | None = None
    ) -> Finished:
        """Make the run, in this thread; it may take `max_memory` bytes, or 80 % of what is free."""
        raw = self.scenario.simulate(self.seed, self.series, progress, max_memory=max_memory)
        tables = {}
        if self.series is not None:
            from airwnd.frames import parquet, recorded

            tables = {name: parquet(frame) for name, frame in recorded(raw).items() if frame.width}
        return Finished(raw.outcome, raw.wall_s, tables)

    def __str__(self) -> str:
        return f"{self.scenario}, seed {self.seed}"
