"""Compares ``standing`` in this machine's kernel with a simulation, in drawn scenarios.

::

    sudo python experiments/frontier/kernel.py --count 10

A kernel has the scenarios with one UE and one download of Reno, CUBIC or BBR, and no other flows: the first
ones of the development sets. The network is that of ``airwnd link``; the window is set by ``airwnd guard``.
Prints goodput and median RTT after `SETTLING_S`, as ``python/benches/guard_against_simulation.py`` does. The
link trace of a session begins up to three seconds before the download, so the simulation of a recording is
repeated with later parts of it, whose goodput follows in brackets.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import draw

sys.path.insert(0, str(Path(__file__).parents[2] / "python" / "benches"))

import guard_against_simulation as bench

from airwnd import Scenario

SETS = (11, 12, 13, 14)
SENDERS = {"newreno": "reno", "cubic": "cubic", "bbr": "bbr"}
"""Names of the congestion controls in the kernel."""
SETTLING_S = 5.0
CONTROL = {"kind": "standing"}
LATER_S = (1, 2, 3)
"""Start-up times of a session."""


def single_downloads() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Return label, congestion control and settings of the network of each scenario that a kernel has."""
    for seed in SETS:
        for number, scenario in enumerate(draw.draw(seed)):
            named, settings = scenario["named"], scenario["settings"]
            flows = settings["flow"]
            others = [flow for flow in flows[1:] if flow.get("traffic") != draw.ABSENT["traffic"]]
            if named["sender"] in SENDERS and flows[0]["count"] == 1 and not others:
                network = {
                    key: value
                    for key, value in settings.items()
                    if key != "flow" and not key.startswith("tcp.")
                }
                yield f"{seed}-{number:02}: {draw.label(named)}", SENDERS[named["sender"]], network


def main() -> None:
    """Print one line per scenario."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=20.0)
    arguments = parser.parse_args()
    length = bench.Length(arguments.seconds, SETTLING_S)
    guard = [sys.executable, "-I", "-m", "airwnd", "guard"]
    print("scenario, kernel and simulated goodput (kbit/s), kernel and simulated RTT (ms)")
    for label, cc, network in list(single_downloads())[: arguments.count]:
        base = Scenario.load(draw.HERE / "scenario.toml").with_(network)
        resolved = base.resolved
        kernel = bench.in_kernel(resolved, cc, CONTROL, guard, length)
        simulated = bench.in_simulation(resolved, cc, CONTROL, length)
        print(f"{label}: {kernel.goodput_kbps:.0f} {simulated.goodput_kbps:.0f}", end=" ")
        later = []
        for link in network.get("link", []):
            begins_s = int(link["start"].removesuffix("s"))
            for shift_s in LATER_S:
                shifted = base.with_({"link": [{**link, "start": f"{begins_s + shift_s}s"}]}).resolved
                run = bench.in_simulation(shifted, cc, CONTROL, length)
                later.append(round(run.goodput_kbps))
        print(f"{kernel.rtt_ms:.1f} {simulated.rtt_ms:.1f}", later or "", flush=True)


if __name__ == "__main__":
    main()
