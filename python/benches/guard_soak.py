"""Runs ``airwnd guard`` for long with many connections, and shows its memory and processor time.

Run with ``python python/benches/guard_soak.py [--minutes 60]`` as root. The guard is at the receiver of an
``airwnd link`` with two long downloads and chains of short ones, about 30 connections per second. A row is a
minute; the memory is to stay the same once the first flows have come.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

COLUMNS = ("minute", "RSS KiB", "CPU s", "flows", "connections", "MB", "ACKs", "clamped", "lost reports")
MINUTE = 60.0
INSIDE = "--inside"
LONG = "http://server/bytes/1GB"
SHORT = "http://server/bytes/8KB"
CHAINS = 12
"""Sequences of short downloads at the same time."""


class Downloads:
    """Long and short downloads in threads, and their totals."""

    def __init__(self) -> None:
        self.bytes = 0
        self.connections = 0

    def start(self) -> None:
        """Start two long downloads and the chains of short ones."""
        for target in (*[self._repeat_long] * 2, *[self._repeat_short] * CHAINS):
            threading.Thread(target=target, daemon=True).start()

    def _repeat_long(self) -> None:
        while True:
            self._read(LONG)

    def _repeat_short(self) -> None:
        while True:
            self._read(SHORT)

    def _read(self, url: str) -> None:
        with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=60) as body:  # noqa: S310
            self.connections += 1
            while block := body.read(1 << 16):
                self.bytes += len(block)


def main() -> None:
    """Start the link, or, within it, the guard and its downloads."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--minutes", type=int, default=60, help="length")
    parser.add_argument("--rate", default="8Mbit", help="rate of the link")
    parser.add_argument("--guard", help="program; default: airwnd guard of this installation")
    parser.add_argument(INSIDE, type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    guard = [options.guard] if options.guard else [sys.executable, "-I", "-m", "airwnd", "guard"]
    if options.inside:
        soak(guard, options.inside, options.minutes)
        return
    if os.geteuid() != 0:
        parser.exit(2, "guard_soak.py: needs root\n")
    with cgroup() as folder:
        link = ["link", "--quiet", "--rate", options.rate, "--delay", "10ms", "--queue", "512KiB"]
        session = [sys.executable, "-I", "-m", "airwnd", *link, "--"]
        subprocess.run([*session, sys.executable, *sys.argv, INSIDE, folder], check=True)


@contextlib.contextmanager
def cgroup() -> Iterator[Path]:
    """Make a cgroup, and remove it when it is empty again."""
    roots = (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified"))
    root = next(root for root in roots if (root / "cgroup.controllers").exists())
    folder = root / f"airwnd-soak-{os.getpid()}"
    folder.mkdir()
    try:
        yield folder
    finally:
        while folder.exists():
            with contextlib.suppress(OSError):
                folder.rmdir()


def soak(guard: list[str], folder: Path, minutes: int) -> None:
    """Guard the downloads of this process, and print a row per minute."""
    (folder / "cgroup.procs").write_text(str(os.getpid()), encoding="utf-8")
    # Other guards have their sockets in the usual folder.
    os.environ["RUNTIME_DIRECTORY"] = tempfile.mkdtemp()
    arguments = [*guard, "--cgroup", str(folder)]
    with subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True) as process:
        output = process.stderr
        line = output.readline() if output else ""
        if output is None or line != "guarding\n":
            sys.exit(line.strip())
        downloads = Downloads()
        downloads.start()
        print("  ".join(COLUMNS), flush=True)
        begin = time.monotonic()
        for minute in range(minutes + 1):
            time.sleep(max(0.0, begin + minute * MINUTE - time.monotonic()))
            print("  ".join(map(str, [minute, *row(guard, process.pid, downloads)])), flush=True)
        process.terminate()
        print(output.read().strip())
    # Downloads that still run end with the process.
    sys.stdout.flush()
    os._exit(process.returncode)


def row(guard: list[str], process: int, downloads: Downloads) -> list[float]:
    """Return the figures of this moment."""
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    memory = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:"))
    times = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    cpu = (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK")
    answer = subprocess.run([*guard, "status", "--json"], capture_output=True, text=True, check=True)
    place = json.loads(answer.stdout)["places"][0]
    counters = place["counters"]
    return [
        memory,
        cpu,
        len(place["flows"]),
        downloads.connections,
        round(downloads.bytes / 1e6, 1),
        counters["acks"],
        counters["clamped"],
        counters["lost_reports"],
    ]


if __name__ == "__main__":
    main()
