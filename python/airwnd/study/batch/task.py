"""A run to execute, and the result that a worker returns."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airwnd import _native
from airwnd.scenario.scenario import Scenario
from airwnd.support.arguments import DURATION, NONE, SEED, instances

if TYPE_CHECKING:
    from airwnd.study.transfers import Outside


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
    stuck
        Exit code of this process if code of a stack does not return; ``None``: the process continues.
    """

    max_memory: int | None = None
    threads: int = 1
    stuck: int | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """A run to execute.

    Attributes
    ----------
    scenario, seed
        The scenario and its seed.
    series
        Sampling interval of the time series with its unit, as in ``"100ms"``; ``None``: no series.
    outside
        Transfers of something outside the engine; ``None``: none.
    """

    scenario: Scenario
    seed: int
    series: str | None = None
    outside: "Outside | None" = None

    def __post_init__(self) -> None:
        instances("a Scenario", Scenario).check("scenario", self.scenario)
        SEED.check("seed", self.seed)
        (DURATION | NONE).check("series", self.series)

    @property
    def key(self) -> str:
        """32 hexadecimal digits: digest of all inputs of the result (engine, scenario, seed, series)."""
        what = f"{_native.ENGINE}\n{self.scenario.canonical}\n{self.seed}\n{self.series}"
        if self.outside is not None:
            what += f"\n{self.outside.key}"
        return hashlib.sha256(what.encode()).hexdigest()[:32]

    @property
    def code(self) -> str:
        """Names of the plug-ins, and of what is outside the engine, separated by commas; empty: none."""
        outside = () if self.outside is None else (self.outside.code,)
        return ", ".join((*self.scenario.code, *outside))

    def carry_out(
        self, progress: Callable[[float], object] | None = None, means: Means = Means()
    ) -> Finished:
        """Execute the run with these means."""
        if self.outside is not None:
            raw = self.outside.carry_out(self.scenario, self.seed, self.series, means.max_memory, means.stuck)
        else:
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
