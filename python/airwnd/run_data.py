"""One simulation's results as data: frames, totals, and the folder that keeps them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import polars as pl

from airwnd import _native
from airwnd.errors import InputError
from airwnd.files import write_atomically
from airwnd.frames import frame_of, parquet, recorded

if TYPE_CHECKING:
    from airwnd.engine import Raw

_TABLES = ("flows", "groups", "cells", "links", "ues")
_RECORDED = ("series", "events", "allocations", "completions")


@dataclass(frozen=True)
class RunData:
    """What a simulation gave, as data; :meth:`airwnd.Scenario.run` makes it, :meth:`load` reads it from disk.

    Attributes
    ----------
    scenario
        The resolved scenario: all defaults written out.
    outcome
        The figures as ``airwnd run --json`` prints them, without the wall-clock time.
    series
        The time series that were asked for: one row per sampling instant and flow, null where there is
        nothing to say (windows of UDP, or before and after a connection, a radio without cells). Empty if
        none were asked for. The columns:

        ``time_s``
            Since the end of the warm-up.
        ``flow``
            The flow's id, as an enumeration of all ids in the order of `flows`; cast it to
            ``pl.String`` to join or stack tables of different scenarios.
        ``cwnd_bytes``, ``ssthresh_bytes``, ``rwnd_bytes``, ``in_flight_bytes``
            The data sender's congestion window, slow-start threshold, offered window, and what it takes
            to be in the network.
        ``rtt_ms``
            Its smoothed round-trip time.
        ``delay_ms``
            Mean one-way delay of the data packets that arrived since the last sample.
        ``queue_bytes``, ``queue_packets``
            What waits at the base station for the flow's UE; without cells, before the links on the way.
        ``sinr_db``
            The newest SINR that the UE reports, looked at every 10 ms.
        ``mcs``
            Mean of the first downlink transmissions since the last sample.
        ``rate_kbps``
            Payload that arrived since the last sample.
        ``rsrp_dbm``, ``neighbour_rsrp_dbm``
            Reference signal received power of the serving cell, and of the best other one, as they are at
            this instant: before the filters of measurements.
        ``x_m``, ``y_m``
            Where the UE is, east and north of the origin, if it moves; else `ues` says it.
        ``cell``, ``neighbour``
            The numbers of the serving cell, and of the best other one.
    engine
        Version and contents of the engine that ran it.
    events
        What befell the flows, in the order of time; there if series were asked for, else empty. The
        columns: ``time_s`` and ``flow`` as in `series`; ``event``: ``drop`` (of a packet, data or
        acknowledgment), ``timeout`` or ``recovery`` (the data sender's retransmission timer expired, or
        it began to repair a loss), or what befell its UE: ``handover_start``, ``handover_end``,
        ``handover_failure``, ``radio_link_failure`` or ``reestablishment``; for drops ``cause``, a key of
        ``totals["drops"]``, and ``bytes``, the packet's size; for handovers ``cell``, the new one; null for
        others.
    allocations
        The downlink's transmissions in the window that was asked for, by TTI and cell; empty if none was.
        The columns: ``time_s``, when the TTI on air begins, as in `series`; ``cell`` and ``ue``; ``rbgs``,
        the resource-block groups as bits, the lowest of which is the first group (TS 36.213 §7.1.6.1);
        ``transmission``, which counts those of a block: 1 is new data, more are retransmissions; ``mcs``;
        ``bytes``, the transport block's size; ``reception``: ``decoded``, ``failed``, or
        ``assignment-lost`` if the terminal did not hear that there was something for it.
    completions
        What somebody waited for: a row for each transfer and each page that began, in the order of `flows`
        and then of time; empty if there was none. The columns: ``start_s``, since the end of the warm-up;
        ``flow`` as in `series`; ``size_bytes``; ``fct_s``, its completion time, null if the run ended before.
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
        """Figures over all flows and cells.

        ``goodput_kbps`` (payload) and ``throughput_kbps`` (IP packets) are sums over the flows; ``delay_ms``
        and ``delay_ms_p95`` the mean and the 95th percentile of the one-way delay over all packets;
        ``pdf_percent`` the packets received of those sent, ``loss_percent`` those dropped; ``jain`` Jain's
        index of the goodputs, from 1/n (one has all) to 1 (equal shares); ``retransmissions`` and
        ``timeouts`` sums; ``downlink_prb_use`` and ``uplink_prb_use`` the parts of the cells' PRBs that
        carried data, 0 to 1; ``drops`` packets by cause. A figure that nothing was measured for is ``None``.
        """
        totals: Mapping[str, Any] = self.outcome["totals"]
        return totals

    @cached_property
    def flows(self) -> pl.DataFrame:
        """A row per flow.

        Columns: ``id`` and the scenario's id of its ``group``, ``ue``, ``kind`` of traffic, ``cc`` and
        ``rwnd`` (null for UDP), ``goodput_kbps``, ``throughput_kbps``, one-way ``delay_ms_mean``, ``_p50``,
        ``_p95``, ``_p99``, the sender's ``rtt_ms_mean`` and so on, ``pdf_percent``, ``packets_sent``,
        ``packets_received``, ``packets_dropped``, ``retransmissions``, ``timeouts``, ``fast_retransmits``
        (loss recoveries begun without a timeout), ``duplicate_acks`` and ``zero_windows`` that reached the
        sender, ``limited_s_application``, ``_cwnd``, ``_rwnd`` and ``_pacing``, for how long what has kept a
        TCP sender from sending more, and ``fct_s``, the completion time of a finished transfer.
        """
        return frame_of(self.outcome["flows"])

    @cached_property
    def groups(self) -> pl.DataFrame:
        """A row per group of flows, which is an entry ``[[flow]]`` of the scenario.

        Columns: ``group``, its id, ``kind`` of traffic, ``cc`` and ``rwnd`` (null for UDP), the number of its
        ``flows``, and how many ``started`` before the end; how many transfers and pages were ``completed``,
        and how many had begun and stayed ``unfinished``; the flows' ``goodput_kbps`` and
        ``throughput_kbps``, added up; ``delay_ms_mean``, ``_p50``, ``_p95`` and ``_p99`` over all packets of
        all flows; ``packets_sent``, ``packets_dropped``, ``retransmissions`` and ``timeouts``;
        ``fct_s_mean``, ``_p50``, ``_p95``, ``_p99`` and ``_max`` of the completion times of what was
        completed. `completions` has each of them.
        """
        # A folder that an earlier version wrote has none.
        return frame_of(self.outcome.get("groups", ()))

    @cached_property
    def cells(self) -> pl.DataFrame:
        """A row per cell; none if there are links alone.

        Columns: ``cell``, ``users`` attached, ``downlink_prb_use`` and ``uplink_prb_use`` (parts of the PRBs
        that carried data, 0 to 1), ``spectral_efficiency`` of the used ones in bit/s/Hz.
        """
        return frame_of(self.outcome["cells"])

    @cached_property
    def links(self) -> pl.DataFrame:
        """A row per link and direction: the server's, the scenario's, those to the cells (``s1u``).

        Columns: ``link``, ``of`` (the group, the number of the terminal or of the cell that has it for
        itself; null if all share it), ``direction`` (``down`` or ``up``), ``packets`` and ``bytes`` that it
        carried to its end, with framing, ``drops_link_queue_full``, ``drops_link_queue_early``,
        ``drops_link_error``, ``drops_retry_limit``, ``marks`` (ECN), ``attempts``, ``collisions`` and
        ``retries`` (of Wi-Fi), ``queue_packets_mean``, ``queue_packets_max``, ``queue_bytes_mean``,
        ``queue_bytes_max`` (what waited, without the packet in transmission), and ``utilisation``, the part
        of what it could have sent that it sent, 0 to 1; null without a rate. Wi-Fi's is the part of the time
        that attempts took.
        """
        return frame_of(self.outcome["links"]).with_columns(pl.col("of").cast(pl.String))

    @cached_property
    def ues(self) -> pl.DataFrame:
        """A row per terminal; none if there are links alone.

        Columns: ``ue``, position ``x_m`` (east) and ``y_m`` (north), serving ``cell``, ``sinr_db``,
        ``rsrp_dbm``, number of first transmissions ``blocks``, their mean ``mcs`` and ``block_bytes``, and
        the parts of them that failed, ``bler`` and ``uplink_bler``, 0 to 1, ``handovers`` and
        ``link_failures``. Position, cell and RSRP are those at the end.
        """
        return frame_of(self.outcome["ues"])

    def to_json(self) -> dict[str, Any]:
        """Give the one object that ``airwnd run --json`` prints.

        Returns
        -------
        dict
            `outcome` with `wall_s`.
        """
        head = ("scenario", "seed", "duration_s")
        return {**{key: self.outcome[key] for key in head}, "wall_s": self.wall_s, **self.outcome}

    def save(self, folder: str | PathLike[str]) -> Path:
        """Write ``manifest.json`` and Parquet tables; the same scenario and seed give the same bytes.

        The manifest is written last: a folder that has one is complete.

        Parameters
        ----------
        folder
            Made if it is not there; a run that it holds is replaced.

        Returns
        -------
        pathlib.Path
            The folder.

        Raises
        ------
        OSError
            If it cannot be written.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "manifest.json").unlink(missing_ok=True)
        tables = {name: getattr(self, name) for name in _TABLES}
        for name in _RECORDED:
            table = getattr(self, name)
            if table.width:
                tables[name] = table
            else:
                (folder / f"{name}.parquet").unlink(missing_ok=True)
        for name, table in tables.items():
            write_atomically(folder / f"{name}.parquet", parquet(table))
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
        """Read a folder that :meth:`save` wrote.

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
            If the folder's manifest is none.
        OSError
            If a file is missing or cannot be read.
        """
        path = Path(folder) / "manifest.json"
        try:
            manifest = json.loads(path.read_text(encoding="utf-8"))
            tables = {
                name: pl.read_parquet(path.with_name(f"{name}.parquet"))
                for name in _RECORDED
                if name in manifest["tables"]
            }
            return cls(
                scenario=manifest["scenario"],
                outcome=manifest["outcome"],
                engine=manifest["engine"],
                series=tables.get("series", pl.DataFrame()),
                events=tables.get("events", pl.DataFrame()),
                allocations=tables.get("allocations", pl.DataFrame()),
                completions=tables.get("completions", pl.DataFrame()),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"{path}: not the manifest of a run: {error!r}") from None
