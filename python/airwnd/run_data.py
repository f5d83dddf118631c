"""One simulation's results as data: frames, totals, and the folder that keeps them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import polars as pl

from airwnd import _native, run_folder
from airwnd.arguments import FLAG, PATH, checked
from airwnd.cards import run_card
from airwnd.errors import InputError
from airwnd.frames import flattened, frame_of, recorded
from airwnd.terminal import number
from airwnd.text import counted

if TYPE_CHECKING:
    from airwnd.engine import Raw

_TABLES = ("flows", "groups", "cells", "links", "ues")


@dataclass(frozen=True)
class RunData:
    """What a simulation gave, as data; :meth:`airwnd.Scenario.run` makes it, :meth:`load` reads it from disk.

    :func:`airwnd.tables` has the columns of all tables with their units and meanings, as ``airwnd explain
    flows.delay_ms_p95`` and the reference page of results show them.

    Attributes
    ----------
    scenario
        The resolved scenario: all defaults written out.
    outcome
        The figures as ``airwnd run --json`` prints them, without the wall-clock time.
    series
        The time series: a row per sampling instant and flow. Empty if none were requested. The flow's id is
        an enumeration of all ids in the order of `flows`; cast it to ``pl.String`` to join or stack tables
        of different scenarios.
    engine
        Version and contents of the engine that ran it.
    events
        The events of the flows in chronological order: drops, timeouts, loss recoveries, handovers. Empty if
        no series were requested.
    allocations
        The downlink transmissions in the requested window, by TTI and cell; empty if none was requested.
    completions
        A row for each transfer and each page that began, in the order of `flows` and then of time; empty if
        there was none.
    wall_s
        How long the simulation took, in seconds; ``None`` for a run read from disk.
    """

    scenario: Mapping[str, Any]
    outcome: Mapping[str, Any]
    series: pl.DataFrame
    engine: str
    events: pl.DataFrame = field(default_factory=pl.DataFrame)
    allocations: pl.DataFrame = field(default_factory=pl.DataFrame)
    completions: pl.DataFrame = field(default_factory=pl.DataFrame)
    wall_s: float | None = field(default=None, compare=False)

    @classmethod
    def of(cls, scenario: Mapping[str, Any], raw: "Raw") -> Self:
        """Make data frames of what the engine gave.

        Parameters
        ----------
        scenario
            The resolved scenario that was run.
        raw
            What :meth:`airwnd.Scenario.simulate` gave.

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
        """The seed it ran with."""
        return int(self.outcome["seed"])

    @property
    def duration_s(self) -> float:
        """Simulated time in seconds."""
        return float(self.outcome["duration_s"])

    @property
    def totals(self) -> Mapping[str, Any]:
        """Figures over all flows and cells by column; ``None`` where nothing was measured."""
        totals: Mapping[str, Any] = self.outcome["totals"]
        return totals

    @property
    def drops(self) -> Mapping[str, int]:
        """The packets dropped by cause: what `totals` have as ``drops_CAUSE``."""
        found = ((name.partition("drops_"), value) for name, value in self.totals.items())
        return {cause: value for (start, mark, cause), value in found if mark and not start}

    @cached_property
    def flows(self) -> pl.DataFrame:
        """A row per flow."""
        return frame_of("flows", self.outcome["flows"])

    @cached_property
    def groups(self) -> pl.DataFrame:
        """A row per group of flows, which is an entry ``[[flow]]`` of the scenario."""
        # A folder that an earlier version wrote has none.
        return frame_of("groups", self.outcome.get("groups", ()))

    @cached_property
    def cells(self) -> pl.DataFrame:
        """A row per cell; none if there are links alone."""
        return frame_of("cells", self.outcome["cells"])

    @cached_property
    def links(self) -> pl.DataFrame:
        """A row per link and direction: the server's, the scenario's, those to the cells (``s1u``)."""
        return frame_of("links", self.outcome["links"])

    @cached_property
    def ues(self) -> pl.DataFrame:
        """A row per UE; none if there are links alone."""
        return frame_of("ues", self.outcome["ues"])

    def __repr__(self) -> str:
        totals, flows = self.totals, counted(len(self.outcome["flows"]), "flow")
        return (
            f"<{type(self).__name__} {self.outcome['scenario']!r}, seed {self.seed}: {self.duration_s:g} s, "
            f"{flows}, {number(totals['throughput_kbps'], 1)} kbit/s, "
            f"delay {number(totals['delay_ms'], 2)} ms>"
        )

    def _repr_html_(self) -> str:
        return run_card(self.scenario, self.outcome)

    def to_json(self) -> dict[str, Any]:
        """Give the one object that ``airwnd run --json`` prints.

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

        The folder is written beside its place and renamed: it is there as a whole or not at all, and what
        interrupts it leaves the run that was there.

        Parameters
        ----------
        folder
            Made if it is not there; the same run that it holds is replaced.
        force
            Whether another run that it holds is replaced.

        Returns
        -------
        pathlib.Path
            The folder.

        Raises
        ------
        InputError
            If the folder holds another run, or anything else.
        OSError
            If it cannot be written.
        """
        folder = Path(folder)
        manifest = {
            "airwnd": _native.VERSION,
            "engine": self.engine,
            "seed": self.seed,
            "scenario": self.scenario,
            "outcome": self.outcome,
        }
        tables = {name: getattr(self, name) for name in (*_TABLES, *run_folder.RECORDED)}
        kept = {name: table for name, table in tables.items() if table.width or name in _TABLES}
        run_folder.write(folder, manifest, kept, force=force)
        return folder

    @classmethod
    @checked(folder=PATH)
    def load(cls, folder: str | PathLike[str]) -> Self:
        """Read a folder that :meth:`save` wrote, in this version or an earlier one.

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
            If a file is missing or damaged, or the folder is not that of a run.
        OSError
            If a file cannot be read.
        """
        manifest, tables = run_folder.read(Path(folder))
        run = cls(
            scenario=manifest["scenario"],
            outcome=_flattened(manifest["outcome"]),
            engine=manifest["engine"],
            series=tables.get("series", pl.DataFrame()),
            events=tables.get("events", pl.DataFrame()),
            allocations=tables.get("allocations", pl.DataFrame()),
            completions=tables.get("completions", pl.DataFrame()),
        )
        for name in _TABLES:
            try:
                getattr(run, name)
            except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError) as error:
                raise InputError(
                    f"{folder}: the manifest's {name} are not a table: {' '.join(str(error).split())}"
                ) from None
        return run


def _flattened(outcome: Mapping[str, Any]) -> dict[str, Any]:
    """Rename the figures of earlier versions, which nested them, as in ``"delay_ms": {"p95": 3.0}``."""
    return {
        key: [flattened(row) for row in value]
        if isinstance(value, list)
        else flattened(value)
        if isinstance(value, Mapping)
        else value
        for key, value in outcome.items()
    }
