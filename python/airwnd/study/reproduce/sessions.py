"""Studies with real programs: their sessions of ``airwnd link``, which are stored and continued.

A cell of a study is one session, in a folder of its own: the scenario, the commands of both sides, the output
of ``airwnd link``, its summary and run folder, the results of the programs (``results.jsonl``), and last the
measures (``measures.json``). A session that was late is repeated; a cell with late sessions only has failed.
A cell with measures of the same scenario under the same conditions is finished and not run again.
"""

import csv
import datetime as dt
import io
import json
import os
import platform
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airwnd.support.files import write_atomically

LATENESS_LIMIT_US = 1000
"""Limit of a session's p99 lateness: a TTI. The delays that are measured are 25 times as long or more."""
SESSIONS = 3
"""Number of sessions after which a cell that is late each time has failed."""
LATENESS = "lateness_us"
"""Measure that all cells have."""

Measures = dict[str, float | None]
Results = Iterable[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Store:
    """Where a study keeps its cells.

    Attributes
    ----------
    out
        Folder of all cells.
    conditions
        With what the study is measured; cells of other conditions are measured again.
    """

    out: Path
    conditions: str

    def find(self, key: str, scenario: str) -> dict[str, Any] | None:
        """Return what is stored of a finished cell: ``date``, ``conditions`` and ``measures``."""
        folder = self.out / key
        try:
            stored: dict[str, Any] = json.loads((folder / "measures.json").read_text(encoding="utf-8"))
            measured = (folder / "scenario.json").read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        is_current = measured == scenario and stored.get("conditions") == self.conditions
        return stored if is_current else None

    def run(
        self,
        key: str,
        scenario: str,
        session: Callable[[Path], str],
        measures: Callable[[Results], Measures],
    ) -> str:
        """Run a cell and store its measures; return why it failed, empty if it did not.

        Parameters
        ----------
        key, scenario
            Path of the cell in the output folder, and its scenario as JSON.
        session
            Runs a session in an empty folder and returns why it failed, empty if it did not.
        measures
            Measures from the results of the programs.
        """
        folder = (self.out / key).resolve()
        late_us = 0.0
        for _ in range(SESSIONS):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            (folder / "scenario.json").write_text(scenario, encoding="utf-8")
            if message := session(folder):
                return message
            late_us = lateness_us(folder)
            if late_us <= LATENESS_LIMIT_US:
                lines = (folder / "results.jsonl").read_text(encoding="utf-8").splitlines()
                stored = {
                    "date": str(dt.datetime.now(dt.UTC).date()),
                    "conditions": self.conditions,
                    "measures": {**measures(map(json.loads, lines)), LATENESS: late_us},
                }
                write_atomically(folder / "measures.json", json.dumps(stored) + "\n")
                return ""
        return (
            f"1 % of the packets were more than {late_us:.0f} us late, above the limit of "
            f"{LATENESS_LIMIT_US} us, in the last of {SESSIONS} sessions"
        )


def lateness_us(folder: Path) -> float:
    """Return the p99 lateness of a session, in microseconds; 0 without ``airwnd link``."""
    try:
        summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return 0.0
    return float(summary["link"]["lateness_us"]["p99"])


def write_scripts(folder: Path, server: Iterable[str], client: Iterable[str]) -> tuple[list[str], list[str]]:
    """Write the shell scripts of both sides, and return the commands that run them."""
    (folder / "server.sh").write_text("\n".join(server) + "\n", encoding="utf-8")
    (folder / "client.sh").write_text("\n".join(["set -e", *client]) + "\n", encoding="utf-8")
    return ["sh", str(folder / "server.sh")], ["sh", str(folder / "client.sh")]


def link(airwnd: str, folder: Path, server: Sequence[str], client: Sequence[str]) -> list[str]:
    """Return the command of a session: both sides over the scenario in its folder."""
    command = [*shlex.split(airwnd), "link", str(folder / "scenario.json"), "--out", str(folder / "run")]
    command += ["--summary", str(folder / "summary.json"), "--lateness-limit", f"{LATENESS_LIMIT_US}us"]
    return [*command, "--server", shlex.join(server), "--", *client]


def attempt(folder: Path, timeout_s: float, execute: Callable[[int], int]) -> str:
    """Run the commands of a session and return why they failed, empty if they did not.

    Parameters
    ----------
    folder
        Folder of the session; the output goes to ``link.log`` there.
    timeout_s
        Time after which a session has failed, for the message.
    execute
        Runs the commands with a file descriptor for their output, and returns an exit code; it raises
        `subprocess.TimeoutExpired`.
    """
    with (folder / "link.log").open("wb") as log:
        try:
            code = execute(log.fileno())
        except subprocess.TimeoutExpired:
            return f"not finished after {timeout_s:g} s, see {folder / 'link.log'}"
    return f"exit code {code}, see {folder / 'link.log'}" if code else ""


def exit_code_of(command: Sequence[str], log: int, timeout_s: float) -> int:
    """Run a command and return its exit code; `subprocess.TimeoutExpired` if it takes too long."""
    return subprocess.run(  # noqa: S603 (our own command)
        command, stdout=log, stderr=log, timeout=timeout_s, check=False
    ).returncode


def machine() -> str:
    """Describe the machine for the conditions of a study."""
    return f"Linux {platform.release()}, {os.cpu_count()} cores"


def write_table(
    path: Path,
    axes: Sequence[str],
    rows: Mapping[tuple[Any, ...], Measures],
    measures: Sequence[str],
    head: str,
) -> None:
    """Write ``measured.csv``: a row per setting and seed, which are the keys of `rows`; `head` on top."""
    stream = io.StringIO()
    stream.write(f"# {head}\n")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([*axes, "seed", *measures])
    for key, row in sorted(rows.items()):
        values = ("" if (value := row.get(name)) is None else f"{value:.6g}" for name in measures)
        writer.writerow([*key, *values])
    write_atomically(path, stream.getvalue())


def period(stored: Iterable[Mapping[str, Any]]) -> str:
    """Return the days on which cells were measured."""
    dates = sorted({cell["date"] for cell in stored})
    return " to ".join(dict.fromkeys((dates[0], dates[-1])))
