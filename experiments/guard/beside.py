"""Measures in simulation what a download keeps under a receive-window control beside other traffic.

::

    python experiments/guard/beside.py --jobs 2 > experiments/guard/beside.csv
    python experiments/guard/beside.py --table < experiments/guard/beside.csv

Each case is run twelve times, with starts of the download 0.37 s apart and, in the cell, twelve seeds. A row
has a link, the traffic beside the download, the control, the mean goodput of the download in Mbit/s with its
standard error, and the median of the 95th percentiles of a ping: small datagrams to another host behind the
link, and in the cell, where each UE has a queue of its own, the packets of the download. The table has the
share of the goodput without a control that the download keeps under each of the others. It is in bold where
the 95 % interval is below 0.9 of the goodput without a control, and also of an equal share of the downlink:
without a control a download that was there first keeps the one that begins later from its share.
"""

import argparse
import csv
import math
import statistics
import sys
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

from airwnd import Scenario
from airwnd.support.student import half_width

SECONDS = 60
RUNS = 12
GOAL = 0.9
AUTOTUNING = '{kind = "autotuning", variant = "linux-6.18", max = "32MiB"}'
# As in the guard.
CONTROLS = {
    "none": AUTOTUNING,
    "standing": '"standing"',
    "drwa": '{kind = "drwa", queue = "downlink", competes = true}',
}
# Before the traffic beside a download whose sender is BBR instead of CUBIC.
OF_BBR = "by BBR: "
UES = '[[ue]]\nname = "own"\n[[ue]]\nname = "other"\n'


def wire(down: int, up: int, buffer_kb: int) -> str:
    """Return a wire with these rates in Mbit/s, buffers in kB, and an RTT of 20 ms."""
    return (
        f'[[link]]\nrate = "{down}Mbps"\nrate_up = "{up}Mbps"\ndelay = "10ms"\n'
        f'queue_bytes = "{buffer_kb}kB"\nqueue_bytes_up = "{buffer_kb}kB"\n{UES}'
    )


# With the rate of the downlink in Mbit/s.
LINKS = {
    "10/10": (wire(10, 10, 500), 10.0),
    "50/5": (wire(50, 5, 300), 50.0),
    "30/3": (wire(30, 3, 1000), 30.0),
    "100/2": (wire(100, 2, 200), 100.0),
    "LTE cell": (f"[[site]]\n{UES}", 15.0),
}


def flow(name: str, ue: str = "own", **settings: str) -> str:
    """Return a flow with these settings."""
    lines = [f'id = "{name}"', f'ue = "{ue}"', *(f"{key} = {value}" for key, value in settings.items())]
    return "[[flow]]\n" + "\n".join(lines) + "\n"


def download(cc: str, start: str, ue: str = "own") -> str:
    """Return a download without a control."""
    return flow("download", ue, cc=f'"{cc}"', rwnd=AUTOTUNING, start=f'"{start}"')


def upload(cc: str, start: str, name: str = "upload") -> str:
    """Return an upload."""
    big = '{kind = "transfer", size = "1GiB"}'
    return flow(name, cc=f'"{cc}"', direction='"up"', start=f'"{start}"', traffic=big)


def beside(rate_mbps: float) -> dict[str, str]:
    """Return what runs beside the download on a link of this rate."""
    rate = f"{0.7 * rate_mbps:g}Mbps"
    constant = f'{{kind = "cbr", rate = "{rate}", packet = "1200B"}}'
    return {
        "nothing": "",
        "upload": upload("cubic", "0s"),
        "upload from 5 s on": upload("cubic", "5s"),
        "two uploads": upload("cubic", "0s") + upload("cubic", "0s", "second"),
        "upload of NewReno": upload("newreno", "0s"),
        "CUBIC": download("cubic", "0s"),
        "CUBIC from 5 s on": download("cubic", "5s"),
        "BBR": download("bbr", "0s"),
        "BBR from 5 s on": download("bbr", "5s"),
        "constant rate, 70 %": flow("constant", traffic=constant),
        "upload, and CUBIC from 5 s on": upload("cubic", "0s") + download("cubic", "5s"),
        "CUBIC to another host": download("cubic", "0s", "other"),
        "CUBIC to another host from 5 s on": download("cubic", "5s", "other"),
        "BBR to another host": download("bbr", "0s", "other"),
        "BBR to another host from 5 s on": download("bbr", "5s", "other"),
        "BBRv3 to another host": download("bbr3", "0s", "other"),
        f"{OF_BBR}nothing": "",
        f"{OF_BBR}CUBIC to another host": download("cubic", "0s", "other"),
        f"{OF_BBR}BBR to another host": download("bbr", "0s", "other"),
    }


class Case(NamedTuple):
    """A run: link, other traffic, control, and number."""

    link: str
    beside: str
    control: str
    run: int


def run(case: Case) -> tuple[float, float]:
    """Return goodput in Mbit/s and the 95th percentile of the ping in ms."""
    network, rate_mbps = LINKS[case.link]
    start = f'"{0.37 * case.run:.2f}s"'
    sender = "bbr" if case.beside.startswith(OF_BBR) else "cubic"
    text = (
        f'name = "beside"\ntcp.stack = "linux"\ncore.server_delay = "0ms"\nduration = "{SECONDS}s"\n'
        + network
        + flow("own", cc=f'"{sender}"', rwnd=CONTROLS[case.control], start=start)
        + beside(rate_mbps)[case.beside]
        + flow("ping", "other", traffic='{kind = "cbr", rate = "16kbps", packet = "100B"}')
    )
    flows = {row["group"]: row for row in Scenario.from_toml(text).run(seed=1 + case.run).flows.to_dicts()}
    pinged = flows["own" if case.link == "LTE cell" else "ping"]
    return flows["own"]["goodput_kbps"] / 1e3, pinged["delay_ms_p95"]


def measure(jobs: int) -> None:
    """Print a row for each link, traffic and control."""
    kinds = list(beside(1.0))
    cases = [
        Case(link, kind, control, number)
        for link in LINKS
        for kind in kinds
        for control in CONTROLS
        for number in range(RUNS)
    ]
    rows = csv.writer(sys.stdout, lineterminator="\n")
    rows.writerow(["link", "beside", "control", "goodput_mbps", "standard_error", "ping_ms_p95"])
    with ProcessPoolExecutor(jobs) as pool:
        results = list(pool.map(run, cases))
    for at in range(0, len(cases), RUNS):
        goodputs, pings = zip(*results[at : at + RUNS], strict=True)
        error = statistics.stdev(goodputs) / math.sqrt(RUNS)
        figures = f"{statistics.fmean(goodputs):.2f}", f"{error:.3f}", f"{statistics.median(pings):.0f}"
        rows.writerow([*cases[at][:3], *figures])


def print_table() -> None:
    """Print the shares that the controls keep, and the ping, as a table of Markdown."""
    rows = {(row["link"], row["beside"], row["control"]): row for row in csv.DictReader(sys.stdin)}
    controls = [control for control in CONTROLS if control != "none"]
    lines = [["Beside it", *LINKS], ["---"] * (1 + len(LINKS))]
    for kind, flows in beside(1.0).items():
        lines.append([kind])
        alone = f"{OF_BBR if kind.startswith(OF_BBR) else ''}nothing"
        for link in LINKS:
            free = rows[link, kind, "none"]
            equal = float(rows[link, alone, "none"]["goodput_mbps"]) / (1 + flows.count('id = "download"'))
            lines[-1].append(
                " / ".join(share(rows[link, kind, control], free, equal) for control in controls)
            )
    sys.stdout.writelines(f"| {' | '.join(line)} |\n" for line in lines)


def share(controlled: Mapping[str, str], free: Mapping[str, str], equal_mbps: float) -> str:
    """Return the share of the goodput that is kept, in bold if its interval is below the goal."""
    kept, of = (float(row["goodput_mbps"]) for row in (controlled, free))
    kept_error, of_error = (float(row["standard_error"]) for row in (controlled, free))
    ratio, width = kept / of, half_width(0.95, RUNS - 1)
    is_less = ratio * (1 + width * math.hypot(kept_error / kept, of_error / of)) < GOAL
    is_unfair = kept + width * kept_error < GOAL * equal_mbps
    return f"**{ratio:.2f}**" if is_less and is_unfair else f"{ratio:.2f}"


def main() -> None:
    """Measure, or print the table of what was measured."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=1, help="runs at the same time")
    parser.add_argument(
        "--table", action="store_true", help="print the table of the rows that standard input has"
    )
    arguments = parser.parse_args()
    if arguments.table:
        print_table()
    else:
        measure(arguments.jobs)


if __name__ == "__main__":
    main()
