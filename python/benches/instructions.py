"""Instructions that the engine executes for a simulated second, against the stored counts of another version.

Run with ``make bench-instructions``. Valgrind counts instructions, so that the numbers hardly depend on
machine and load: a change of the engine by one per cent is visible. ``--store NAME`` replaces the counts in
``instructions.csv``, so that the diff of a change shows its cost.
"""

# ruff: noqa: S603, T201

import argparse
import csv
import re
import subprocess
from pathlib import Path

FOLDER = Path(__file__).parent
STORED = FOLDER / "instructions.csv"
# Scenario, and simulated seconds; Valgrind takes fifty times the time of a run.
CASES = (("peers/s3a.toml", 5), ("peers/s3b.toml", 5), ("peers/s5.toml", 60), ("scenarios/57-cells.toml", 1))
NAMES = ("scenario", "simulated_s", "version", "million_instructions_per_s")


def main() -> None:
    """Print a row per scenario."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--airwnd", type=Path, required=True, help="the example `run` of the crate airwnd-lab"
    )
    parser.add_argument("--store", metavar="NAME", help="store the counts as those of this version")
    given = parser.parse_args()
    with STORED.open(encoding="utf-8", newline="") as file:
        stored = {row["scenario"]: row for row in csv.DictReader(file)}
    rows = []
    for scenario, seconds in CASES:
        millions = counted(given.airwnd, scenario, seconds) / seconds / 1e6
        before = stored.get(scenario)
        change = (
            f"{100 * (millions / float(before[NAMES[3]]) - 1):+.2f} % since {before['version']}"
            if before
            else ""
        )
        print(
            f"{scenario:<16} {millions:10.2f} million instructions per simulated second  {change}", flush=True
        )
        rows.append((scenario, seconds, given.store, f"{millions:.2f}"))
    if given.store:
        with STORED.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([NAMES, *rows])


def counted(program: Path, scenario: str, seconds: int) -> int:
    """Return the number of instructions of a run, including its start."""
    tool = ("valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null")
    command = [*tool, str(program), str(FOLDER / scenario), f"duration={seconds}s"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = re.search(r"I +refs: +([\d,]+)", done.stderr)
    if not found:
        raise SystemExit(f"no count of instructions in the output of Valgrind: {done.stderr[-200:]}")
    return int(found[1].replace(",", ""))


if __name__ == "__main__":
    main()
