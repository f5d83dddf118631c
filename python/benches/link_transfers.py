"""Transfers by the running kernel's TCP over emulated links, one after the other.

Run with ``python python/benches/link_transfers.py JOBS``: JOBS is a JSON list of `Job`,
and a JSON list of `Result` is printed. Needs the permission to use the congestion controls.

Only the standard library and the native module are imported: the program also runs in emulated computers
(`tests/linux.py`), in which reading a file takes a long time.
"""

import contextlib
import json
import os
import signal
import socket
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from airwnd import _native

PORT = 5000
SERVER = "100.64.0.1"
"""Address of the server's end; IPv4, whose segments have 1448 bytes of payload."""
BLOCK = bytes(1 << 17)
# Ends of the link, as `airwnd.link.session` starts them.
HELPER = [
    *(sys.executable, "-I", "-c"),
    "import sys; from airwnd._native import link_side; link_side(int(sys.argv[1]))",
]


@dataclass(frozen=True)
class Job:
    """A transfer by the scenario's first UE."""

    scenario: str
    """In JSON."""
    cc: str
    """Congestion control of the sender, by the kernel's name."""
    is_upload: bool
    seconds: float
    seed: int
    sysctls: dict[str, str]
    """Sysctls below `net.ipv4` of both ends."""


@dataclass(frozen=True)
class Result:
    """Outcome of a job."""

    session_s: float
    """Simulated time until the end of the transfer."""
    flow: dict[str, Any]
    """Row of `flows`."""
    lateness_p99_ms: float


def run(job: Job) -> Result:
    """Run a transfer."""
    options = [job.cc, str(job.seconds), str(int(job.is_upload))]
    server, client = ([sys.executable, "-I", __file__, end, *options] for end in ("serve", "use"))
    request = {
        "seed": job.seed,
        "series_interval_ns": None,
        "sockets_interval_ns": 1_000_000_000,
        "helper": HELPER,
        "end": {"kind": "namespace", "command": server},
        "default_server": False,
        "ues": [{"ue": 0, "name": "ue", "command": client}],
        "keep_flows": False,
        "mtu": 1500,
        "sysctls": [(f"net/ipv4/{name}", value) for name, value in job.sysctls.items()],
        "device_queue": 10_000,
        "coalesces": False,
        "captures_output": False,
        "logs": [],
        "once": [],
        "clock": {"busy_wait": False, "realtime": True, "lateness_limit_ns": 1_000_000},
        "pcap": None,
    }
    scenario = _native.Scenario(job.scenario, "scenario", "json", [], 1.0, lambda _: None)
    text, _, summary_text = _native.link(scenario, json.dumps(request), lambda _: True)
    outcome, summary = json.loads(text), json.loads(summary_text)
    if summary["exit_codes"] != [0]:
        raise RuntimeError(f"the transfer with {job.cc} failed")
    real = [flow for flow in outcome["flows"] if flow["group"] == "real" and flow["kind"] == "tcp"]
    flow = max(real, key=lambda flow: flow["packets_sent"])
    return Result(outcome["duration_s"], flow, summary["lateness_us"]["p99"] / 1e3)


def serve(cc: str, *, is_upload: bool) -> None:
    """Accept a connection and transfer data for as long as the other end does."""
    with socket.create_server((SERVER, PORT)) as server:
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, cc.encode())
        connection, _ = server.accept()
        with contextlib.suppress(ConnectionError):
            _transfer(connection, sends=not is_upload)


def use(cc: str, seconds: float, *, is_upload: bool) -> None:
    """Connect and transfer data; the session ends with this process."""
    signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
    with socket.socket() as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, cc.encode())
        signal.setitimer(signal.ITIMER_REAL, seconds)
        connection.connect((SERVER, PORT))
        _transfer(connection, sends=is_upload)


def _transfer(connection: socket.socket, *, sends: bool) -> None:
    # Linux tests whether the send buffer is full only when it begins another socket buffer. Nagle's algorithm
    # keeps the end of each block in an unfinished one, so a blocking writer can exceed the buffer twofold and
    # more.
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while sends:
        connection.send(BLOCK)
    while connection.recv(1 << 20):
        pass


def main(arguments: Sequence[str]) -> int:
    """Run all jobs, or an end of one."""
    match arguments:
        case "serve", cc, _, is_upload:
            serve(cc, is_upload=bool(int(is_upload)))
        case "use", cc, seconds, is_upload:
            use(cc, float(seconds), is_upload=bool(int(is_upload)))
        case [jobs]:
            done = [asdict(run(Job(**job))) for job in json.loads(Path(jobs).read_text(encoding="utf-8"))]
            sys.stdout.write(json.dumps(done))
        case _:
            sys.stderr.write("usage: link_transfers.py JOBS\n")
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
