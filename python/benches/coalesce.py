"""Measures what ``airwnd link --coalesce`` changes for the kernel's congestion controls.

Run with ``python python/benches/coalesce.py --csv FILE``, as root; needs iperf3 and the kernel's Reno, CUBIC
and BBR. A row is a session with one TCP download; sessions with and without the option alternate, and so see
the same load of the machine. Rows in FILE are not measured again. ``--table`` prints the table of
experiments/link/RESULTS.md from FILE.

ACKs are those that arrive at the server. RTT (smoothed) and cwnd are means of the sender's after two seconds.
"""

import argparse
import csv
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import mean, median

import polars as pl

LINK = [sys.executable, "-I", "-m", "airwnd", "link", "--quiet", "--lateness-limit", "10s"]
CONTROLS = ("reno", "cubic", "bbr")
CELL = """
name = "cell"
duration = "60s"
{radio}
rlc.queue = {queue}
[[site]]
[[ue]]
name = "phone"
placement = {{kind = "ring", radius = "{radius}"}}
{others}
"""
OTHERS = """
[[ue]]
name = "others"
count = 3
placement = {kind = "disc", radius = "500m"}
[[flow]]
ue = "others"
"""


def _lte(mhz: int) -> str:
    return f'carrier.bandwidth = "{mhz}MHz"'


def _nr(mhz: int) -> str:
    return f'carrier.bandwidth = "{mhz}MHz"\nradio.access = {{ kind = "nr", numerology = 0 }}'


def _tdd(mhz: int) -> str:
    carrier = f'{{ bandwidth = "{mhz}MHz", downlink_frequency = "3.5GHz" }}'
    access = '{ kind = "nr", numerology = 1, pattern = "DDDSU" }'
    return f"carrier = {carrier}\nradio.access = {access}"


def _tail(size: str) -> str:
    return f'{{ kind = "drop-tail", buffer = "{size}" }}'


#: Name, radio, queue, distance from the site, other UEs.
CELLS = {
    "LTE 10 MHz, 100 m": (_lte(10), _tail("500kB"), "100m", ""),
    "LTE 20 MHz, 100 m": (_lte(20), _tail("1MB"), "100m", ""),
    "LTE 20 MHz, 100 m, CoDel": (_lte(20), '"codel"', "100m", ""),
    "LTE 20 MHz, 600 m": (_lte(20), _tail("1MB"), "600m", ""),
    "LTE 20 MHz, three others": (_lte(20), _tail("1MB"), "300m", OTHERS),
    "NR FDD 20 MHz": (_nr(20), _tail("1MB"), "100m", ""),
    "NR TDD 40 MHz": (_tdd(40), _tail("2MB"), "100m", ""),
    "NR TDD 40 MHz, CoDel": (_tdd(40), '"codel"', "100m", ""),
    "NR TDD 100 MHz": (_tdd(100), _tail("4MB"), "100m", ""),
    "NR TDD 100 MHz, 400 m": (_tdd(100), _tail("4MB"), "400m", ""),
}
#: Quantities with their names in the table.
QUANTITIES = {
    "goodput_mbps": "goodput (Mbit/s)",
    "rtt_ms": "RTT (ms)",
    "cwnd_kb": "cwnd (kB)",
    "acks_per_100_segments": "ACKs per 100 segments",
    "ack_gap_ms_p95": "time between ACKs, p95 (ms)",
}
COLUMNS = (
    "cell", "control", "coalesce", "seed", *QUANTITIES, "retransmitted", "lateness_us_p99", "load_average",
)  # fmt: skip
# Slow start is left out of the means, in seconds.
_START_S = 2.0
_NANOSECONDS = 0xA1B23C4D
_MIN_SEGMENT = 500
# Port of the server of iperf3.
_IPERF3 = 5201


def main() -> None:
    """Measure all cells, or print the table of a file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=int, default=5, help="length of a download")
    parser.add_argument("--repetitions", type=int, default=3, help="seeds 1 to N")
    parser.add_argument("--csv", type=Path, required=True, help="file of the rows")
    parser.add_argument("--table", action="store_true", help="print the table of the file, measure nothing")
    options = parser.parse_args()
    if options.table:
        print("\n".join(table(pl.read_csv(options.csv))))
        return
    rows: list[list[str]] = []
    if options.csv.exists():
        with options.csv.open(encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))[1:]
    with tempfile.TemporaryDirectory() as name:
        for key, run in sessions(Path(name), options.seconds, options.repetitions):
            if any(row[: len(key)] == key for row in rows):
                continue
            rows.append([*key, *run()])
            print("  ".join(rows[-1]), flush=True)
            with options.csv.open("w", encoding="utf-8", newline="") as file:
                csv.writer(file, lineterminator="\n").writerows([COLUMNS, *rows])


def sessions(
    folder: Path, seconds: int, repetitions: int
) -> Iterator[tuple[list[str], Callable[[], list[str]]]]:
    """Yield cell, sender, option and seed of each session, and what runs it and returns its figures."""
    for seed in range(1, repetitions + 1):
        for cell, (radio, queue, radius, others) in CELLS.items():
            text = CELL.format(radio=radio, queue=queue, radius=radius, others=others)
            (folder / "cell.toml").write_text(text, encoding="utf-8")
            for control in CONTROLS:
                for coalesce in ((False, True), (True, False))[seed % 2]:
                    run = partial(session, folder, control, seconds, seed, coalesce=coalesce)
                    yield [cell, control, "yes" if coalesce else "no", str(seed)], run


def session(folder: Path, control: str, seconds: int, seed: int, *, coalesce: bool) -> list[str]:
    """Run a session and return its figures."""
    words = [*LINK, str(folder / "cell.toml"), "--seed", str(seed), "--out", str(folder / "run"), "--force"]
    words += ["--pcap", str(folder / "server.pcap"), "--pcap-real-only", "--summary", str(folder / "s.json")]
    words += ["--coalesce"] if coalesce else []
    words += ["--", "iperf3", "-4", "-J", "-R", "-C", control, "-c", "server", "-t", str(seconds)]
    load = os.getloadavg()[0]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    report = json.loads(done.stdout)["end"]
    late = json.loads((folder / "s.json").read_text(encoding="utf-8"))["link"]["lateness_us"]["p99"]
    sockets = pl.read_parquet(folder / "run" / "sockets.parquet")
    sockets = sockets.filter(pl.col("direction") == "down", pl.col("time_s") >= _START_S)
    # The other connection is iperf3's control.
    flow = sockets.group_by("flow").agg(pl.col("cwnd_bytes").max()).sort("cwnd_bytes")["flow"][-1]
    sender = sockets.filter(pl.col("flow") == flow)
    segments, acks_ns = acks((folder / "server.pcap").read_bytes())
    gaps_ms = sorted((after - before) / 1e6 for before, after in pairwise(acks_ns))
    return [
        f"{report['sum_received']['bits_per_second'] / 1e6:.1f}",
        f"{mean(sender['srtt_ms'].drop_nulls().to_list()):.1f}",
        f"{mean(sender['cwnd_bytes'].drop_nulls().to_list()) / 1e3:.0f}",
        f"{100 * len(acks_ns) / segments:.1f}",
        f"{gaps_ms[len(gaps_ms) * 95 // 100]:.3f}",
        str(report["sum_sent"].get("retransmits", "")),
        f"{late:.0f}",
        f"{load:.1f}",
    ]


def acks(capture: bytes) -> tuple[int, list[int]]:
    """Return the number of data segments of a download, and the times of their ACKs in nanoseconds.

    The capture is a pcap of IPv4 packets at the server, in the byte order of this machine.
    """
    if struct.unpack_from("=I", capture)[0] != _NANOSECONDS:
        raise ValueError("not a capture of this machine")
    segments: dict[int, int] = {}
    times: dict[int, list[int]] = {}
    place = 24
    while place < len(capture):
        seconds, rest_ns, kept, size = struct.unpack_from("=IIII", capture, place)
        ip = place + 16
        place = ip + kept
        tcp = ip + 4 * (capture[ip] & 15)
        if capture[ip + 9] != socket.IPPROTO_TCP:
            continue
        source, destination = struct.unpack_from("!HH", capture, tcp)
        payload = size - (tcp - ip) - 4 * (capture[tcp + 12] >> 4)
        # The server has iperf3's port; large segments are data of the download.
        if source == _IPERF3 and payload >= _MIN_SEGMENT:
            segments[destination] = segments.get(destination, 0) + 1
        elif destination == _IPERF3 and payload == 0:
            times.setdefault(source, []).append(seconds * 10**9 + rest_ns)
    port = max(segments, key=segments.__getitem__)
    return segments[port], times[port]


def table(rows: pl.DataFrame) -> list[str]:
    """Return the table: medians over the cells without and with the option, and ratios of the cells' means.

    A cell is outside if its ratio differs from 1 by more than the repetitions without the option differ.
    """
    lines = [
        "| Sender | Quantity | Without | With | Ratio | Least, most | Repetitions differ by | Outside |",
        "|---|---|--:|--:|--:|--:|--:|--:|",
    ]
    for control in CONTROLS:
        for quantity, name in QUANTITIES.items():
            cells = [
                [
                    rows.filter(
                        pl.col("cell") == cell, pl.col("control") == control, pl.col("coalesce") == way
                    )[quantity].to_list()
                    for way in ("no", "yes")
                ]
                for cell in CELLS
            ]
            without, with_option = (median(mean(cell[way]) for cell in cells) for way in (0, 1))
            shown = f"| {control} | {name} | {without:.1f} | {with_option:.1f} |"
            if all(mean(no) for no, _ in cells):
                ratios = [mean(yes) / mean(no) for no, yes in cells]
                spreads = [(max(no) - min(no)) / mean(no) for no, _ in cells]
                outside = sum(abs(ratio - 1) > by for ratio, by in zip(ratios, spreads, strict=True))
                shown += f" {median(ratios):.2f} | {min(ratios):.2f}, {max(ratios):.2f} |"
                shown += f" {100 * median(spreads):.0f} % | {outside} of {len(CELLS)} |"
            else:
                shown += " - | - | - | - |"
            lines.append(shown)
    return lines


if __name__ == "__main__":
    main()
