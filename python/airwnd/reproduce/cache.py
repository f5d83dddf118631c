"""Finished runs on disk: an interrupted reproduction goes on where it stopped."""

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from airwnd import _native
from airwnd.run import Run, write_atomically
from airwnd.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Stored:
    """A finished run's figures and what it took, in seconds of wall-clock time."""

    outcome: dict[str, Any]
    wall_s: float
    series: pl.DataFrame = field(default_factory=pl.DataFrame)
    events: pl.DataFrame = field(default_factory=pl.DataFrame)


@dataclass(frozen=True, slots=True)
class Cache:
    """A folder of finished runs, each a file named by what decides its contents, beside it its series."""

    folder: Path
    series: str | None

    def path(self, scenario: Scenario, seed: int) -> Path:
        """Name the file of a run: by resolved scenario, seed, engine and sampling interval."""
        what = {
            "engine": _native.ENGINE,
            "scenario": scenario.resolved,
            "seed": seed,
            "series": self.series,
        }
        text = json.dumps(what, sort_keys=True)
        return self.folder / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.json"

    def get(self, scenario: Scenario, seed: int) -> Stored | None:
        """Find a finished run; a file that was cut short counts as none."""
        path = self.path(scenario, seed)
        try:
            stored = json.loads(path.read_text(encoding="utf-8"))
            series = pl.read_parquet(path.with_suffix(".parquet")) if self.series else pl.DataFrame()
            return Stored(stored["outcome"], float(stored["wall_s"]), series)
        except (FileNotFoundError, ValueError, KeyError, TypeError, pl.exceptions.ComputeError):
            return None

    def put(self, scenario: Scenario, run: Run) -> Stored:
        """Store a finished run at once and as a whole."""
        stored = Stored(dict(run.outcome), run.wall_s or 0.0, run.series)
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.series:
            # The figures come last: they make a run count as finished.
            run.series.write_parquet(self.path(scenario, run.seed).with_suffix(".parquet"))
        text = json.dumps({"outcome": stored.outcome, "wall_s": stored.wall_s}, allow_nan=False)
        write_atomically(self.path(scenario, run.seed), text)
        return stored
