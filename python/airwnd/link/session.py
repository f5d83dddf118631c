"""A session: its request to the engine, its end by signals, and its results."""

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, Any, Self

from airwnd.link.snapshot import Snapshot, Summary, snapshot_of, summary_of
from airwnd.results.engine import duration_ns
from airwnd.results.frames import flattened
from airwnd.results.raw import Raw
from airwnd.scenario.run import Run

if TYPE_CHECKING:
    from airwnd.link.commands import Placed
    from airwnd.results.capture import Capture
    from airwnd.scenario.scenario import Scenario

#: The default other end; it imports the standard library only, so that it starts fast.
DEFAULT_END = {"kind": "namespace", "command": [sys.executable, "-I", "-m", "airwnd.link.server"]}
#: Processes that set up a side of the link; the number of their socket is the last argument.
HELPER = (
    sys.executable,
    "-I",
    "-c",
    "import sys; from airwnd._native import link_side; link_side(int(sys.argv[1]))",
)
#: Sampling interval of the series in an --out folder.
SERIES = "100ms"
# Sampling interval of the kernel's sockets in a session without series, for displays.
_SOCKETS_NS = 200_000_000
# Packets in a device until the relay reads them: 10 ms of small packets at 1 Gbit/s.
_DEVICE_QUEUE = 10_000
# Set in the environment of commands: a session that finds it is within another one.
_OUTER = "MAHIMAHI_BASE"
# Ctrl-C reaches the commands as well: they have this time to end by themselves.
_GRACE_S = 2.0


def mahimahi_end() -> Mapping[str, Any]:
    """Return the other end of Mahimahi's shells: this machine, or the outer session.

    Without root it is the default one: this machine is reached through pasta only, which ends TCP connections
    itself.
    """
    return {"kind": "host"} if os.geteuid() == 0 or _OUTER in os.environ else DEFAULT_END


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A session that can be started.

    Attributes
    ----------
    scenario
        The cell or link.
    seed
        Seed of its random streams.
    placed
        Commands and their UEs.
    end
        The other end: ``{"kind": "namespace", "command": [...]}``, ``{"kind": "host"}`` or ``{"kind":
        "internet"}``.
    series
        Sampling interval of the series; ``None``: no series.
    has_battery
        Whether the other end is that of a battery, which runs the default server as well.
    pcap
        Packet capture; ``None``: no capture.
    keep_flows
        Simulate the scenario's flows of the real UEs, too.
    mtu
        MTU of the sides in bytes.
    busy_wait
        Wait for departures without sleeping.
    coalesce
        Deliver consecutive TCP segments that leave at the same time at once.
    lateness_limit
        p99 lateness above which the session is reported as late.
    captured
        Pass the commands' output to `watch` instead of the terminal.
    sysctls
        Sysctls of the namespaces, by their paths below ``/proc/sys``.
    logs
        Log files of links in Mahimahi's format: ``path``, ``link`` (its place), ``is_up``, and the lines
        ``head`` and ``tail`` before and after those of the start.
    once
        Places of the links whose traces are not repeated: the session ends with the first of them.
    """

    scenario: "Scenario"
    seed: int
    placed: "Sequence[Placed]"
    end: Mapping[str, Any]
    has_battery: bool = False
    series: str | None = None
    pcap: "Capture | None" = None
    keep_flows: bool = False
    mtu: int = 1500
    busy_wait: bool = False
    coalesce: bool = False
    lateness_limit: str = "1ms"
    captured: bool = False
    sysctls: Sequence[tuple[str, str]] = ()
    logs: Sequence[Mapping[str, Any]] = ()
    once: Sequence[int] = ()

    def request(self) -> dict[str, Any]:
        """Return the request to the engine.

        Raises
        ------
        InputError
            If a time has no unit.
        """
        interval = None if self.series is None else duration_ns("--series", self.series)
        return {
            "seed": self.seed,
            "series_interval_ns": interval,
            "sockets_interval_ns": interval or _SOCKETS_NS,
            "helper": list(HELPER),
            "end": dict(self.end),
            "default_server": self.end == DEFAULT_END or self.has_battery,
            "ues": [
                {"ue": each.ue, "name": each.name, "command": list(each.command)} for each in self.placed
            ],
            "keep_flows": self.keep_flows,
            "mtu": self.mtu,
            "sysctls": list(self.sysctls),
            "device_queue": _DEVICE_QUEUE,
            "coalesces": self.coalesce,
            "captures_output": self.captured,
            "logs": [dict(log) for log in self.logs],
            "once": list(self.once),
            "clock": {"busy_wait": self.busy_wait, "realtime": True, "lateness_limit_ns": self.limit_ns},
        }

    @property
    def limit_ns(self) -> int:
        """The limit of the p99 lateness, in nanoseconds."""
        return duration_ns("--lateness-limit", self.lateness_limit)

    def run(self, watch: Callable[[Snapshot], bool]) -> "Finished":
        """Run the session until its commands have ended.

        Parameters
        ----------
        watch
            Called about five times a second; returns false to end the session.

        Raises
        ------
        ScenarioError
            If the system lacks what a session needs.
        """
        raw, text = self.scenario.link(self.request(), lambda found: watch(snapshot_of(found)), self.pcap)
        summary = json.loads(text)
        outcome = {**json.loads(raw.outcome), "link": flattened(summary)}
        run = Run.of(self.scenario.resolved, Raw(json.dumps(outcome), raw.tables, raw.wall_s))
        return Finished(run, summary_of(text), summary)


@dataclass(frozen=True, slots=True)
class Finished:
    """Results of a session: the run, with the summary as its outcome's ``link``; and the summary."""

    run: Run
    summary: Summary
    summary_json: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Return the object that ``--summary`` writes: that of ``airwnd run --json``, with ``link``."""
        return {**self.run.to_json(), "link": self.summary_json}


class Stop:
    """Ends a session at Ctrl-C and signals, but lets commands that receive Ctrl-C end by themselves.

    A context manager; in threads other than the main one it has no effect.

    Attributes
    ----------
    code
        Exit code, if a signal has ended the session; otherwise ``None``.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._interrupts: list[float] = []
        self._ended_by: int | None = None
        self._previous: dict[int, Any] = {}
        self.code: int | None = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                self._previous[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        if number == signal.SIGINT:
            self._interrupts.append(self._clock())
        else:
            self._ended_by = number

    def end(self) -> None:
        """End the session as Ctrl-C does, without waiting for the commands."""
        self._ended_by = signal.SIGINT

    def asked(self) -> bool:
        """Return whether the session is to end now."""
        if self._interrupts and (len(self._interrupts) > 1 or self._clock() - self._interrupts[0] > _GRACE_S):
            self._ended_by = signal.SIGINT
        if self._ended_by is None:
            return False
        self.code = 128 + self._ended_by
        return True
