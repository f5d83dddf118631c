"""Runs that a profile-guided build of the engine learns from.

The compiler optimizes code that these runs do not execute for size. They execute each scenario of this
folder, and each algorithm in one of them; none of them is a benchmark.
"""

import argparse
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import airwnd

FOLDER = Path(__file__).parent
# Scenario and key of each family of algorithms.
FAMILIES = {
    "cc": ("wire.toml", "flow[0].cc"),
    "rwnd": ("wire.toml", "flow[0].rwnd"),
    "aqm": ("lte.toml", "rlc.queue"),
    "sched": ("static.toml", "mac.scheduler"),
    "uplink-sched": ("lte.toml", "mac.uplink_scheduler"),
    "fading": ("lte.toml", "radio.fading"),
    "propagation": ("lte.toml", "radio.propagation"),
}


def main() -> None:
    """Execute the runs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runner", type=Path, help="a build of the example `run`, not the command `airwnd`")
    runner: Path | None = parser.parse_args().runner
    command = [runner] if runner else [Path(sys.executable).with_name("airwnd"), "run"]
    for file, settings in runs():
        options = settings if runner else [option for setting in settings for option in ("--set", setting)]
        done = subprocess.run([*command, file, *options], capture_output=True, text=True, check=False)
        if done.returncode:
            # The profiler warns of a place with more than its number of values, which is usual.
            raise SystemExit("".join(line for line in done.stderr.splitlines(True) if "LLVM" not in line))


def runs() -> Iterator[tuple[Path, list[str]]]:
    """Yield the file of each run with its settings."""
    for file in sorted(FOLDER.glob("*.toml")):
        yield file, []
    for family in airwnd.catalogue():
        if family.name in FAMILIES:
            name, key = FAMILIES[family.name]
            for member in family.members:
                # One that requires a value is the user's own.
                if not any(parameter.required for parameter in member.params):
                    yield FOLDER / name, [f"{key}={member.name}", "duration=1s"]


if __name__ == "__main__":
    main()
