"""Data set of a sweep: a row per run and per flow, and the varied keys."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Self

import polars as pl

from airwnd.results.cards import card
from airwnd.support.arguments import PATH, SEVERAL, checked
from airwnd.support.errors import InputError
from airwnd.support.manifests import FILE
from airwnd.text.quantities import counted
from airwnd.vocabulary.columns import later_names

#: Tables of runs with time series: each is a folder in that of a sweep, with a file per setting.
RECORDED = ("series", "completions")


def is_sweep(folder: Path) -> bool:
    """Return whether a folder is that of a sweep."""
    try:
        return bool(json.loads((folder / FILE).read_bytes()).get("kind") == "sweep")
    except (OSError, ValueError, AttributeError):
        return False


@dataclass(frozen=True, eq=False)
class SweepData:
    """Data set of a sweep; :meth:`load` reads the folder written by :func:`airwnd.sweep`.

    Attributes
    ----------
    runs
        A row per run: the swept keys, ``seed``, and the totals of the run.
    flows
        A row per flow and run: the swept keys, ``seed``, and the results of the flow.
    grid
        Keys of the grid; every combination of their values was run.
    random
        Keys with random values, drawn jointly.
    seeds
        Number of seeds per setting.
    scenario
        The scenario that is common to all runs, with all defaults.
    series
        Sampling interval of the time series, as in ``"100ms"``; ``None``: the runs have no series.
    """

    runs: pl.DataFrame
    flows: pl.DataFrame
    grid: tuple[str, ...]
    random: tuple[str, ...]
    seeds: int
    scenario: Mapping[str, Any] = field(default_factory=dict)
    series: str | None = None
    _folder: Path = Path()

    @checked(columns=SEVERAL)
    def read_series(self, columns: Sequence[str] = ()) -> pl.DataFrame:
        """Read time series of all runs.

        Parameters
        ----------
        columns
            Columns of the series; empty: all.

        Returns
        -------
        polars.DataFrame
            A row per run, flow and sample: the swept keys, ``seed``, ``time_s``, ``flow``, and the columns.

        Raises
        ------
        InputError
            If the sweep was run without series, or they have no such column.
        """
        frame = self._scan("series")
        there = frame.collect_schema().names()
        if not there:
            raise InputError(f"{self._folder / 'series'}: missing; run the sweep again")
        start = there.index("time_s") + 2
        if unknown := [column for column in columns if column not in there[start:]]:
            raise InputError(f"no series `{unknown[0]}`; there are {', '.join(there[start:])}")
        return self._collected(frame.select(*there[:start], *(columns or there[start:])))

    def read_completions(self) -> pl.DataFrame:
        """Read the transfers and pages of all runs.

        Returns
        -------
        polars.DataFrame
            The swept keys, ``seed``, and the columns of ``Run.completions``; without columns if no run has
            transfers or pages.

        Raises
        ------
        InputError
            If the sweep was run without series.
        """
        return self._collected(self._scan("completions"))

    def _scan(self, table: str) -> pl.LazyFrame:
        if self.series is None:
            raise InputError(
                "the runs of this sweep have no time series; `airwnd sweep FILE --series 100ms` records them"
            )
        files = sorted((self._folder / table).glob("*.parquet"))
        return pl.scan_parquet(files) if files else pl.LazyFrame()

    def _collected(self, frame: pl.LazyFrame) -> pl.DataFrame:
        try:
            return frame.collect()
        except (OSError, pl.exceptions.PolarsError) as error:
            raise InputError(f"{self._folder}: the series cannot be read: {error}") from None

    @classmethod
    @checked(folder=PATH)
    def load(cls, folder: str | PathLike[str]) -> Self:
        """Read the folder of a sweep.

        Parameters
        ----------
        folder
            Folder written by ``airwnd sweep FILE --out FOLDER``.

        Returns
        -------
        Sweep
            The data set.

        Raises
        ------
        InputError
            If the folder does not hold a sweep, or the sweep is incomplete.
        """
        folder = Path(folder)
        path = folder / FILE
        if not path.is_file():
            raise InputError(
                f"{folder}: not the folder of a sweep, it has no {FILE}; "
                "`airwnd sweep FILE --grid KEY=A,B --out FOLDER` writes one"
            )
        try:
            manifest = json.loads(path.read_bytes())
            kind = manifest["kind"]
            grid, random = (tuple(str(axis["key"]) for axis in manifest[name]) for name in ("grid", "random"))
            complete, seeds = bool(manifest["complete"]), int(manifest["seeds"])
            scenario, series = dict(manifest["scenario"]), manifest.get("series")
        except (ValueError, KeyError, TypeError):
            kind = None
        if kind != "sweep":
            raise InputError(f"{path}: not the manifest of a sweep") from None
        if not complete:
            raise InputError(f"{folder}: the sweep is not complete; run the same command again to resume it")
        try:
            runs, flows = (pl.read_parquet(folder / f"{name}.parquet") for name in ("runs", "flows"))
        except (OSError, pl.exceptions.PolarsError) as error:
            raise InputError(f"{folder}: the tables of the sweep cannot be read: {error}") from None
        missing = [key for key in (*grid, *random, "seed") if key not in runs.columns or key not in flows]
        if missing:
            raise InputError(f"{folder}: the tables of the sweep have no column `{missing[0]}`")
        runs = runs.rename(later_names("totals", runs.columns))
        return cls(runs, flows, grid, random, seeds, scenario, series, folder)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._summary}>"

    def _repr_html_(self) -> str:
        totals = ("throughput_kbps", "delay_ms_mean", "pdf_percent", "jain")
        rows = self.runs.select(*self.keys, "seed", *totals)
        return card(f"Sweep {self._summary}", (), rows.columns, rows.rows())

    @property
    def _summary(self) -> str:
        over = ", ".join(self.keys) or "seeds alone"
        return f"over {over}: {counted(self.runs.height, 'run')}, {counted(self.seeds, 'seed')}"

    @property
    def keys(self) -> tuple[str, ...]:
        """The varied keys, those of the grid first."""
        return (*self.grid, *self.random)

    def number(self, key: str) -> tuple[str, str] | None:
        """Return the column with a key's values as numbers, and their unit; ``None``: not numbers."""
        dtype = self.runs.schema[key]
        if dtype.is_numeric():
            return key, ""
        start = f"{key} ["
        column = next((name for name in self.runs.columns if name.startswith(start)), None)
        return None if column is None else (column, column.removeprefix(start).removesuffix("]"))
