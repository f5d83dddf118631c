"""Compares windows that ``airwnd guard`` sets on a kernel's sockets with the same controllers simulated.

Run with ``python python/benches/guard_against_simulation.py`` as root, on an idle machine. For each
controller one download over `airwnd link`, in this machine's kernel with the guard, and simulated.
The table is CSV: goodput over the whole download, the median of the sender's smoothed RTT after the first
seconds, sampled every 100 ms, and the differences relative to the kernel. The sender is Reno.
Some controllers are not offered by ``airwnd guard``: build the guard that has them with
``cargo build --release -p airwnd-guard --features study``.
"""

import argparse
import csv
import json
import os
import shlex
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

from airwnd import Scenario
from airwnd.cli.options import bar

PROGRAMS = Path(__file__).parents[2] / "experiments" / "stacks" / "programs"
ALLOWED = Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control")
SETTLING_S = 20.0
"""Time for slow start, its queue, and the growth of rLEDBAT after it."""
PORT = 5201
MAX_PERCENT = 10.0
"""Difference above which a row is marked."""

Settings = Mapping[str, Any]

LINKS: Mapping[str, Settings] = {
    "10 Mbit/s, 20 ms": {"rate": "10Mbps", "delay": "10ms", "queue_bytes": "2MB"},
    "30 Mbit/s, 50 ms": {"rate": "30Mbps", "delay": "25ms", "queue_bytes": "2MB"},
}
CONTROLLERS: tuple[Settings, ...] = (
    {"kind": "drwa"},
    {"kind": "drwa", "lambda": 1.5},
    {"kind": "dfcsd"},
    {"kind": "dfcsd", "update": "step"},
    {"kind": "rtac"},
    {"kind": "rledbat"},
    {"kind": "standing"},
)


@dataclass(frozen=True)
class Figures:
    """Figures that are compared."""

    goodput_kbps: float
    rtt_ms: float


@dataclass(frozen=True)
class Length:
    """Length of a download, and the time at its start in which the RTT is not measured."""

    seconds: float
    settling_s: float


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=60.0, help="length of a download")
    parser.add_argument("--guard", default="target/release/airwnd-guard", help="the command of the guard")
    options = parser.parse_args()
    guard = shlex.split(options.guard)
    length = Length(options.seconds, SETTLING_S)
    cases = [(link, controller) for link in LINKS for controller in CONTROLLERS]
    writer = csv.writer(sys.stdout, lineterminator="\n")
    names = ("kernel_kbps", "simulated_kbps", "percent", "kernel_rtt_ms", "simulated_rtt_ms", "rtt_percent")
    writer.writerow(["link", "rwnd", *names, "outside"])
    with bar("guard", None) as update:
        for done, (link, controller) in enumerate(cases):
            if update:
                update(done / len(cases))
            network = over(LINKS[link])
            kernel = in_kernel(network, "reno", controller, guard, length)
            simulated = in_simulation(network, "reno", controller, length)
            pairs = [(kernel.goodput_kbps, simulated.goodput_kbps), (kernel.rtt_ms, simulated.rtt_ms)]
            cells: list[str] = []
            for found, expected in pairs:
                cells += [f"{found:.1f}", f"{expected:.1f}", f"{100 * (expected / found - 1):+.1f}"]
            outside = any(abs(expected / found - 1) > MAX_PERCENT / 100 for found, expected in pairs)
            writer.writerow([link, inline(controller), *cells, "outside" if outside else ""])
            sys.stdout.flush()


def over(link: Settings) -> Settings:
    """Return a network of one link and one UE."""
    return {"core": {"server_delay": "0ms"}, "link": [link], "ue": [{"name": "phone"}]}


def in_simulation(network: Settings, sender: str, controller: Settings, length: Length) -> Figures:
    """Simulate a download with a congestion control of the kernel."""
    cc = {"kind": "newreno", "growth": "per-byte"} if sender == "reno" else sender
    flow = {"id": "phone", "ue": network["ue"][0]["name"], "cc": cc, "rwnd": controller}
    run = Scenario.from_dict({**network, "duration": f"{length.seconds}s", "flow": [flow]}).run(
        1, series="100ms"
    )
    (row,) = run.flows.to_dicts()
    series = run.series.filter(pl.col("time_s") >= length.settling_s)
    return Figures(row["goodput_kbps"], statistics.median(series["rtt_ms"].drop_nulls()))


def in_kernel(network: Settings, cc: str, controller: Settings, guard: list[str], length: Length) -> Figures:
    """Run a download in this machine's kernel."""
    with TemporaryDirectory() as name, cgroup() as group:
        folder = Path(name)
        session_of = {**network, "duration": "3600s", "flow": []}
        (folder / "scenario.json").write_text(json.dumps(session_of), encoding="utf-8")
        tcp = [sys.executable, str(PROGRAMS / "tcp.py")]
        client = [*tcp, "client", "server", str(PORT), cc, "down", "--seconds", str(length.seconds)]
        client += ["--result", str(folder / "result")]
        command = [*guard, "--cgroup", str(group), "--rwnd", inline(controller)]
        script = f"""
            echo 0 > {group}/cgroup.procs
            {shlex.join(command)} 2> {folder}/guard & guard=$!
            until grep -q guarding {folder}/guard; do kill -0 $guard || exit 1; sleep 0.1; done
            {shlex.join(client)}; code=$?
            kill $guard; wait $guard; exit $code"""
        session = [sys.executable, "-I", "-m", "airwnd", "link", "--quiet", str(folder / "scenario.json")]
        session += ["--server", shlex.join([*tcp, "server", "::", str(PORT), cc]), "--", "sh", "-c", script]
        subprocess.run(session, check=True, timeout=length.seconds + 60)
        result = json.loads((folder / "result").read_text(encoding="utf-8").splitlines()[-1])
        counted = [rtt_ms for at_s, rtt_ms, _, _ in result["samples"] if at_s >= length.settling_s]
        return Figures(result["goodput_kbps"], statistics.median(counted))


@contextmanager
def cgroup() -> Iterator[Path]:
    """Create a cgroup for the client, removed at the end."""
    roots = [Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified")]
    root = next(root for root in roots if (root / "cgroup.controllers").exists())
    path = root / f"airwnd-bench-{os.getpid()}"
    path.mkdir()
    try:
        yield path
    finally:
        path.rmdir()


def inline(controller: Settings) -> str:
    """Return a controller as a value of TOML."""
    pairs = (f"{key} = {json.dumps(value)}" for key, value in controller.items())
    return f"{{{', '.join(pairs)}}}"


if __name__ == "__main__":
    main()
