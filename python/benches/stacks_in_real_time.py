"""Compares stacks in virtual time with the same stacks over ``airwnd link``, and measures the kernel there.

Run with ``python python/benches/stacks_in_real_time.py compare`` or ``kernel``, as root and on an idle
machine, with the package of ``adapters/python`` installed. ``compare`` prints a table in Markdown: means
over the seeds, and the difference of real time. ``late`` prints what the stacks do in virtual time if their
ends are late by chance, as processes are. ``kernel`` prints the CSV of
``experiments/stacks-in-cell/kernel.csv``.

In real time both ends are processes with UDP sockets, whose clock is that of the machine. A transfer begins
when its process has started; in virtual time it begins then, too, and has the same end and seed. smoltcp's IP
packets are payloads of UDP in both. The ends of str0m exchange their keys when they are made, so that they
cannot be in two processes.

The ends run under SCHED_FIFO, as the relay between them does, since a congestion control measures how late
they are. As in virtual time, an end may send after each datagram that it receives. Sessions whose relay or
ends are late are repeated.
"""

import argparse
import contextlib
import datetime as dt
import json
import os
import platform
import random
import select
import socket
import statistics
import struct
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from airwnd import Endpoint, Pair, Scenario
from airwnd import Path as Network
from airwnd.link.commands import Part, place
from airwnd.link.session import Session
from airwnd.link.snapshot import summary_of
from airwnd.results.engine import duration_ns
from airwnd.study.kernel import KernelTransfers, release
from airwnd.study.stacks import find
from airwnd.study.transfers import Transfer

STUDY = Path(__file__).parents[2] / "experiments" / "stacks-in-cell" / "scenarios"
STACKS = (
    ("quinn", {"cc": "cubic"}),
    ("quinn", {"cc": "newreno"}),
    ("s2n", {"cc": "cubic"}),
    ("s2n", {"cc": "bbr"}),
    ("smoltcp", {"cc": "reno"}),
)
SCENARIOS = ("loaded", "recording")
SERVER, PORT = "100.64.0.1", 5001
MTU = 1600
"""MTU of the link: packets of smoltcp have 28 bytes more."""
LIMITS_NS = (1_000_000, 2_000_000)
"""Limits of the 99th percentile of lateness: that of the relay, and that of an end."""
ATTEMPTS = 5
PRIORITY = 5
"""Priority of the ends among real-time threads, below that of the relay."""
STARTS = 8
"""Transfers in virtual time for each in real time. They begin a millisecond apart, and differ by chance."""
LATE_S = 2e-4
"""Mean of the lateness of an end in virtual time."""
REPORT_S = 0.5
"""Time before the end at which the server's end reports how late it was."""
SO_TIMESTAMPNS = 35
"""Option of a socket of Linux: the time at which a packet arrived (socket(7))."""


@dataclass(frozen=True)
class Result:
    """A transfer: goodput, mean one-way delay of the data, share of packets lost, and its times."""

    goodput_kbps: float
    delay_ms: float
    loss_percent: float
    start_s: float
    end_s: float
    late_ms: float = 0.0
    """99th percentile of the lateness of the later end; 0 in virtual time."""


def in_real_time(scenario: Scenario, name: str, options: Mapping[str, Any], seed: int) -> Result:
    """Run a transfer over a session; a late one is repeated."""
    until_s = duration_ns("duration", scenario.resolved["duration"]) / 1e9
    ue = scenario.resolved["ue"][0]["name"]
    late_ns = (0.0, 0.0)
    for _ in range(ATTEMPTS):
        with TemporaryDirectory() as folder:
            given = {"name": name, "options": dict(options), "seed": seed, "until_s": until_s, "out": folder}
            program = ("chrt", "--fifo", str(PRIORITY), sys.executable, __file__)
            ends = [(*program, end, json.dumps(given)) for end in ("serve", "use")]
            session = Session(
                scenario=scenario,
                seed=seed,
                placed=place([Part(ue, ends[1])], scenario.resolved),
                end={"kind": "namespace", "command": list(ends[0])},
                keep_flows=True,
                mtu=MTU,
            )
            raw, text = scenario.link(session.request(), lambda _: True)
            ue_end, server_end = (
                json.loads((Path(folder) / f"{end}.json").read_text(encoding="utf-8"))
                for end in ("use", "serve")
            )
        late_ns = (1e3 * summary_of(text).lateness_us.p99, max(ue_end["late_ns"], server_end["late_ns"]))
        if all(late <= limit for late, limit in zip(late_ns, LIMITS_NS, strict=True)):
            outcome = json.loads(raw.outcome)
            (connection,) = [row for row in outcome["connections"] if row["server_end"].endswith(f":{PORT}")]
            (row,) = [row for row in outcome["flows"] if row["id"] == connection["flow"]]
            result = _result(row, ue_end["bytes"], connection["start_s"], outcome["duration_s"])
            return replace(result, late_ms=late_ns[1] / 1e6)
    late_ms = " and ".join(f"{late / 1e6:.1f}" for late in late_ns)
    raise SystemExit(f"{name}: late by {late_ms} ms in {ATTEMPTS} sessions: is the machine idle?")


def in_virtual_time(
    scenario: Scenario, ends: tuple[Endpoint, Endpoint], seed: int, span_s: tuple[float, float]
) -> Result:
    """Run the transfer in virtual time, from a begin to an end."""
    start_s, end_s = span_s
    client, server = ends
    network = Network(scenario, seed)
    ue = scenario.resolved["ue"][0]["name"]
    (flow,) = network.run_all([Pair(client, server, ue, start_s)], end_s)
    flow_id = network.id(flow)
    outcome = network.finish().outcome
    (row,) = [row for row in outcome["flows"] if row["id"] == flow_id]
    return _result(row, client.received_bytes, start_s, end_s)


def _result(row: Mapping[str, Any], received: int, start_s: float, end_s: float) -> Result:
    return Result(
        goodput_kbps=received * 8e-3 / (end_s - start_s),
        delay_ms=row["delay_ms_mean"],
        loss_percent=100 * row["packets_dropped"] / max(row["packets_sent"], 1),
        start_s=start_s,
        end_s=end_s,
    )


def _ends(name: str, options: Mapping[str, Any], seed: int) -> tuple[Endpoint, Endpoint]:
    ends = find(name, options)(seed)
    for end in ends:
        end.protocol = None
    return ends


class _Late(Endpoint):
    """An end whose process runs some time after a datagram or a timer wakes it."""

    def __init__(self, end: Endpoint, chance: random.Random) -> None:
        self.end = end
        self.chance = chance
        self.protocol = end.protocol
        self.arrived: list[tuple[bytes, int]] = []
        self.timer_s: float | None = None
        self.runs_s: float | None = 0.0

    def transmit(self, now_s: float) -> Any:
        if self.runs_s is None or self.runs_s > now_s:
            return []
        for data, ecn in self.arrived:
            self.end.receive(now_s, data, ecn)
        self.arrived.clear()
        if self.timer_s is not None and self.timer_s <= now_s:
            self.end.on_timeout(now_s)
        sent = self.end.transmit(now_s)
        self.timer_s = self.end.timeout()
        self.runs_s = None if self.timer_s is None else max(self.timer_s, now_s) + self._late_s()
        return sent

    def receive(self, now_s: float, data: bytes, ecn: int) -> None:
        if not self.arrived:
            woken_s = now_s + self._late_s()
            self.runs_s = woken_s if self.runs_s is None else min(self.runs_s, woken_s)
        self.arrived.append((data, ecn))

    def timeout(self) -> float | None:
        return self.runs_s

    @property
    def received_bytes(self) -> int:  # type: ignore[override]  # read from the end
        return self.end.received_bytes

    def _late_s(self) -> float:
        return self.chance.expovariate(1 / LATE_S)


def be(end: str, given: Mapping[str, Any]) -> None:
    """Be an end of a transfer in real time, until the end at the UE is over."""
    client, server = _ends(given["name"], given["options"], given["seed"])
    is_ue = end == "use"
    exchange = _Exchange(client if is_ue else server)
    if is_ue:
        exchange.connect()
        exchange.run(given["until_s"])
    else:
        exchange.serve()
        # The session kills this process when that of the UE has ended.
        exchange.run(given["until_s"] - REPORT_S)
    late_ns = statistics.quantiles(exchange.late_ns, n=100)[-1]
    report = {"bytes": client.received_bytes, "late_ns": late_ns}
    Path(given["out"], f"{end}.json").write_text(json.dumps(report), encoding="utf-8")
    if not is_ue:
        exchange.run(float("inf"))


class _Exchange:
    """An end with its socket and its clock."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.began_s = 0.0
        self.late_ns: list[int] = []
        self.peer: tuple[str, int] | None = None
        self.channel = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.channel.setblocking(False)
        for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
            self.channel.setsockopt(socket.SOL_SOCKET, option, 1 << 23)
        self.channel.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self.channel.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)

    def connect(self) -> None:
        """Begin the clock."""
        self.peer = (SERVER, PORT)
        self.began_s = time.monotonic()

    def serve(self) -> None:
        """Begin the clock with the first packet."""
        self.channel.bind((SERVER, PORT))
        select.select([self.channel], [], [])
        self.began_s = time.monotonic()

    def run(self, end_s: float) -> None:
        """Send and receive until a time."""
        while (now_s := time.monotonic() - self.began_s) < end_s:
            self._transmit(now_s)
            due_s = self.endpoint.timeout()
            set_s = time.monotonic() - self.began_s
            wait_s = min(end_s, float("inf") if due_s is None else due_s) - set_s
            if wait_s > 0:
                select.select([self.channel], [], [], None if wait_s == float("inf") else wait_s)
            now_s = time.monotonic() - self.began_s
            if due_s is not None and now_s >= due_s:
                self.late_ns.append(round(1e9 * (now_s - max(due_s, set_s))))
                self.endpoint.on_timeout(now_s)
            else:
                self._receive(now_s)

    def _transmit(self, now_s: float) -> None:
        for datagram in self.endpoint.transmit(now_s):
            data, ecn = datagram if isinstance(datagram, tuple) else (datagram, 0)
            field = [(socket.IPPROTO_IP, socket.IP_TOS, struct.pack("i", ecn))]
            # A full device queue drops the packet, as in any stack; at the end there is no device.
            with contextlib.suppress(OSError):
                self.channel.sendmsg([data], field, 0, *([self.peer] if self.peer else []))

    def _receive(self, now_s: float) -> None:
        try:
            data, control, _, self.peer = self.channel.recvmsg(1 << 16, 256)
        except (BlockingIOError, ConnectionRefusedError):
            return
        ecn = 0
        for _, kind, value in control:
            if kind == socket.IP_TOS:
                ecn = value[0] & 3
            elif kind == SO_TIMESTAMPNS:
                seconds, nanoseconds = struct.unpack("qq", value)
                self.late_ns.append(time.time_ns() - 1_000_000_000 * seconds - nanoseconds)
        self.endpoint.receive(now_s, data, ecn)


def compare(seeds: int, stacks: Iterable[str]) -> None:
    """Print the table of virtual and real time."""
    print(_conditions())
    columns = ("Goodput, virtual (kbit/s)", "real", "Delay, virtual (ms)", "real", "Losses (%)", "real")
    print(f"\n| Scenario | Stack | {' | '.join(columns)} | Ends late (ms) |")
    print("|---|---|--:|--:|--:|--:|--:|--:|--:|")
    for file in SCENARIOS:
        scenario = Scenario.load(STUDY / f"{file}.toml")
        for name, options in STACKS:
            stack = " ".join([name, *options.values()])
            if stack not in stacks:
                continue
            real = [in_real_time(scenario, name, options, seed) for seed in range(1, seeds + 1)]
            virtual = [
                [
                    in_virtual_time(scenario, _ends(name, options, seed), seed, (start_s, found.end_s))
                    for start_s in (found.start_s + k / 1e3 for k in range(STARTS))
                ]
                for seed, found in enumerate(real, 1)
            ]
            print(_row(scenario.name, stack, virtual, real), flush=True)


def _row(scenario: str, stack: str, virtual: list[list[Result]], real: list[Result]) -> str:
    """Means over the seeds, and in brackets the range of the means of which each has a start per seed."""

    def cells(value: Callable[[Result], float], digits: int, *, is_relative: bool = True) -> list[str]:
        lowest, mean, highest = (
            statistics.fmean(summary([value(each) for each in starts]) for starts in virtual)
            for summary in (min, statistics.fmean, max)
        )
        other = statistics.fmean(map(value, real))
        difference = f" ({100 * (other / mean - 1):+.1f} %)" if is_relative else ""
        return [
            f"{mean:.{digits}f} [{lowest:.{digits}f}, {highest:.{digits}f}]",
            f"{other:.{digits}f}{difference}",
        ]

    columns = [
        *cells(lambda each: each.goodput_kbps, 0),
        *cells(lambda each: each.delay_ms, 1),
        *cells(lambda each: each.loss_percent, 2, is_relative=False),
        f"{max(each.late_ms for each in real):.2f}",
    ]
    return f"| {scenario} | {stack} | {' | '.join(columns)} |"


def late(seeds: int, stacks: Iterable[str]) -> None:
    """Print the delays of transfers in virtual time whose ends are late at random, a line for each seed."""
    for file in SCENARIOS:
        scenario = Scenario.load(STUDY / f"{file}.toml")
        until_s = duration_ns("duration", scenario.resolved["duration"]) / 1e9
        for name, options in STACKS:
            stack = " ".join([name, *options.values()])
            for seed in range(1, seeds + 1) if stack in stacks else ():
                delays = []
                for k in range(STARTS):
                    chance = random.Random(STARTS * seed + k)  # noqa: S311 - not for security
                    ends = _ends(name, options, seed)
                    one, other = (_Late(end, chance) for end in ends)
                    found = in_virtual_time(scenario, (one, other), seed, (1.0, until_s))
                    delays.append(f"{found.delay_ms:.1f}")
                print(f"{scenario.name}: {stack}, seed {seed}: {', '.join(delays)} ms", flush=True)


def kernel(seeds: int) -> None:
    """Print the rows of the kernel's congestion controls."""
    print(f"# {_conditions()}")
    print("scenario,stack,seed,goodput_kbps,delay_ms_p95,loss_percent,retransmissions")
    for file in ("walking", "driving", "loaded", "blockage", "recording", "leo"):
        scenario = Scenario.load(STUDY / f"{file}.toml")
        ue = scenario.resolved["ue"][0]["name"]
        for cc in ("cubic", "bbr"):
            transfers = KernelTransfers(cc, (Transfer(ue, "tested", "tested"),))
            for seed in range(1, seeds + 1):
                outcome = json.loads(transfers.carry_out(scenario, seed, None).outcome)
                (row,) = [row for row in outcome["flows"] if row["id"] == "tested"]
                loss = 100 * row["packets_dropped"] / row["packets_sent"]
                print(
                    f"{scenario.name},kernel {cc},{seed},{row['goodput_kbps']:.0f},"
                    f"{row['delay_ms_p95']:.1f},{loss:.2f},{row['retransmissions']}",
                    flush=True,
                )


def _conditions() -> str:
    load = os.getloadavg()[0]
    return (
        f"{dt.datetime.now(dt.UTC).date()}, {release()}, {platform.machine()}, {os.cpu_count()} cores, "
        f"load {load:.1f} at the begin"
    )


def main() -> None:
    """Run a measurement, or an end of a transfer."""
    if sys.argv[1:2] in (["serve"], ["use"]):
        be(sys.argv[1], json.loads(sys.argv[2]))
        return
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["compare", "late", "kernel"])
    parser.add_argument("--seeds", type=int, default=3)
    names = [" ".join([name, *options.values()]) for name, options in STACKS]
    parser.add_argument("--stacks", nargs="+", choices=names, default=names)
    given = parser.parse_args()
    if given.what == "kernel":
        kernel(given.seeds)
    else:
        {"compare": compare, "late": late}[given.what](given.seeds, given.stacks)


if __name__ == "__main__":
    main()
