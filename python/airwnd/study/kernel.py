"""Transfers by the TCP of this machine's kernel, over a session of ``airwnd link`` in real time."""

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from airwnd.link import transfers as program
from airwnd.link.commands import Part, place
from airwnd.link.session import Session
from airwnd.link.snapshot import summary_of
from airwnd.results.engine import duration_ns
from airwnd.results.raw import Raw
from airwnd.scenario.scenario import Scenario
from airwnd.study.transfers import Transfer, renamed
from airwnd.support.errors import InputError

_AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
#: Sessions of a run, of which each was late, after which it has failed.
ATTEMPTS = 3


def controls() -> list[str]:
    """Return the congestion controls that this kernel has loaded; empty on other systems."""
    try:
        return _AVAILABLE.read_text(encoding="ascii").split()
    except OSError:
        return []


def release() -> str:
    """Return the name and version of this kernel."""
    return f"{platform.system()} {platform.release()}"


@dataclass(frozen=True)
class KernelTransfers:
    """Transfers by this kernel's TCP.

    Attributes
    ----------
    cc
        Congestion control, by the kernel's name.
    transfers
        The transfers.
    """

    cc: str
    transfers: tuple[Transfer, ...]

    @property
    def key(self) -> str:
        """All that the results depend on besides scenario, seed and series, apart from real time."""
        return json.dumps([release(), self.cc, [astuple(each) for each in self.transfers]])

    @property
    def code(self) -> str:
        """Name of the congestion control."""
        return f"kernel:{self.cc}"

    def carry_out(self, scenario: Scenario, seed: int, series: str | None, *_ignored: int | None) -> Raw:
        """Execute a run with the transfers; a session that is late is repeated.

        Raises
        ------
        InputError
            If every session was late, or a program has failed.
        ScenarioError
            If the system lacks what a session needs.
        """
        until_s = duration_ns("duration", scenario.resolved["duration"]) / 1e9
        session = self._session(scenario, seed, series, until_s)
        late_ns = 0.0
        for _ in range(ATTEMPTS):
            raw, text = scenario.link(session.request(), lambda _: True)
            summary = summary_of(text)
            if summary.exit_code:
                raise InputError(f"{self.code}: the transfers have ended with exit code {summary.exit_code}")
            late_ns = 1e3 * summary.lateness_us.p99
            if late_ns <= session.limit_ns:
                return renamed(raw, self._names(json.loads(raw.outcome)["connections"]))
        raise InputError(
            f"{self.code}: 1 % of the packets were more than {late_ns / 1e6:.1f} ms late in {ATTEMPTS} "
            "sessions; try --jobs 1, or a less loaded machine"
        )

    def _session(self, scenario: Scenario, seed: int, series: str | None, until_s: float) -> Session:
        each = [
            {"port": program.PORT + place, **{key: getattr(transfer, key) for key in program.KEYS}}
            for place, transfer in enumerate(self.transfers)
        ]
        ues = [transfer.ue for transfer in self.transfers]
        parts = []
        for ue in dict.fromkeys(ues):
            used = [one for one, name in zip(each, ues, strict=True) if name == ue]
            parts.append(Part(ue, tuple(program.command("use", self.cc, used, until_s))))
        return Session(
            scenario=scenario,
            seed=seed,
            placed=place(parts, scenario.resolved),
            end={"kind": "namespace", "command": program.command("serve", self.cc, each, until_s)},
            series=series,
            keep_flows=True,
        )

    def _names(self, connections: Sequence[Mapping[str, Any]]) -> dict[str, Transfer]:
        """Return the transfers by the ids of their flows, which their ports tell."""
        ports = {str(program.PORT + place): transfer for place, transfer in enumerate(self.transfers)}
        found = {}
        for row in connections:
            if (transfer := ports.get(row["server_end"].rpartition(":")[2])) is not None:
                found[row["flow"]] = transfer
        return found
