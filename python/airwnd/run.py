"""One simulation's results: data frames, totals, and the folder that keeps them."""

import json
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import polars as pl

from airwnd import _native
from airwnd.errors import EngineError, InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TABLES = ("flows", "cells", "ues")


@dataclass(frozen=True)
class Run:
    """What a simulation gave.

    Attributes
    ----------
    scenario
        The resolved scenario: all defaults written out.
    outcome
        The figures as ``airwnd run --json`` prints them, without the wall-clock time.
    series
        The time series that were asked for: one row per sampling instant and flow (or UE or cell), in
        columns ``time_s``, ``flow``, ``cwnd_bytes``, ``ssthresh_bytes``, ``rwnd_bytes``, ``rtt_ms``,
        ``queue_bytes``, ``queue_packets``, ``mcs``, ``rate_kbps``; null where there is nothing to say.
        Empty if none were asked for.
    engine
        Version and contents of the engine that ran it.
    wall_s
        How long the simulation took, in seconds; ``None`` for a run read from disk.
    """

    scenario: Mapping[str, Any]
    outcome: Mapping[str, Any]
    series: pl.DataFrame
    engine: str
    wall_s: float | None = field(default=None, compare=False)

    @property
    def seed(self) -> int:
        """The seed it ran with."""
        return int(self.outcome["seed"])

    @property
    def duration_s(self) -> float:
        """Simulated time in seconds."""
        return float(self.outcome["duration_s"])

    @property
    def totals(self) -> Mapping[str, Any]:
        """Figures of the whole: throughput (kbit/s), delay (ms), PDF (%), Jain's index, drops by cause."""
        totals: Mapping[str, Any] = self.outcome["totals"]
        return totals

    @cached_property
    def flows(self) -> pl.DataFrame:
        """One row per flow; ``delay_ms_p95`` is what ``delay_ms.p95`` is in the JSON."""
        return _frame(self.outcome["flows"])

    @cached_property
    def cells(self) -> pl.DataFrame:
        """One row per cell: PRB use, spectral efficiency, BLER and the like."""
        return _frame(self.outcome["cells"])

    @cached_property
    def ues(self) -> pl.DataFrame:
        """One row per UE: position, serving cell, SINR."""
        return _frame(self.outcome["ues"])

    def to_json(self) -> dict[str, Any]:
        """Give the one object that ``airwnd run --json`` prints."""
        head = ("scenario", "seed", "duration_s")
        return {**{key: self.outcome[key] for key in head}, "wall_s": self.wall_s, **self.outcome}

    def plot(self, quantity: str = "cwnd_bytes", axes: "Axes | None" = None) -> "Axes":
        """Draw a column of the series over time, one line per flow.

        Parameters
        ----------
        quantity
            A column of :attr:`series`.
        axes
            Where to draw; new axes by default.
        """
        from airwnd.plots import plot_series

        return plot_series(self.series, quantity, axes)

    def save(self, folder: str | PathLike[str]) -> Path:
        """Write ``manifest.json`` and Parquet tables; the same scenario and seed give the same bytes.

        The manifest is written last: a folder that has one is complete.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "manifest.json").unlink(missing_ok=True)
        tables = {name: getattr(self, name) for name in _TABLES}
        if self.series.width:
            tables["series"] = self.series
        else:
            (folder / "series.parquet").unlink(missing_ok=True)
        for name, table in tables.items():
            partial = folder / f".{name}.parquet"
            table.write_parquet(partial, compression="zstd")
            partial.replace(folder / f"{name}.parquet")
        manifest = {
            "airwnd": _native.VERSION,
            "engine": self.engine,
            "seed": self.seed,
            "scenario": self.scenario,
            "outcome": self.outcome,
            "tables": sorted(tables),
        }
        write_atomically(folder / "manifest.json", json.dumps(manifest, indent=1, allow_nan=False) + "\n")
        return folder

    @classmethod
    def load(cls, folder: str | PathLike[str]) -> Self:
        """Read a folder that :meth:`save` wrote."""
        path = Path(folder) / "manifest.json"
        try:
            manifest = json.loads(path.read_text(encoding="utf-8"))
            has_series = "series" in manifest["tables"]
            return cls(
                scenario=manifest["scenario"],
                outcome=manifest["outcome"],
                series=pl.read_parquet(path.with_name("series.parquet")) if has_series else pl.DataFrame(),
                engine=manifest["engine"],
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"{path}: not the manifest of a run: {error!r}") from None


def simulate(
    scenario: _native.Scenario,
    seed: int,
    series: str | None,
    progress: Callable[[float], object] | None,
) -> Run:
    """Run a checked scenario; :meth:`airwnd.Scenario.run` says what the arguments are."""
    interval = None if series is None else _interval(series)
    start = time.perf_counter()
    try:
        outcome, columns = scenario.run(seed, interval, progress)
    except _native.PanicException as panic:
        raise EngineError(f"{panic} (engine {_native.ENGINE}, seed {seed}); please report it") from panic
    return Run(
        scenario=json.loads(scenario.to_json()),
        outcome=json.loads(outcome),
        series=pl.DataFrame(columns).fill_nan(None),
        engine=_native.ENGINE,
        wall_s=time.perf_counter() - start,
    )


def _interval(series: str) -> int:
    try:
        interval = _native.parse_span(series)
    except _native.ScenarioError as error:
        raise InputError(f"series: {error}") from None
    if interval == 0:
        raise InputError(f"series: `{series}` is no interval to sample at")
    return interval


def write_atomically(path: Path, text: str) -> None:
    """Write a file so that it is there as a whole or not at all."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


def _frame(rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    frame = pl.DataFrame([_flat(row) for row in rows], infer_schema_length=None)
    # A figure that no flow has (the completion time of endless flows) still is a column of numbers.
    return frame.with_columns(pl.col(pl.Null).cast(pl.Float64))


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, Mapping):
            flat.update({f"{key}_{inner}": deep for inner, deep in _flat(value).items()})
        else:
            flat[key] = value
    return flat
