"""Measures the study through ``airwnd link``: all links, queues, stacks and repetitions.

::

    python experiments/stacks/measure.py --repetitions 3

A cell of the study is one session of ``airwnd link``, in the folder
``out/stacks/LINK/QUEUE/STACK/SEED/WORKLOAD``; `airwnd.study.reproduce.sessions` describes what is in it and
how the same command continues an interrupted study. When all cells of a link are finished, they replace its
``measured.csv``, which ``airwnd reproduce stacks`` reads.
"""

import argparse
import importlib.metadata
import json
import os
import shlex
import statistics
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airwnd.cli.options import bar
from airwnd.study.reproduce import sessions
from airwnd.study.reproduce.design import Experiment
from airwnd.study.reproduce.measured import FILE
from airwnd.study.reproduce.sessions import LATENESS, Measures
from airwnd.support.errors import InputError

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


@dataclass(frozen=True, slots=True)
class Sides:
    """Inputs of the commands of a cell: its folder, the addresses of both sides, and programs."""

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


def store(options: argparse.Namespace) -> sessions.Store:
    """Return where the cells are kept."""
    return sessions.Store(options.out, conditions(options))


def measured(cell: Cell, options: argparse.Namespace) -> dict[str, Any] | None:
    """Return what is stored of a finished cell: when, under which conditions, and its measures."""
    return store(options).find(cell.key, cell.scenario)


def run(cell: Cell, options: argparse.Namespace, quinn: Path) -> str:
    """Run a cell and store its measures; return why it failed, empty if it did not."""

    def session(folder: Path) -> str:
        return run_session(cell, folder, options, quinn)

    return store(options).run(cell.key, cell.scenario, session, measures)


def run_session(cell: Cell, folder: Path, options: argparse.Namespace, quinn: Path) -> str:
    """Run a session of a cell; return why it failed, empty if it did not."""
    address, peer = ("127.0.0.1", "127.0.0.1") if options.loopback else ("::", "server")
    server, client = sessions.write_scripts(
        folder, *commands(cell, Sides(folder, address, peer, quinn, options.seconds))
    )
    timeout = options.seconds + SPARE_S

    def execute(log: int) -> int:
        if not options.loopback:
            command = sessions.link(options.airwnd, folder, server, client)
            return sessions.exit_code_of(command, log, timeout)
        serving = subprocess.Popen(server, stdout=log, stderr=log, process_group=0)  # noqa: S603 (our own)
        try:
            return sessions.exit_code_of(client, log, timeout)
        finally:
            os.killpg(serving.pid, 15)
            serving.wait()

    return sessions.attempt(folder, timeout, execute)


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
    head = f"{sessions.period(stored for _, stored in finished)}, {conditions(options)}"
    sessions.write_table(path, ("queue", "stack"), rows, names, head)


def conditions(options: argparse.Namespace) -> str:
    """Describe with what the study is measured; cells of other conditions are measured again."""
    versions = ", ".join(
        f"{name} {importlib.metadata.version(name)}" for name in ("airwnd", "aioquic", "playwright")
    )
    return (
        f"downloads of {options.seconds:g} s{' over loopback' if options.loopback else ''}; "
        f"{sessions.machine()}; {versions}"
    )


if __name__ == "__main__":
    main()
