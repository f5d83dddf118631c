"""Measures the throughput, the lateness and the cost of ``airwnd link``.

Run with ``python python/benches/link.py [--seconds 10] [--csv FILE]``, on an idle machine; needs iperf3. As
root the relay runs under SCHED_FIFO, as an ordinary user with normal scheduling.

A row is a session with TCP downloads (CUBIC if the user may select it, IPv4) over a wire, a cell of LTE with
20 MHz or one of NR with 100 MHz and 4 x 4 antennas, without and with a competing load: a busy loop per core.
Goodput is that of the kernel's receiver; the calls are the reads and writes of the session's process for each
packet that entered the network; the memory is the largest resident size of that process.
"""

import argparse
import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

LINK = [sys.executable, "-I", "-m", "airwnd", "link", "--quiet"]
UES = (1, 10, 50)
NR = """
name = "nr"
duration = "60s"
carrier = { bandwidth = "100MHz", downlink_frequency = "3.5GHz" }
rlc.queue = { kind = "drop-tail", buffer = "8MB" }
[radio.access]
kind = "nr"
numerology = 1
pattern = "DDDSU"
mimo = { cell_antennas = 4, ue_antennas = 4 }
[[site]]
[[ue]]
name = "phone"
placement = {kind = "ring", radius = "100m"}
"""
CELL = """
name = "cell"
duration = "60s"
carrier.bandwidth = "20MHz"
[[site]]
[[ue]]
name = "phone"
placement = {{kind = "ring", radius = "100m"}}
{others}
"""
OTHERS = """
[[ue]]
name = "others"
count = {count}
placement = {{kind = "disc", radius = "500m"}}
[[flow]]
ue = "others"
"""
COLUMNS = (
    "link",
    "load",
    "goodput Mbit/s",
    "packets",
    "p50 us",
    "p99 us",
    "max us",
    "CPU %",
    "calls per packet",
    "MB",
    "behind ms",
    "TUN drops",
    "scheduling",
)


def main() -> None:
    """Measure all links and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=int, default=10, help="length of a download")
    parser.add_argument("--csv", type=Path, help="also write the table to this file")
    options = parser.parse_args()
    if shutil.which("iperf3") is None:
        parser.exit(2, "link.py: iperf3 is missing\n")
    rows = []
    print("  ".join(COLUMNS))
    with tempfile.TemporaryDirectory() as name:
        for loops in (0, os.cpu_count() or 1):
            with busy(loops):
                for title, flows, arguments in links(Path(name)):
                    figures = measured(arguments, flows, options.seconds, Path(name))
                    rows.append([title, f"{loops} loops", *figures])
                    print("  ".join(map(str, rows[-1])), flush=True)
    if options.csv:
        with options.csv.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([COLUMNS, *rows])


class Link(NamedTuple):
    """A link with the number of downloads and the arguments of a session."""

    title: str
    flows: int
    arguments: list[str]


def links(folder: Path) -> list[Link]:
    """Return the links; the fast ones are measured again with ``--coalesce``."""
    (folder / "nr.toml").write_text(NR, encoding="utf-8")
    nr = Link("NR, 4 x 4 antennas", 4, [str(folder / "nr.toml")])
    all_links = [wire("10Mbit", 1), wire("100Mbit", 1), wire("300Mbit", 1)]
    for count in UES:
        others = OTHERS.format(count=count - 1) if count > 1 else ""
        path = folder / f"{count}.toml"
        path.write_text(CELL.format(others=others), encoding="utf-8")
        all_links.append(Link(f"cell, {count} UEs", 1, [str(path)]))
    for title, flows, arguments in (wire("1Gbit", 1), wire("3Gbit", 4), nr):
        all_links.append(Link(title, flows, arguments))
        all_links.append(Link(f"{title}, --coalesce", flows, [*arguments, "--coalesce"]))
    return all_links


def wire(rate: str, flows: int) -> Link:
    """Return a wire of 10 ms with a queue of a bandwidth-delay product or more."""
    queue = "8000" if flows > 1 else "2000"
    return Link(f"wire {rate}/s", flows, ["--rate", rate, "--delay", "10ms", "--queue", queue])


def measured(arguments: list[str], flows: int, seconds: int, folder: Path) -> list[str]:
    """Run a session and return its figures."""
    summary = folder / "summary.json"
    download = f"iperf3 -4 -J -c server -R -P {flows} -t {seconds}"
    command = ["sh", "-c", f"{download} -C cubic || {download}"]
    words = [*LINK, "--summary", str(summary), "--lateness-limit", "10s", *arguments, "--", *command]
    with (folder / "output").open("w+", encoding="utf-8") as file:
        session = subprocess.Popen(words, stdout=file, stderr=subprocess.DEVNULL)
        calls, memory_kb = costs(session)
        if session.wait():
            raise subprocess.CalledProcessError(session.returncode, words)
        file.seek(0)
        output = file.read()
    # Without the right to select CUBIC, the first report is an error.
    report = json.loads(output[output.rindex('{\n\t"start"') :])
    link = json.loads(summary.read_text(encoding="utf-8"))["link"]
    late = link["lateness_us"]
    figures = [
        f"{report['end']['sum_received']['bits_per_second'] / 1e6:.1f}",
        late["count"],
        *(f"{late[name]:.0f}" for name in ("p50", "p99", "max")),
        f"{link['cpu_percent']:.0f}",
        f"{calls / link['packets']['in']:.2f}",
        f"{memory_kb / 1000:.0f}",
        f"{link['behind_ms_max']:.1f}",
        sum(link["tun_dropped"].values()),
        link["realtime"],
    ]
    return [str(figure) for figure in figures]


def costs(session: subprocess.Popen[bytes]) -> tuple[int, int]:
    """Wait for a session; return its reads and writes, and its largest resident size in kB."""
    calls, memory_kb = 0, 0
    process = Path(f"/proc/{session.pid}")
    while session.poll() is None:
        # A process that has ended meanwhile has no figures.
        with suppress(OSError, KeyError):
            counts = fields(process / "io")
            memory_kb = int(fields(process / "status")["VmHWM"].split()[0])
            calls = int(counts["syscr"]) + int(counts["syscw"])
        time.sleep(0.05)
    return calls, memory_kb


def fields(path: Path) -> dict[str, str]:
    """Return the fields of a file of ``/proc``."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


@contextmanager
def busy(loops: int) -> Iterator[None]:
    """Keep cores busy."""
    processes = [subprocess.Popen([sys.executable, "-I", "-c", "while True: pass"]) for _ in range(loops)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


if __name__ == "__main__":
    main()
