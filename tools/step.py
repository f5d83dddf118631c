"""Runs the steps of `make test` and `make nightly`: one line for each, with its time, its output if it fails.

The time is that of the clock, and in brackets that of the processors.

    python tools/step.py --begin
    python tools/step.py NAME DESCRIPTION -- COMMAND...
    python tools/step.py --summary

The output of a step is kept in `out/steps/NAME.log`; with V=1 in the environment it is printed as well. The
summary adds up the tests of all steps since `--begin`.
"""

import os
import re
import resource
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

LOGS = Path("out/steps")
#: Last lines that are printed of a step that failed.
TAIL = 300
_CARGO = re.compile(r"^test result: .*", re.MULTILINE)
_PYTEST = re.compile(r"^=+ .* in \d+\.\d+s.* =+$|^\d+ passed.* in \d+\.\d+s.*$", re.MULTILINE)
_OUTCOME = re.compile(r"(\d+) (passed|failed|errors?|skipped|ignored)\b")
_WORDS = {"error": "failed", "errors": "failed", "ignored": "skipped"}


def outcomes(log: str) -> Counter[str]:
    """Count tests by outcome: passed, failed, skipped. cargo prints a line for each program, pytest one."""
    counts: Counter[str] = Counter()
    for line in _CARGO.findall(log) + _PYTEST.findall(log)[-1:]:
        for number, word in _OUTCOME.findall(line):
            counts[_WORDS.get(word, word)] += int(number)
    return counts


def listed(counts: Counter[str]) -> str:
    """Return the counts in the order in which test runners print them."""
    return ", ".join(f"{counts[word]} {word}" for word in ("passed", "failed", "skipped"))


def read(log: Path) -> str:
    """Return the output of a step."""
    return log.read_text(encoding="utf-8", errors="replace")


def processor_time() -> float:
    """Return the seconds that processors spent on the commands that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(name: str, description: str, command: list[str]) -> int:
    """Run a step, print its line, and return its exit code."""
    log = LOGS / f"{name}.log"
    start = time.monotonic()
    worked = processor_time()
    merged = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    # Unbuffered: the log of a step that is killed ends with what it did last.
    with log.open("wb", buffering=0) as file, merged as process:
        for line in process.stdout or ():
            file.write(line)
            if os.environ.get("V"):
                sys.stdout.buffer.write(line)
                sys.stdout.flush()
    code = process.returncode
    counts = outcomes(read(log))
    tests = f"; {listed(counts)}" if counts else ""
    took = f"{time.monotonic() - start:.0f} s ({processor_time() - worked:.0f} CPU s)"
    print(f"{description}: {took}{tests}", flush=True)
    if code:
        print(*read(log).splitlines()[-TAIL:], sep="\n")
        print(f"{description}: failed with exit code {code}; the whole output is in {log}", flush=True)
    return code


def summary() -> int:
    """Print the number of tests of all steps, and the time since the first began."""
    began = (LOGS / "began").stat().st_mtime
    counts = {log.stem: outcomes(read(log)) for log in sorted(LOGS.glob("*.log"))}
    rust = sum((found for name, found in counts.items() if not name.startswith("python")), Counter())
    python = sum((found for name, found in counts.items() if name.startswith("python")), Counter())
    print(f"Rust: {listed(rust)}; Python: {listed(python)}; {time.time() - began:.0f} s")
    print(f"tests: {listed(rust + python)}")
    return 0


def main(arguments: list[str]) -> int:
    """Run what the arguments ask for."""
    match arguments:
        case ["--begin"]:
            shutil.rmtree(LOGS, ignore_errors=True)
            LOGS.mkdir(parents=True)
            (LOGS / "began").touch()
            return 0
        case ["--summary"]:
            return summary()
        case [name, description, "--", *command] if command:
            LOGS.mkdir(parents=True, exist_ok=True)
            return run(name, description, command)
        case _:
            print(__doc__, file=sys.stderr)
            return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
