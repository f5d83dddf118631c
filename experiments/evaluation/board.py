"""Evaluates all candidates of the engine, and makes the board of the reports and its table in Markdown.

::

    make board
    python experiments/evaluation/board.py --seeds 6 --against newreno,cubic,bbr3 quinn:bbr

Finished runs are not repeated. Candidates of other packages, and controls of the kernel, are named.
"""

import argparse
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from airwnd.study.evaluate import board, report
from airwnd.study.evaluate.candidate import names

REPORTS = Path("out/evaluate")
BOARD = Path("out/board")


def evaluate(candidate: str, given: argparse.Namespace) -> int:
    """Evaluate a candidate in a process of its own, and return the exit code."""
    arguments = ["--seeds", given.seeds, "--out", str(REPORTS)]
    if not candidate.startswith("aqm:"):
        arguments += ["--suite", given.suite, "--against", given.against]
        arguments += [part for each in given.only for part in ("--only", each)]
    print(candidate, flush=True)
    command = [sys.executable, "-I", "-m", "airwnd", "evaluate", candidate, *arguments]
    return subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode  # noqa: S603 (our own)


def table(folder: Path) -> Iterator[str]:
    """Yield the rows of the board's table for each suite."""
    found = [(str(path), report.read(path)) for path in sorted(folder.rglob(report.JSON))]
    for group in board.groups(found):
        yield f"\n### {group.suite.title}\n"
        yield f"Engine {group.engine}.\n"
        yield "| Candidate | Meets | Does not | Open | Goodput | Delay | Does not meet |"
        yield "|---|--:|--:|--:|--:|--:|---|"
        for entry in group.entries:
            delay, goodput = entry.median or (None, None)
            figures = [f"{each:.2f}" if each is not None else "–" for each in (goodput, delay)]
            counts = [entry.count(answer) for answer in ("meets", "does not", "not evaluated")]
            failed = [each.id for each in entry.suite.criteria if each.answer == "does not"]
            cells = [f"`{entry.name}`", *map(str, counts), *figures, ", ".join(failed) or "–"]
            yield f"| {' | '.join(cells)} |"


def main() -> int:
    """Evaluate the candidates one by one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("candidates", nargs="*", help="further candidates")
    parser.add_argument("--seeds", default="3")
    parser.add_argument("--against", default="cubic", help="references beside which candidates run")
    parser.add_argument("--suite", default="rfc9743", help="suite of senders and receivers")
    parser.add_argument("--only", action="append", default=[], help="criterion or section of that suite")
    given = parser.parse_args()
    for candidate in [*names(), *given.candidates]:
        if code := evaluate(candidate, given):
            return code
    board.write(REPORTS, BOARD)
    print("\n".join(table(REPORTS)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
