"""Data set of a sweep: a row per run and per flow, and the varied keys."""

import json
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Self

import polars as pl

from airwnd.results.cards import card
from airwnd.support.arguments import PATH, checked
from airwnd.support.errors import InputError
from airwnd.text.quantities import counted
from airwnd.vocabulary.columns import later_names


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
    """

    runs: pl.DataFrame
    flows: pl.DataFrame
    grid: tuple[str, ...]
    random: tuple[str, ...]
    seeds: int

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
        path = folder / "manifest.json"
        if not path.is_file():
            raise InputError(
                f"{folder}: not the folder of a sweep, it has no manifest.json; "
                "`airwnd sweep FILE --grid KEY=A,B --out FOLDER` writes one"
            )
        try:
            manifest = json.loads(path.read_bytes())
            kind = manifest["kind"]
            grid, random = (tuple(str(axis["key"]) for axis in manifest[name]) for name in ("grid", "random"))
            complete, seeds = bool(manifest["complete"]), int(manifest["seeds"])
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
        return cls(runs, flows, grid, random, seeds)

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
