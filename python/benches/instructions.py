"""Instructions that the engine executes for a simulated second, against those of other versions.

Run with ``make bench-instructions``. Valgrind counts instructions, so that the numbers hardly depend on
machine and load: a change of the engine by one per cent is visible. ``--store NAME`` stores the counts in
``instructions.csv``, so that the diff of a change shows its cost. The counts of releases are kept; those of
any other version are replaced by the next.
"""

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
        stored = list(csv.DictReader(file))
    rows = []
    for scenario, seconds in CASES:
        millions = counted(given.airwnd, scenario, seconds) / seconds / 1e6
        changes = [
            f"{100 * (millions / float(row[NAMES[3]]) - 1):+.2f} % since {row['version']}"
            for row in compared([row for row in stored if row["scenario"] == scenario])
        ]
        print(
            f"{scenario:<24} {millions:10.2f} million instructions per simulated second {', '.join(changes)}",
            flush=True,
        )
        rows.append(dict(zip(NAMES, (scenario, seconds, given.store, f"{millions:.2f}"), strict=True)))
    if given.store:
        with STORED.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, NAMES, lineterminator="\n")
            writer.writeheader()
            writer.writerows([*kept(stored, given.store), *rows])


def is_release(version: str) -> bool:
    """Return whether a name is that of a release, such as ``0.2.0``; other versions are named by commit."""
    return re.fullmatch(r"\d+\.\d+\.\d+", version) is not None


def compared(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """Return the rows of the last release and of the last other version, of those of a scenario."""
    releases = [row for row in rows if is_release(row["version"])]
    releases.sort(key=lambda row: [int(part) for part in row["version"].split(".")])
    others = [row for row in rows if not is_release(row["version"])]
    return releases[-1:] + others[-1:]


def kept(rows: list[dict[str, str]], version: str) -> list[dict[str, str]]:
    """Return the stored rows that remain when a version is stored."""
    return [
        row
        for row in rows
        if row["version"] != version and (is_release(version) or is_release(row["version"]))
    ]


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
