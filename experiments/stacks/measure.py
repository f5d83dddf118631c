"""Measures the study through ``airwnd link``: all links, queues, stacks and repetitions.

::

    python experiments/stacks/measure.py --repetitions 5

A cell of the study is one run of ``airwnd link``, in the folder
``out/stacks/LINK/QUEUE/STACK/SEED/WORKLOAD``: the scenario, the commands of both sides, the output of
``airwnd link``, its run folder, the results of the programs (``results.jsonl``), and last the measures
(``measures.json``). A cell with measures is finished and not run again, so the same command continues an
interrupted study. At the end, and on Ctrl-C, all finished cells are written to ``measured.csv`` of each link,
which ``airwnd reproduce stacks`` reads.
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
"""Time of a cell beyond that of its download, in seconds; a cell that takes longer has failed."""

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


def main() -> None:
    """Run all missing cells, then write the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--links", nargs="+", choices=LINKS, default=LINKS)
    parser.add_argument("--workloads", nargs="+", choices=WORKLOADS, default=WORKLOADS)
    parser.add_argument("--repetitions", type=int, default=5, help="seeds 1 to N")
    parser.add_argument("--seconds", type=float, default=12.0, help="length of a download")
    parser.add_argument("--out", type=Path, default=Path("out/stacks"))
    parser.add_argument("--airwnd", default="airwnd", help="the command, with options if needed")
    parser.add_argument(
        "--loopback", action="store_true", help="try the programs without `airwnd link`; writes no table"
    )
    options = parser.parse_args()
    experiments = [Experiment.load(HERE / link) for link in options.links]
    cells = list(plan(experiments, options.workloads, options.repetitions))
    missing = [cell for cell in cells if not (options.out / cell.key / "measures.json").exists()]
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
    except KeyboardInterrupt:
        sys.stderr.write(f"finished cells are kept in {options.out}; the same command continues from there\n")
    finally:
        if not options.loopback:
            for experiment in experiments:
                write_table(experiment, cells, options)
    if failed:
        parser.exit(2, f"measure.py: {len(failed)} of {len(missing)} cells failed; repeat the command\n")


def plan(experiments: Iterable[Experiment], workloads: Iterable[str], repetitions: int) -> Iterator[Cell]:
    """Yield all cells, ordered by repetition, so that an interrupted study has the first ones complete."""
    for seed in range(1, repetitions + 1):
        for experiment in experiments:
            for queue, stack in experiment.settings():
                for workload in workloads:
                    if workload == "call" or stack.startswith("kernel-"):
                        yield Cell(experiment, queue, stack, seed, workload)


def build_quinn(out: Path) -> Path:
    """Build the program with quinn and return its path."""
    target = (out / "quinn").resolve()
    manifest = PROGRAMS / "quinn" / "Cargo.toml"
    command = ["cargo", "build", "--release", "--locked", "--quiet", "--manifest-path", str(manifest)]
    subprocess.run([*command, "--target-dir", str(target)], check=True)  # noqa: S603
    return target / "release" / "stacks-quinn"


def run(cell: Cell, options: argparse.Namespace, quinn: Path) -> str:
    """Run a cell and store its measures; return why it failed, empty if it did not."""
    folder = (options.out / cell.key).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    scenario = cell.experiment.scenario_for((cell.queue, cell.stack), {"seed": cell.seed})
    (folder / "scenario.json").write_text(json.dumps(scenario.resolved), encoding="utf-8")
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
    lines = (folder / "results.jsonl").read_text(encoding="utf-8").splitlines()
    write_atomically(folder / "measures.json", json.dumps(measures(map(json.loads, lines))) + "\n")
    return ""


def execute(folder: Path, options: argparse.Namespace, log: int) -> int:
    """Run both sides of a cell and return the exit code."""
    client = ["sh", str(folder / "client.sh")]
    server = ["sh", str(folder / "server.sh")]
    timeout = options.seconds + SPARE_S
    if options.loopback:
        serving = subprocess.Popen(server, stdout=log, stderr=log, process_group=0)  # noqa: S603
        try:
            return subprocess.run(client, stdout=log, stderr=log, timeout=timeout, check=False).returncode  # noqa: S603
        finally:
            os.killpg(serving.pid, 15)
            serving.wait()
    link = [*shlex.split(options.airwnd), "link", str(folder / "scenario.json"), "--out", str(folder / "run")]
    command = [*link, "--server", shlex.join(server), "--", *client]
    return subprocess.run(command, stdout=log, stderr=log, timeout=timeout, check=False).returncode  # noqa: S603


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


def write_table(experiment: Experiment, cells: Iterable[Cell], options: argparse.Namespace) -> None:
    """Write ``measured.csv`` of a link: a row for each queue, stack and repetition with a finished cell."""
    names = [measure.name for measure in experiment.measures]
    rows: dict[tuple[str, str, int], Measures] = {}
    for cell in cells:
        path = options.out / cell.key / "measures.json"
        if cell.experiment is experiment and path.exists():
            measured = json.loads(path.read_text(encoding="utf-8"))
            rows.setdefault((cell.queue, cell.stack, cell.seed), {}).update(measured)
    if not rows:
        return
    stream = io.StringIO()
    stream.write(f"# {source(options.seconds)}\n")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["queue", "stack", "seed", *names])
    for (queue, stack, seed), row in sorted(rows.items()):
        values = ("" if (value := row.get(name)) is None else f"{value:.6g}" for name in names)
        writer.writerow([queue, stack, seed, *values])
    write_atomically(experiment.folder / FILE, stream.getvalue())


def source(seconds: float) -> str:
    """Describe when and with what the study was measured."""
    versions = ", ".join(
        f"{name} {importlib.metadata.version(name)}" for name in ("airwnd", "aioquic", "playwright")
    )
    today = dt.datetime.now(dt.UTC).date()
    return (
        f"{today}, downloads of {seconds:g} s; Linux {platform.release()}, {os.cpu_count()} cores; {versions}"
    )


if __name__ == "__main__":
    main()
