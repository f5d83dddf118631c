"""Results of one simulation as data: frames, totals, and their folder on disk."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import polars as pl

from airwnd import _native
from airwnd.results import folder as run_folder
from airwnd.results.cards import run_card
from airwnd.results.frames import flattened, frame_of, recorded
from airwnd.results.headline import figures
from airwnd.support.arguments import FLAG, PATH, checked
from airwnd.support.errors import InputError
from airwnd.text.quantities import counted
from airwnd.vocabulary.columns import NamedRow, later_names

if TYPE_CHECKING:
    from airwnd.results.raw import Raw

_TABLES = ("flows", "groups", "cells", "links", "ues", "bearers")


@dataclass(frozen=True)
class RunData:
    """Results of a simulation, as data; :meth:`airwnd.Scenario.run` returns them, :meth:`load` reads them.

    :func:`airwnd.tables` returns the columns of all tables with units and meanings, as shown by ``airwnd
    explain flows.delay_ms_p95`` and the reference page of results.

    Attributes
    ----------
    scenario
        Resolved scenario, with all defaults filled in.
    outcome
        Results as printed by ``airwnd run --json``, without the wall-clock time.
    series
        Time series: a row per sampling instant and flow; empty if none were requested. The column of flow
        ids is an enumeration of all ids in the order of `flows`; cast it to ``pl.String`` to join or stack
        tables of different scenarios.
    engine
        Version and digest of the engine that executed the run.
    events
        Events of the flows in chronological order: drops, timeouts, loss recoveries, handovers. Empty if no
        series were requested.
    allocations
        Downlink transmissions in the requested window, by TTI and cell; empty if no window was requested.
    completions
        A row for each transfer and page that began, in the order of `flows` and then of time; empty if there
        were none.
    sockets
        Time series of the kernel's TCP sockets in a session of ``airwnd link``; empty for other runs.
    wall_s
        Wall-clock time of the simulation, in seconds; ``None`` for a run read from disk.
    """

    scenario: Mapping[str, Any]
    outcome: Mapping[str, Any]
    series: pl.DataFrame
    engine: str
    events: pl.DataFrame = field(default_factory=pl.DataFrame)
    allocations: pl.DataFrame = field(default_factory=pl.DataFrame)
    completions: pl.DataFrame = field(default_factory=pl.DataFrame)
    sockets: pl.DataFrame = field(default_factory=pl.DataFrame)
    wall_s: float | None = field(default=None, compare=False)

    @classmethod
    def of(cls, scenario: Mapping[str, Any], raw: "Raw") -> Self:
        """Build a run from the output of the engine.

        Parameters
        ----------
        scenario
            The resolved scenario that was run.
        raw
            Output of :meth:`airwnd.Scenario.simulate`.

        Returns
        -------
        Run
            The run with its data frames.
        """
        return cls(
            scenario=scenario,
            outcome=json.loads(raw.outcome),
            engine=_native.ENGINE,
            wall_s=raw.wall_s,
            **recorded(raw),
        )

    @property
    def seed(self) -> int:
        """Seed of the run."""
        return int(self.outcome["seed"])

    @property
    def duration_s(self) -> float:
        """Simulated time in seconds."""
        return float(self.outcome["duration_s"])

    @property
    def totals(self) -> Mapping[str, Any]:
        """Results over all flows and cells, by column; ``None``: nothing was measured."""
        return NamedRow("totals", self.outcome["totals"])

    @property
    def drops(self) -> Mapping[str, int]:
        """Dropped packets by cause: the columns ``drops_CAUSE`` of `totals`."""
        found = ((name.partition("drops_"), value) for name, value in self.totals.items())
        return {cause: value for (start, mark, cause), value in found if mark and not start}

    @cached_property
    def flows(self) -> pl.DataFrame:
        """A row per flow."""
        return frame_of("flows", self.outcome["flows"])

    @cached_property
    def groups(self) -> pl.DataFrame:
        """A row per group of flows, that is, per entry ``[[flow]]`` of the scenario."""
        # Folders written by earlier versions have no groups.
        return frame_of("groups", self.outcome.get("groups", ()))

    @cached_property
    def cells(self) -> pl.DataFrame:
        """A row per cell; empty for a scenario without cells."""
        return frame_of("cells", self.outcome["cells"])

    @cached_property
    def links(self) -> pl.DataFrame:
        """A row per link and direction: of the server, the scenario, and the cells (``s1u``)."""
        return frame_of("links", self.outcome["links"])

    @cached_property
    def ues(self) -> pl.DataFrame:
        """A row per UE; empty for a scenario without cells."""
        return frame_of("ues", self.outcome["ues"])

    @cached_property
    def bearers(self) -> pl.DataFrame:
        """A row per bearer and direction; empty for a scenario without cells."""
        # Folders written by earlier versions have no bearers.
        return frame_of("bearers", self.outcome.get("bearers", ()))

    @cached_property
    def connections(self) -> pl.DataFrame:
        """A row per flow of real packets in a session of ``airwnd link``; empty for other runs."""
        return frame_of("connections", self.outcome.get("connections", ()))

    def __repr__(self) -> str:
        totals, flows = self.totals, counted(len(self.outcome["flows"]), "flow")
        return (
            f"<{type(self).__name__} {self.outcome['scenario']!r}, seed {self.seed}: {self.duration_s:g} s, "
            f"{flows}, {figures(totals, 'throughput_kbps', 'delay_ms_mean')}>"
        )

    def _repr_html_(self) -> str:
        return run_card(self.scenario, self.outcome)

    def to_json(self) -> dict[str, Any]:
        """Return the object that ``airwnd run --json`` prints.

        Returns
        -------
        dict
            `outcome` with `wall_s`.
        """
        head = ("scenario", "seed", "duration_s")
        return {**{key: self.outcome[key] for key in head}, "wall_s": self.wall_s, **self.outcome}

    @checked(folder=PATH, force=FLAG)
    def save(self, folder: str | PathLike[str], *, force: bool = False) -> Path:
        """Write ``manifest.json`` and Parquet tables; the same scenario and seed give the same bytes.

        The folder is replaced atomically: it is written under a temporary name and renamed. An interruption
        leaves the previous run in place.

        Parameters
        ----------
        folder
            Folder of the run, created if it is missing. The same run in it is replaced.
        force
            Replace a different run in the folder, too.

        Returns
        -------
        pathlib.Path
            The folder.

        Raises
        ------
        InputError
            If the folder holds a different run, or other files.
        OSError
            If the folder cannot be written.
        """
        folder = Path(folder)
        manifest = {
            "airwnd": _native.VERSION,
            "engine": self.engine,
            "seed": self.seed,
            "scenario": self.scenario,
            "outcome": self.outcome,
        }
        tables = {name: getattr(self, name) for name in (*_TABLES, "connections", *run_folder.RECORDED)}
        kept = {name: table for name, table in tables.items() if table.width or name in _TABLES}
        if self.connections.is_empty():
            del kept["connections"]
        run_folder.write(folder, manifest, kept, force=force)
        return folder

    @classmethod
    @checked(folder=PATH)
    def load(cls, folder: str | PathLike[str]) -> Self:
        """Read a folder written by :meth:`save`, of this version or an earlier one.

        Parameters
        ----------
        folder
            The folder.

        Returns
        -------
        Run
            The run; equal to the one that was saved.

        Raises
        ------
        InputError
            If a file is missing or damaged, or if the folder is not a run folder.
        OSError
            If a file cannot be read.
        """
        manifest, tables = run_folder.read(Path(folder))
        run = cls(
            scenario=manifest["scenario"],
            outcome=of_earlier_versions(manifest["outcome"]),
            engine=manifest["engine"],
            series=tables.get("series", pl.DataFrame()),
            events=tables.get("events", pl.DataFrame()),
            allocations=tables.get("allocations", pl.DataFrame()),
            completions=tables.get("completions", pl.DataFrame()),
            sockets=tables.get("sockets", pl.DataFrame()),
        )
        for name in _TABLES:
            try:
                getattr(run, name)
            except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError) as error:
                raise InputError(
                    f"{folder}: the manifest's {name} are not a table: {' '.join(str(error).split())}"
                ) from None
        return run


def of_earlier_versions(outcome: Mapping[str, Any]) -> dict[str, Any]:
    """Flatten and rename the results of earlier versions, as in ``"delay_ms": {"p95": 3.0}``."""
    return {
        key: _renamed(key, flattened(value))
        if key == "totals"
        else [flattened(row) for row in value]
        if isinstance(value, list)
        else flattened(value)
        if isinstance(value, Mapping)
        else value
        for key, value in outcome.items()
    }


def _renamed(table: str, row: Mapping[str, Any]) -> dict[str, Any]:
    later = later_names(table, row)
    return {later.get(key, key): value for key, value in row.items()}
