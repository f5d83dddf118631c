"""Measures ``airwnd guard shape`` over ``airwnd link``, beside other rates of the same shapers.

::

    python experiments/guard/shape.py --seconds 15 --out out/guard/shape.csv      # as root
    python experiments/guard/shape.py --out out/guard/shape.csv --table           # prints the table

The UE of each link is a router, with one client behind it. The shapers are the same for all controls, one per
direction, on the interface towards the link and on an ifb device: token buckets with a queue of 30 ms, which
every kernel has, or with ``--shaper cake`` CAKE.

``none``
    no shaper
``fixed``
    95 % of the mean rate of each direction: that of the workload of this direction without a shaper
``rule``
    the rule of cake-autorate (``programs/autorate.py``) for each direction, with a minimum of 25 %, a base of
    50 % and a maximum of 200 % of that rate
``shape``
    ``airwnd guard shape``, which has no knowledge of the link

Each cell is a session of its own; finished ones are kept. Ping runs every 50 ms on the client. The first 3 s
of the transfers do not count, except in the rate of uploads, of which the receiver has the whole only.
"""

import argparse
import csv
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn

from airwnd.support.errors import InputError

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LINKS: Mapping[str, Sequence[str]] = {
    "wire-10": ("--rate", "10Mbit", "--delay", "10ms", "--queue", "2MB"),
    "wire-50-10": ("--rate", "50Mbit", "--rate-up", "10Mbit", "--delay", "10ms", "--queue", "2MB"),
    "wire-0.5": ("--rate", "500kbit", "--delay", "20ms", "--queue", "100kB"),
    **{
        name: (str(HERE / name / "scenario.toml"),)
        for name in ("driving", "walking", "bus", "subway", "loaded")
    },
}
SHOWN = ("wire-10", "driving", "subway")
"""Links of the table."""
CONTROLS = ("none", "fixed", "rule", "shape")
WORKLOADS = ("down", "up", "both", "udp")
"""``udp``: datagrams at twice the rate of the uplink, beside a TCP flow to the client, 1000 B every 40 ms."""
SKIPPED_S, SPARE_S = 3.0, 120.0
SHARE, MIN, BASE, MAX = 0.95, 0.25, 0.5, 2.0
_REPLY = re.compile(r"^\[([0-9.]+)\] .* time=([0-9.]+) ms", re.MULTILINE)
_SERVER = "sh -c 'iperf3 -s -p 5999 & exec iperf3 -s'"
BEGIN_S = 15
"""Time from the start of a session to its transfers, for which channel and recording are then the same."""
START = "session_ns=$(date +%s%N)"
"""The first line of a script."""
ROUTER = r"""
set -u
unshare --net sleep 3600 & client=$!
while [ "$(readlink /proc/$client/ns/net)" = "$(readlink /proc/self/ns/net)" ]; do sleep 0.02; done
inside() { nsenter --net --target $client "$@"; }
ip link add lan type veth peer name wan netns $client
ip address add 192.168.64.1/24 dev lan; ip link set lan up
inside ip link set lo up; inside ip address add 192.168.64.2/24 dev wan; inside ip link set wan up
inside ip route add default via 192.168.64.1
echo 1 > /proc/sys/net/ipv4/ip_forward
nft add table inet study; nft add chain inet study out '{ type nat hook postrouting priority srcnat; }'
nft add rule inet study out oifname link masquerade
"""
_SHAPERS = r"""
shape() { # interface, rate in kbit/s
    if [ $shaper = cake ]; then
        tc qdisc replace dev $1 root handle 1: cake bandwidth $2kbit besteffort
        return
    fi
    limit=$(($2 * 30 / 8)); [ $limit -lt 15140 ] && limit=15140
    burst=$(($2 / 8)); [ $burst -lt 3028 ] && burst=3028
    tc qdisc replace dev $1 root handle 1: tbf rate $2kbit burst $burst limit $limit
}
ip link add ifb-down type ifb; ip link set ifb-down up
tc qdisc add dev link clsact
tc filter add dev link ingress protocol all u32 match u32 0 0 action mirred egress redirect dev ifb-down
"""


def main() -> None:
    """Measure, or print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--links", nargs="+", choices=LINKS, default=list(LINKS))
    parser.add_argument("--controls", nargs="+", choices=CONTROLS, default=list(CONTROLS))
    parser.add_argument("--workloads", nargs="+", choices=WORKLOADS, default=["down", "up", "both"])
    parser.add_argument("--seconds", type=int, default=30, help="length of the transfers")
    parser.add_argument("--airwnd", default=f"{sys.executable} -I -m airwnd", help="the command airwnd")
    parser.add_argument("--shaper", choices=("tbf", "cake"), default="tbf", help="queue discipline")
    parser.add_argument(
        "--guard", default=str(ROOT / "target" / "release" / "airwnd-guard"), help="the command airwnd-guard"
    )
    parser.add_argument(
        "--out", type=Path, required=True, help="CSV file; cells that it has are not measured again"
    )
    parser.add_argument("--table", action="store_true", help="only print the file as a table")
    options = parser.parse_args()
    if not options.table:
        measure(options)
    sys.stdout.writelines(table(read(options.out)))


def measure(options: argparse.Namespace) -> None:
    """Measure what is missing."""
    for link in options.links:
        # The rates without a shaper come first.
        cells = [
            (control, workload)
            for control in sorted(options.controls, key=CONTROLS.index)
            for workload in options.workloads
        ]
        for control, workload in cells:
            rows = read(options.out)
            done = {(row["link"], row["control"], row["workload"]) for row in rows}
            if (link, control, workload) in done:
                continue
            rates = {row["workload"]: row for row in rows if row["link"] == link and row["control"] == "none"}
            if control in ("fixed", "rule") and not {"down", "up"} <= set(rates):
                fail(f"{link}: measure none with the workloads down and up first")
            mean = {
                way: float(rates[way][f"{way}_mbps"]) * 1e3 if way in rates else 0.0 for way in ("down", "up")
            }
            try:
                row = session(options, link, control, workload, mean)
            except InputError as error:
                fail(f"{link}, {control}, {workload}: {error}")
            append(options.out, row)


def fail(message: str) -> NoReturn:
    """End with a message."""
    sys.stderr.write(f"shape.py: {message}\n")
    sys.exit(2)


def session(
    options: argparse.Namespace, link: str, control: str, workload: str, mean_kbps: Mapping[str, float]
) -> dict[str, str | float | None]:
    """Measure one cell."""
    with tempfile.TemporaryDirectory(prefix="airwnd-shape-") as name:
        folder = Path(name)
        script = folder / "session.sh"
        lines = [
            START,
            ROUTER,
            *control_lines(options, control, mean_kbps, folder),
            *workload_lines(options, workload, mean_kbps, folder),
        ]
        script.write_text("\n".join(lines), encoding="utf-8")
        measured = run(options, LINKS[link], _SERVER, script, folder)
        return {
            "link": link,
            "control": control,
            "workload": workload,
            "down_mbps": received(folder / "down.json"),
            "up_mbps": received(folder / "up.json"),
            **measured,
        }


def run(
    options: argparse.Namespace, link: Sequence[str], servers: str, script: Path, folder: Path
) -> dict[str, float | None]:
    """Run a session of ``airwnd link``, and return its columns of ping, the machine's load and lateness.

    Raises
    ------
    InputError
        If it fails, with what it printed at last.
    """
    command = [*shlex.split(options.airwnd), "link", *link, "--quiet", "--summary", f"{folder}/summary.json"]
    command += ["--lateness-limit", "60s", "--server", servers, "--", "bash", str(script)]
    load = os.getloadavg()[0]
    limit_s = options.seconds + SPARE_S
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=limit_s)  # noqa: S603 (our own)
    if done.returncode:
        raise InputError(done.stderr.strip()[-500:])
    before, during = pings(folder)
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    return {
        "base_ms": quantile(before, 0.5),
        **{f"p{percent}_ms": quantile(during, percent / 100) for percent in (50, 95, 99)},
        "load": round(load, 1),
        "late_us": round(summary["link"]["lateness_us"]["p99"]),
    }


def append(path: Path, row: Mapping[str, str | float | None]) -> None:
    """Add a row to a file, which begins with the names of the columns, and print it."""
    is_new = not path.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(row), lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerow(row)
    sys.stderr.write(f"{' '.join(str(value) for value in row.values())}\n")


def control_lines(
    options: argparse.Namespace, control: str, mean_kbps: Mapping[str, float], folder: Path
) -> Iterator[str]:
    """Yield the shell lines that set the rates."""
    interfaces = {"down": "ifb-down", "up": "link"}
    if control == "shape":
        command = f"{options.guard} shape link --qdisc {options.shaper}"
        yield from started(command, "shaping", folder / "guard")
    if control in ("fixed", "rule"):
        yield f"shaper={options.shaper}"
        yield _SHAPERS
        start = SHARE if control == "fixed" else BASE
        for way, interface in interfaces.items():
            yield f"shape {interface} {round(start * mean_kbps[way])}"
    if control == "rule":
        tbf = "--tbf" if options.shaper == "tbf" else ""
        for way, interface in interfaces.items():
            minimum, base, maximum = (round(share * mean_kbps[way]) for share in (MIN, BASE, MAX))
            yield (
                f"{sys.executable} -I {HERE}/programs/autorate.py {interface} server {tbf} "
                f"--min {minimum} --base {base} --max {maximum} > /dev/null & "
            )


def begin() -> Iterator[str]:
    """Yield the shell lines that wait for `BEGIN_S` after `session_ns`, with a second of ping before it."""
    yield f"left_ms=$((({BEGIN_S} * 10**9 - $(date +%s%N) + session_ns) / 10**6))"
    yield '[ $left_ms -ge 1000 ] || { echo "not ready a second before the transfers" >&2; exit 3; }'
    yield "sleep $((left_ms / 1000)).$(printf %03d $((left_ms % 1000)))"


def started(command: str, word: str, printed: Path) -> Iterator[str]:
    """Yield the shell lines that start a guard and wait for its first word."""
    yield f"{command} > {printed} 2>&1 &"
    yield f"for attempt in $(seq 200); do grep -q '^{word}' {printed} && break; sleep 0.05; done"
    yield f"grep -q '^{word}' {printed} || {{ cat {printed} >&2; exit 3; }}"


def workload_lines(
    options: argparse.Namespace, workload: str, mean_kbps: Mapping[str, float], folder: Path
) -> Iterator[str]:
    """Yield the shell lines of ping and the transfers."""
    iperf = f"inside iperf3 -4 -c server -t {options.seconds} -i 0.5 -J"
    # A signal would reach the shell of a function only.
    yield f"nsenter --net --target $client ping -4 -D -n -i 0.05 server > {folder}/ping & ping=$!"
    yield from begin()
    yield f"date +%s.%N > {folder}/begin"
    waited = []
    if workload in ("down", "both"):
        yield f"{iperf} -R -C cubic > {folder}/down.json & down=$!"
        waited.append("$down")
    if workload in ("up", "both"):
        yield f"{iperf} -p 5999 -C cubic > {folder}/up.json & up=$!"
        waited.append("$up")
    if workload == "udp":
        yield f"{iperf} -R -C cubic -b 200k -l 1000 > {folder}/down.json & down=$!"
        yield f"{iperf} -p 5999 -u -b {round(2 * mean_kbps['up'])}k > {folder}/up.json & up=$!"
        waited += ["$down", "$up"]
    yield f"wait {' '.join(waited)}"
    yield f"date +%s.%N > {folder}/end"
    yield "kill -INT $ping; wait $ping; exit 0"


class Pings(NamedTuple):
    """RTTs in ms."""

    before: list[float]
    during: list[float]


def pings(folder: Path) -> Pings:
    """Return what `ping` found before the transfers and from their fourth second on."""
    replies = _REPLY.findall((folder / "ping").read_text(encoding="utf-8"))
    found = [(float(at), float(rtt)) for at, rtt in replies]
    begin, end = (float((folder / word).read_text(encoding="utf-8")) for word in ("begin", "end"))
    before = [rtt for at, rtt in found if at < begin]
    during = [rtt for at, rtt in found if begin + SKIPPED_S <= at - rtt / 1e3 < end]
    return Pings(before, during)


def received(path: Path) -> float | None:
    """Return what a transfer received in Mbit/s, from the fourth second on; ``None``: there was none."""
    if not path.exists():
        return None
    told = json.loads(path.read_text(encoding="utf-8"))
    if "error" in told:
        return 0.0
    sums = [each["sum"] for each in told.get("server_output_json", told)["intervals"]]
    if told["start"]["test_start"]["reverse"] == 0:
        # The sender's intervals are those of its buffer; the receiver has the whole only.
        whole = told["end"].get("sum_received") or told["end"]["sum"]
        return round(float(whole["bits_per_second"]) / 1e6, 3)
    counted = [each for each in sums if each["start"] >= SKIPPED_S]
    seconds = sum(each["seconds"] for each in counted)
    return round(sum(each["bytes"] for each in counted) * 8e-6 / seconds, 3) if seconds else 0.0


def quantile(values: Sequence[float], share: float) -> float | None:
    """Return a quantile, ``None`` of nothing."""
    ascending = sorted(values)
    return ascending[min(int(share * len(ascending)), len(ascending) - 1)] if ascending else None


def read(path: Path) -> list[dict[str, str]]:
    """Return the rows of a file; none if there is no file."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def table(rows: Sequence[Mapping[str, str]]) -> Iterator[str]:
    """Yield a table in Markdown: throughput and ping p50/p95 of each control.

    It has the links in `SHOWN`; the file has all.
    """
    yield f"| Link | Workload | {' | '.join(CONTROLS)} |\n|---|---|{'---|' * len(CONTROLS)}\n"
    cells = {(row["link"], row["workload"], row["control"]): row for row in rows}
    for link, workload in dict.fromkeys((row["link"], row["workload"]) for row in rows):
        if link not in SHOWN:
            continue
        texts = []
        for control in CONTROLS:
            row = cells.get((link, workload, control))
            if row is None:
                texts.append("-")
                continue
            rates = " + ".join(f"{float(row[key]):.2f}" for key in ("down_mbps", "up_mbps") if row[key])
            texts.append(f"{rates}, {float(row['p50_ms']):.0f}/{float(row['p95_ms']):.0f}")
        yield f"| {link} | {workload} | {' | '.join(texts)} |\n"


if __name__ == "__main__":
    main()
