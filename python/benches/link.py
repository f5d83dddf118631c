"""Measures the throughput and the lateness of ``airwnd link``.

Run with ``python python/benches/link.py [--seconds 10] [--csv FILE]``, on an idle machine; needs iperf3. As
root the relay runs under SCHED_FIFO, as an ordinary user with normal scheduling.

A row is a session with one TCP download (CUBIC if the user may select it, IPv4) over a wire or a cell of
20 MHz, without and with a competing load: a busy loop per core. Goodput is that of the kernel's receiver.
"""

import argparse
import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LINK = [sys.executable, "-I", "-m", "airwnd", "link", "--quiet"]
RATES = ("10Mbit", "100Mbit", "300Mbit", "1Gbit")
UES = (1, 10, 50)
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
                for title, arguments in links(Path(name)):
                    rows.append([title, f"{loops} loops", *measured(arguments, options.seconds, Path(name))])
                    print("  ".join(map(str, rows[-1])), flush=True)
    if options.csv:
        with options.csv.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([COLUMNS, *rows])


def links(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the links with the arguments of a session."""
    for rate in RATES:
        yield f"wire {rate}/s", ["--rate", rate, "--delay", "10ms", "--queue", "2000"]
    for count in UES:
        others = OTHERS.format(count=count - 1) if count > 1 else ""
        path = folder / f"{count}.toml"
        path.write_text(CELL.format(others=others), encoding="utf-8")
        yield f"cell, {count} UEs", [str(path)]


def measured(arguments: list[str], seconds: int, folder: Path) -> list[str]:
    """Run a session and return its figures."""
    summary = folder / "summary.json"
    download = f"iperf3 -4 -J -c server -R -t {seconds}"
    command = ["sh", "-c", f"{download} -C cubic || {download}"]
    words = [*LINK, "--summary", str(summary), "--lateness-limit", "10s", *arguments, "--", *command]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    # Without the right to select CUBIC, the first report is an error.
    report = json.loads(done.stdout[done.stdout.rindex('{\n\t"start"') :])
    link = json.loads(summary.read_text(encoding="utf-8"))["link"]
    late = link["lateness_us"]
    figures = [
        f"{report['end']['sum_received']['bits_per_second'] / 1e6:.1f}",
        late["count"],
        *(f"{late[name]:.0f}" for name in ("p50", "p99", "max")),
        f"{link['cpu_percent']:.0f}",
        f"{link['behind_ms_max']:.1f}",
        sum(link["tun_dropped"].values()),
        link["realtime"],
    ]
    return [str(figure) for figure in figures]


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
