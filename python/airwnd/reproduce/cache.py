"""Finished runs on disk: an interrupted reproduction goes on where it stopped."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airwnd import _native
from airwnd.files import write_atomically
from airwnd.run import Run
from airwnd.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Stored:
    """A finished run's figures and what it took, in seconds of wall-clock time."""

    outcome: dict[str, Any]
    wall_s: float


@dataclass(frozen=True, slots=True)
class Cache:
    """A folder of finished runs, each one file named by what decides its contents."""

    folder: Path

    def path(self, scenario: Scenario, seed: int) -> Path:
        """Name the file of a run: by resolved scenario, seed and engine."""
        what = {"engine": _native.ENGINE, "scenario": scenario.resolved, "seed": seed}
        text = json.dumps(what, sort_keys=True)
        return self.folder / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.json"

    def get(self, scenario: Scenario, seed: int) -> Stored | None:
        """Find a finished run; a file that was cut short counts as none."""
        try:
            stored = json.loads(self.path(scenario, seed).read_text(encoding="utf-8"))
            return Stored(stored["outcome"], float(stored["wall_s"]))
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return None

    def put(self, scenario: Scenario, run: Run) -> Stored:
        """Store a finished run at once and as a whole."""
        stored = Stored(dict(run.outcome), run.wall_s or 0.0)
        self.folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"outcome": stored.outcome, "wall_s": stored.wall_s}, allow_nan=False)
        write_atomically(self.path(scenario, run.seed), text)
        return stored
