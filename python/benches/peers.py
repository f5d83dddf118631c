"""Cost of airwnd and of ns-3 for the same scenarios, side by side in one run.

Run with ``make bench-peers``. The first run installs ns-3's wheel from PyPI into ``out/peers`` and compiles
the programs in ``python/benches/peers`` against it. Each scenario is run in pairs: airwnd and ns-3, then ns-3
and airwnd, and so on, so that changes of the machine's speed affect both. The results must agree: otherwise
the exit code is 1.

5G-LENA is not in the wheel. Its cost is known from a machine on which the wheel's S3 A was measured too, and
is scaled by S3 A as measured here, beside airwnd's cost for the same NR cell. ``--only "S3 A"`` measures just
this.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from processes import finished

ROOT = Path(__file__).parents[2]
SOURCES = Path(__file__).parent / "peers"
NS3 = "3.44"
WHEEL = f"ns3=={NS3}.post0"
# The wheel's Python bindings need cppyy, whose compilation takes an hour; programs in C++ do not.
INSTALL = ("install", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:", WHEEL)
LTE = ("lte", "buildings", "mobility", "propagation", "spectrum", "antenna", "config-store", "csma")
WIRE = ("applications", "traffic-control", "point-to-point", "internet", "network", "stats", "bridge", "core")
MODULES = {"s3": (*LTE, "virtual-net-device", *WIRE), "s5": WIRE}


@dataclass(frozen=True)
class Case:
    """A scenario in both programs.

    Attributes
    ----------
    name
        Name in the table.
    file
        Scenario of airwnd.
    program
        Program of ns-3.
    options
        Its options.
    tolerance
        Allowed relative deviation of the goodput, that of the reference tests.
    seconds
        Default duration.
    """

    name: str
    file: str
    program: str
    options: tuple[str, ...]
    tolerance: float
    seconds: int


PLACES = ROOT / "crates/lab/tests/data"
CASES = (
    Case(
        "S3 A, 100 UEs",
        "s3a.toml",
        "s3",
        (f"--places={PLACES / 's3a_100.csv'}", "--max-power=90", "--line-of-sight=200"),
        0.05,
        20,
    ),
    Case(
        "S3 B, 100 UEs",
        "s3b.toml",
        "s3",
        (f"--places={PLACES / 's3b_100.csv'}", "--max-power=23", "--line-of-sight=1001"),
        0.05,
        20,
    ),
    Case("S5, one flow", "s5.toml", "s5", (), 0.01, 60),
)


S3_A = CASES[0].name
NR = Case("N3, 30 UEs", "n3.toml", "n3", (), 0.0, 20)
# CPU seconds per simulated second, on one machine: 5G-LENA v4.0 compiled with -O2 on this wheel, 30 TCP
# downloads at numerology 1 in DDDSU without traces, and the wheel's S3 A with 100 UEs.
LENA_COST = 16.0
LENA_MACHINE_S3_A = 5.2


@dataclass(frozen=True)
class Measured:
    """One run of one program.

    Attributes
    ----------
    cost
        CPU seconds of the process, from its start to its end, per simulated second.
    goodput_kbps
        Goodput of all flows.
    megabytes
        Maximum resident memory.
    """

    cost: float
    goodput_kbps: float
    megabytes: float


def main() -> int:
    """Print a row per scenario, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--airwnd", type=Path, required=True, help="the example `run` of the crate airwnd-lab"
    )
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument(
        "--seconds", type=int, help="simulated seconds of each run, instead of each scenario's"
    )
    parser.add_argument(
        "--out", type=Path, default=ROOT / "out" / "peers", help="folder of ns-3 and the programs"
    )
    parser.add_argument("--only", default="", help="run the scenarios whose names begin so")
    given = parser.parse_args()
    programs = prepared(given.out)
    print(
        f"ns-3 {NS3} (wheel {WHEEL}), {given.pairs} pairs of runs; medians, least and largest in parentheses"
    )
    print(f"{'':14}{'CPU s per simulated s':^52}")
    print(f"{'scenario':<14}{'airwnd':^26}{'ns-3':^26}{'times':^22}{'MB':^14}goodput, kbit/s")
    agreed = True
    for case in CASES:
        if not case.name.startswith(given.only):
            continue
        seconds = given.seconds or case.seconds
        ours: list[Measured] = []
        theirs: list[Measured] = []
        downloads: list[Measured] = []
        for pair in range(given.pairs):
            for turn in ((ours, theirs), (theirs, ours))[pair % 2]:
                if turn is ours:
                    turn.append(airwnd(given.airwnd, case, seconds))
                else:
                    turn.append(ns3(programs[case.program], case, seconds))
            if case.name == S3_A:
                downloads.append(airwnd(given.airwnd, NR, seconds))
        agreed &= report(case, ours, theirs)
        if downloads:
            report_nr(downloads, theirs)
    return 0 if agreed else 1


def prepared(out: Path) -> dict[str, Path]:
    """Install ns-3 and compile the programs if they are missing or older than their sources."""
    environment = out / "venv"
    found = sorted(environment.glob("lib/python3*/site-packages/ns3/include"))
    if not found:
        venv.create(environment, with_pip=True)
        subprocess.run([environment / "bin" / "python", "-m", "pip", *INSTALL], check=True)
        found = sorted(environment.glob("lib/python3*/site-packages/ns3/include"))
    home = found[0].parent
    programs = {name: out / name for name in MODULES}
    for name, program in programs.items():
        source = SOURCES / f"{name}.cc"
        if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
            subprocess.run(compilation(source, program, home, MODULES[name]), check=True)
    return programs


def compilation(source: Path, program: Path, home: Path, modules: Sequence[str]) -> list[str]:
    """Return the compiler's command; the program finds the wheel's libraries where they are."""
    libraries = home / "lib64"
    return [
        *(os.environ.get("CXX", "g++"), "-std=c++20", "-O3", "-DNDEBUG", f"-I{home / 'include'}"),
        *(str(source), "-o", str(program), f"-L{libraries}", f"-Wl,-rpath,{libraries}"),
        *(f"-Wl,-rpath-link,{libraries}", "-Wl,--allow-shlib-undefined", "-Wl,--no-as-needed"),
        *(f"-lns{NS3}-{module}" for module in modules),
    ]


def airwnd(program: Path, case: Case, seconds: int) -> Measured:
    """Run a scenario in airwnd's engine, without Python."""
    run = finished([str(program), str(SOURCES / case.file), f"duration={seconds}s"])
    outcome = json.loads(run.output)
    return Measured(run.cpu_s / simulated_s(case, seconds), outcome["totals"]["goodput_kbps"], run.megabytes)


def ns3(program: Path, case: Case, seconds: int) -> Measured:
    """Run the same scenario in ns-3."""
    run = finished([str(program), *case.options, f"--duration={seconds}"])
    outcome = json.loads(run.output)
    return Measured(run.cpu_s / outcome["simulated_s"], outcome["goodput_kbps"], run.megabytes)


def simulated_s(case: Case, seconds: int) -> float:
    """Return the simulated time, with the 0.5 s in which UEs of a cell attach."""
    return seconds + (0.5 if case.program in ("s3", "n3") else 0.0)


def report(case: Case, ours: Sequence[Measured], theirs: Sequence[Measured]) -> bool:
    """Print the row of a scenario, and return whether the results agree."""
    times = [there.cost / here.cost for here, there in zip(ours, theirs, strict=True)]
    goodput = [statistics.median(each.goodput_kbps for each in side) for side in (ours, theirs)]
    deviation = goodput[0] / goodput[1] - 1
    agree = abs(deviation) <= case.tolerance
    memory = " / ".join(f"{max(each.megabytes for each in side):.0f}" for side in (ours, theirs))
    print(
        f"{case.name:<14}{spread([each.cost for each in ours], '.5f'):^26}"
        f"{spread([each.cost for each in theirs], '.3f'):^26}{spread(times, '.0f'):^22}{memory:^14}"
        f"{goodput[0]:.0f} / {goodput[1]:.0f} ({100 * deviation:+.2f} %, allowed {100 * case.tolerance:g} %)"
        f"{'' if agree else ': NOT EQUAL'}",
        flush=True,
    )
    return agree


def report_nr(ours: Sequence[Measured], s3_a: Sequence[Measured]) -> None:
    """Print the row of the NR cell, with 5G-LENA's cost scaled by ns-3's cost of S3 A in each pair."""
    theirs = [LENA_COST * measured.cost / LENA_MACHINE_S3_A for measured in s3_a]
    times = [there / here.cost for here, there in zip(ours, theirs, strict=True)]
    goodput = statistics.median(each.goodput_kbps for each in ours)
    print(
        f"{NR.name:<14}{spread([each.cost for each in ours], '.5f'):^26}"
        f"{spread(theirs, '.3f'):^26}{spread(times, '.0f'):^22}{max(each.megabytes for each in ours):^14.0f}"
        f"{goodput:.0f}; 5G-LENA: {LENA_COST:g} x S3 A / {LENA_MACHINE_S3_A:g}",
        flush=True,
    )


def spread(values: Sequence[float], digits: str) -> str:
    """Format the median, and the least and largest value in parentheses."""
    return f"{statistics.median(values):{digits}} ({min(values):{digits}} to {max(values):{digits}})"


if __name__ == "__main__":
    sys.exit(main())
