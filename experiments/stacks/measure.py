"""Measures the study through ``airwnd link``: all links, queues, stacks and repetitions.

::

    python experiments/stacks/measure.py --repetitions 3

A cell of the study is one session of ``airwnd link``, in the folder
``out/stacks/LINK/QUEUE/STACK/SEED/WORKLOAD``: the scenario, the commands of both sides, the output of
``airwnd link``, its summary and run folder, the results of the programs (``results.jsonl``), and last the
measures (``measures.json``). A session that was late is repeated; a cell with late sessions only has failed.

A cell with measures of the same scenario under the same conditions is finished and not run again, so the same
command continues an interrupted study. When all cells of a link are finished, they replace its
``measured.csv``, which ``airwnd reproduce stacks`` reads.
"""

import argparse
import csv
import datetime as dt
import importlib.metadata
import io
import json
import os
import platform
import shlex
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airwnd.cli.options import bar
from airwnd.errors import InputError
from airwnd.files import write_atomically
from airwnd.reproduce.design import Experiment
from airwnd.reproduce.measured import FILE

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"
LINKS = ("walking", "driving", "loaded", "subway", "bus")
WORKLOADS = ("call", "page")
ALONE = "none"
"""Level of the axis `stack` for a call without a download."""
CALL_PORT, TRANSFER_PORT, PAGE_PORT = 5004, 5201, 8081
LOADS = 2
SPARE_S = 120
"""Time of a session beyond that of its download, in seconds; a session that takes longer has failed."""
LATENESS_LIMIT_US = 1000
"""Limit of a session's p99 lateness: a TTI. The delays that are measured are 25 times as long or more."""
SESSIONS = 3
"""Number of sessions after which a cell that is late each time has failed."""
LATENESS = "lateness_us"
"""Measure that all workloads have; the largest one is written to the table."""

Measures = dict[str, float | None]


@dataclass(frozen=True, slots=True)
class Sides:
    """What the commands of a cell depend on: its folder, the addresses of both sides, and programs."""

    folder: Path
    address: str
    peer: str
    quinn: Path
    seconds: float


@dataclass(frozen=True, slots=True)
class Cell:
    """One run: a workload over a link, with a queue and a sender, in one repetition."""

    experiment: Experiment
    queue: str
    stack: str
    seed: int
    workload: str

    @property
    def key(self) -> str:
        """Path of the cell in the output folder."""
        return f"{self.experiment.folder.name}/{self.queue}/{self.stack}/{self.seed}/{self.workload}"

    @property
    def scenario(self) -> str:
        """The scenario with all defaults, as JSON."""
        scenario = self.experiment.scenario_for((self.queue, self.stack), {"seed": self.seed})
        return json.dumps(scenario.resolved)


def main() -> None:
    """Run all missing cells, then write the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--links", nargs="+", choices=LINKS, default=LINKS)
    parser.add_argument("--workloads", nargs="+", choices=WORKLOADS, default=WORKLOADS)
    parser.add_argument("--repetitions", type=int, default=5, help="seeds 1 to N")
    parser.add_argument("--seconds", type=float, default=8.0, help="length of a download")
    parser.add_argument("--out", type=Path, default=Path("out/stacks"))
    parser.add_argument("--airwnd", default="airwnd", help="the command, with options if needed")
    parser.add_argument(
        "--loopback", action="store_true", help="try the programs without `airwnd link`; writes no table"
    )
    options = parser.parse_args()
    try:
        experiments = [Experiment.load(HERE / link) for link in options.links]
    except InputError as error:
        parser.exit(2, f"measure.py: {error}\n")
    cells = list(plan(experiments, options.repetitions))
    missing = [cell for cell in cells if cell.workload in options.workloads and not measured(cell, options)]
    failed = []
    try:
        quinn = build_quinn(options.out)
        with bar("stacks", None) as update:
            for done, cell in enumerate(missing):
                if update:
                    update(done / len(missing))
                message = run(cell, options, quinn)
                if message:
                    failed.append(cell)
                    sys.stderr.write(f"{cell.key}: {message}\n")
    except OSError as error:
        parser.exit(2, f"measure.py: {error.filename or ''}: {error.strerror or error}\n")
    except subprocess.CalledProcessError as error:
        parser.exit(2, f"measure.py: {shlex.join(error.cmd)}: exit code {error.returncode}\n")
    except KeyboardInterrupt:
        sys.stderr.write(f"finished cells are kept in {options.out}; the same command continues from there\n")
    finally:
        if not options.loopback:
            for experiment in experiments:
                write_table(experiment, [cell for cell in cells if cell.experiment is experiment], options)
    if failed:
        parser.exit(2, f"measure.py: {len(failed)} of {len(missing)} cells failed; repeat the command\n")


def plan(experiments: Iterable[Experiment], repetitions: int) -> Iterator[Cell]:
    """Yield all cells, ordered by repetition, so that an interrupted study has the first ones complete."""
    for seed in range(1, repetitions + 1):
        for experiment in experiments:
            for queue, stack in experiment.settings():
                for workload in WORKLOADS:
                    if workload == "call" or stack.startswith("kernel-"):
                        yield Cell(experiment, queue, stack, seed, workload)


def build_quinn(out: Path) -> Path:
    """Build the program with quinn and return its path."""
    target = (out / "quinn").resolve()
    manifest = PROGRAMS / "quinn" / "Cargo.toml"
    command = ["cargo", "build", "--release", "--locked", "--quiet", "--manifest-path", str(manifest)]
    subprocess.run([*command, "--target-dir", str(target)], check=True)  # noqa: S603 (our own command)
    return target / "release" / "stacks-quinn"


def measured(cell: Cell, options: argparse.Namespace) -> dict[str, Any] | None:
    """Return what is stored of a finished cell: when, under which conditions, and its measures."""
    folder = options.out / cell.key
    try:
        stored: dict[str, Any] = json.loads((folder / "measures.json").read_text(encoding="utf-8"))
        scenario = (folder / "scenario.json").read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    is_current = scenario == cell.scenario and stored.get("conditions") == conditions(options)
    return stored if is_current else None


def run(cell: Cell, options: argparse.Namespace, quinn: Path) -> str:
    """Run a cell and store its measures; return why it failed, empty if it did not."""
    folder = (options.out / cell.key).resolve()
    lateness_us = 0.0
    for _ in range(SESSIONS):
        if message := run_session(cell, folder, options, quinn):
            return message
        if not options.loopback:
            summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
            lateness_us = summary["link"]["lateness_us"]["p99"]
        if lateness_us <= LATENESS_LIMIT_US:
            lines = (folder / "results.jsonl").read_text(encoding="utf-8").splitlines()
            stored = {
                "date": str(dt.datetime.now(dt.UTC).date()),
                "conditions": conditions(options),
                "measures": {**measures(map(json.loads, lines)), LATENESS: lateness_us},
            }
            write_atomically(folder / "measures.json", json.dumps(stored) + "\n")
            return ""
    return (
        f"1 % of the packets were more than {lateness_us:.0f} us late, above the limit of "
        f"{LATENESS_LIMIT_US} us, in the last of {SESSIONS} sessions"
    )


def run_session(cell: Cell, folder: Path, options: argparse.Namespace, quinn: Path) -> str:
    """Run a session of a cell; return why it failed, empty if it did not."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "scenario.json").write_text(cell.scenario, encoding="utf-8")
    address, peer = ("127.0.0.1", "127.0.0.1") if options.loopback else ("::", "server")
    server, client = commands(cell, Sides(folder, address, peer, quinn, options.seconds))
    (folder / "server.sh").write_text("\n".join(server) + "\n", encoding="utf-8")
    (folder / "client.sh").write_text("\n".join(["set -e", *client]) + "\n", encoding="utf-8")
    with (folder / "link.log").open("wb") as log:
        try:
            code = execute(folder, options, log.fileno())
        except subprocess.TimeoutExpired:
            return f"not finished after {options.seconds + SPARE_S:g} s, see {folder / 'link.log'}"
    if code:
        return f"exit code {code}, see {folder / 'link.log'}"
    return ""


def execute(folder: Path, options: argparse.Namespace, log: int) -> int:
    """Run both sides of a session and return the exit code."""
    client = ["sh", str(folder / "client.sh")]
    server = ["sh", str(folder / "server.sh")]
    timeout = options.seconds + SPARE_S
    if options.loopback:
        serving = subprocess.Popen(server, stdout=log, stderr=log, process_group=0)  # noqa: S603 (our own)
        try:
            return exit_code_of(client, log, timeout)
        finally:
            os.killpg(serving.pid, 15)
            serving.wait()
    link = [*shlex.split(options.airwnd), "link", str(folder / "scenario.json"), "--out", str(folder / "run")]
    link += ["--summary", str(folder / "summary.json"), "--lateness-limit", f"{LATENESS_LIMIT_US}us"]
    return exit_code_of([*link, "--server", shlex.join(server), "--", *client], log, timeout)


def exit_code_of(command: list[str], log: int, timeout: float) -> int:
    """Run a command and return its exit code."""
    return subprocess.run(  # noqa: S603 (our own command)
        command, stdout=log, stderr=log, timeout=timeout, check=False
    ).returncode


def commands(cell: Cell, sides: Sides) -> tuple[list[str], list[str]]:
    """Return the lines of the server's and the client's shell script."""
    result = shlex.quote(str(sides.folder / "results.jsonl"))
    if cell.workload == "page":
        cc = cell.stack.removeprefix("kernel-")
        return (
            [f"exec {program('page')} server {sides.address} {PAGE_PORT} {cc}"],
            [f"{program('page')} client {sides.peer} {PAGE_PORT} --loads {LOADS} --result {result}"],
        )
    # The call begins a second before the download and ends with it.
    length = f"--seconds {sides.seconds + 1}"
    server = [f"{program('call')} server {sides.address} {CALL_PORT} &"]
    client = [f"{program('call')} client {sides.peer} {CALL_PORT} {length} --result {result} & call=$!"]
    if cell.stack != ALONE:
        serving, downloading = transfer(cell, sides, result)
        server.append(f"{serving} &")
        client += downloading
    return [*server, "wait"], [*client, "wait $call"]


def transfer(cell: Cell, sides: Sides, result: str) -> tuple[str, list[str]]:
    """Return the command of the sender, and the client's lines."""
    stack, cc = cell.stack.split("-")
    choice, waiting = cc, []
    if stack != "kernel":
        certificate = shlex.quote(str(sides.folder / "certificate"))
        choice, waiting = f"{cc} {certificate}", [f"while [ ! -s {certificate} ]; do sleep 0.1; done"]
    quinn = shlex.quote(str(sides.quinn))
    start = {"kernel": program("tcp"), "aioquic": program("quic"), "quinn": quinn}[stack]
    seconds = sides.seconds
    end = f"{seconds} down {result}" if stack == "quinn" else f"down --seconds {seconds} --result {result}"
    client = f"{start} client {sides.peer} {TRANSFER_PORT} {choice} {end}"
    return f"{start} server {sides.address} {TRANSFER_PORT} {choice}", [*waiting, "sleep 1", client]


def program(name: str) -> str:
    """Return the start of a command line."""
    return shlex.join([sys.executable, str(PROGRAMS / f"{name}.py")])


def measures(results: Iterable[dict[str, Any]]) -> Measures:
    """Return the measures of a cell from what its programs wrote."""
    found: Measures = {}
    loads = []
    for result in results:
        if result["program"] == "page":
            loads.append(result)
        elif result["program"] == "call":
            found["call_delay_ms"] = result["down_delay_ms_p95"]
            found["call_late_percent"] = result["down_late_150_percent"]
            found["call_loss_percent"] = result["down_loss_percent"]
        else:
            found["download_kbps"] = result["goodput_kbps"]
            found["rtt_ms"] = statistics.fmean(rtt_ms for _, rtt_ms, _, _ in result["samples"])
            found["retransmitted"] = result["retransmitted"]
    for key in ("ttfb_ms", "lcp_ms", "load_ms") if loads else ():
        found[f"page_{key}"] = statistics.fmean(load[key] for load in loads)
    return found


def write_table(experiment: Experiment, cells: list[Cell], options: argparse.Namespace) -> None:
    """Write ``measured.csv`` of a link if all cells are finished: a row per queue, stack and seed."""
    finished = [(cell, stored) for cell in cells if (stored := measured(cell, options))]
    path = experiment.folder / FILE
    if len(finished) < len(cells):
        sys.stderr.write(
            f"{path}: unchanged, {len(cells) - len(finished)} of {len(cells)} cells are missing\n"
        )
        return
    rows: dict[tuple[str, str, int], Measures] = {}
    for cell, stored in finished:
        row = rows.setdefault((cell.queue, cell.stack, cell.seed), {LATENESS: 0.0})
        lateness_us = max(row[LATENESS], stored["measures"][LATENESS])
        row.update({**stored["measures"], LATENESS: lateness_us})
    names = [measure.name for measure in experiment.measures]
    dates = sorted({stored["date"] for _, stored in finished})
    stream = io.StringIO()
    stream.write(f"# {' to '.join(dict.fromkeys((dates[0], dates[-1])))}, {conditions(options)}\n")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["queue", "stack", "seed", *names])
    for (queue, stack, seed), row in sorted(rows.items()):
        values = ("" if (value := row.get(name)) is None else f"{value:.6g}" for name in names)
        writer.writerow([queue, stack, seed, *values])
    write_atomically(path, stream.getvalue())


def conditions(options: argparse.Namespace) -> str:
    """Describe with what the study is measured; cells of other conditions are measured again."""
    versions = ", ".join(
        f"{name} {importlib.metadata.version(name)}" for name in ("airwnd", "aioquic", "playwright")
    )
    return (
        f"downloads of {options.seconds:g} s{' over loopback' if options.loopback else ''}; "
        f"Linux {platform.release()}, {os.cpu_count()} cores; {versions}"
    )


if __name__ == "__main__":
    main()
