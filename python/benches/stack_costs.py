"""Instructions per data packet of the stacks in ``adapters`` and of what connects them to the engine.

Run with ``cargo build --release -p airwnd-compare`` and ``python python/benches/stack_costs.py``. Valgrind
counts the instructions of a download in a cell without other traffic, by the source file from which each
comes, so that inlined code counts where it was written. What several parts use, such as the allocator,
counts as its callers do. The counts are those between two and five seconds of the download, so that they
contain neither the start of the program nor the handshake; those of the engine contain the slots of the
cell.
"""

import argparse
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[2]
SCENARIO = ROOT / "experiments" / "stacks-in-cell" / "scenarios" / "walking.toml"
STACKS = ("quinn cubic", "s2n cubic", "smoltcp reno", "str0m", "airwnd cubic")
#: Part of the program, and paths of its source files.
PARTS = {
    "adapter": re.compile(r"adapters/"),
    "crate `airwnd`": re.compile(r"crates/airwnd/"),
    "engine": re.compile(r"crates/"),
    "stack": re.compile(r"/(quinn|s2n-|smoltcp|str0m|rustls|ring|aws-lc)[^/]*/"),
}
SHARED = "shared"
SECONDS = (2, 5)
"""Durations of the downloads whose difference counts."""
ROUNDS = 50
"""Rounds after which the callers of callers no longer change the shares."""


@dataclass
class Profile:
    """Instructions of a run: those of each function by part, and those of its calls with what they call."""

    own: dict[str, dict[str, int]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(int)))
    calls: dict[tuple[str, str], int] = field(default_factory=lambda: defaultdict(int))
    part: dict[str, str] = field(default_factory=dict)


def part_of(file: str) -> str:
    """Return the part of the program to which a source file belongs."""
    return next((part for part, pattern in PARTS.items() if pattern.search(file)), SHARED)


def read(lines: Iterable[str]) -> Profile:
    """Read a profile in Callgrind's format, whose names stand where they are first used."""
    profile = Profile()
    names: dict[tuple[str, str], str] = {}
    function = part = callee = ""
    is_call = False

    def named(kind: str, text: str) -> str:
        number, _, name = text.partition(" ")
        return names.setdefault((kind, number), name)

    for line in lines:
        key, separator, value = line.rstrip("\n").partition("=")
        if separator and key in ("fl", "fi", "fe", "cfi", "cfl"):
            file = named("file", value)
            if not key.startswith("c"):
                part = part_of(file)
        elif separator and key in ("fn", "cfn"):
            name = named("function", value)
            if key == "cfn":
                callee = name
            else:
                function = name
                profile.part.setdefault(function, part)
        elif separator and key == "calls":
            is_call = True
        elif found := re.fullmatch(r"[+\-*\d]\S* (\d+)", line.rstrip("\n")):
            if is_call:
                profile.calls[function, callee] += int(found[1])
            else:
                # The library's code within a function of a part is of that part.
                own = profile.part[function] if part == SHARED else part
                profile.own[function][own] += int(found[1])
            is_call = False
    return profile


def totals(profile: Profile) -> dict[str, float]:
    """Return the instructions of each part, with those of shared functions divided among their callers."""
    callers: dict[str, dict[str, int]] = defaultdict(dict)
    for (caller, callee), count in profile.calls.items():
        if profile.part.get(callee) == SHARED and caller != callee:
            callers[callee][caller] = count
    shares = {name: {part: 1.0} for name, part in profile.part.items()}
    for _ in range(ROUNDS):
        for callee, counts in callers.items():
            whole = sum(counts.values())
            share: dict[str, float] = defaultdict(float)
            for caller, count in counts.items():
                for part, weight in shares[caller].items():
                    share[part] += weight * count / whole if whole else 0
            shares[callee] = share or {SHARED: 1.0}
    result: dict[str, float] = defaultdict(float)
    for function, own in profile.own.items():
        for part, count in own.items():
            for owner, weight in shares[function].items() if part == SHARED else [(part, 1.0)]:
                result[owner] += weight * count
    return result


def measured(program: Path, stack: str, seconds: int) -> tuple[int, dict[str, float]]:
    """Return the number of data packets of a run and the instructions of each part."""
    with TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        tool = ("valgrind", "--tool=callgrind", f"--callgrind-out-file={out}")
        done = subprocess.run(
            [*tool, program, "cost", SCENARIO, stack, str(seconds)],
            check=True, capture_output=True, text=True,
        )  # fmt: skip
        with out.open(encoding="utf-8") as file:
            return int(done.stdout.split()[0]), totals(read(file))


def main() -> None:
    """Print a row per stack."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--program", type=Path, default=ROOT / "target" / "release" / "airwnd-compare")
    given = parser.parse_args()
    parts = [*PARTS, SHARED]
    print(f"| Stack | Data packets | {' | '.join(parts)} |")
    print(f"|---|{'--:|' * (1 + len(parts))}")
    for stack in STACKS:
        (before, first), (after, last) = (measured(given.program, stack, seconds) for seconds in SECONDS)
        packets = after - before
        costs = [f"{(last.get(part, 0) - first.get(part, 0)) / packets:,.0f}" for part in parts]
        print(f"| {stack} | {packets:,} | {' | '.join(costs)} |", flush=True)


if __name__ == "__main__":
    main()
