"""Measures the study of ``airwnd guard``: all links, places, guards, senders, workloads and repetitions.

::

    python experiments/guard/measure.py --repetitions 3 --parallel 3

Needs root, for namespaces and eBPF. A cell of the study is one session of ``airwnd link``, in the folder
``out/guard/LINK/PLACE/GUARD/SENDER/WORKLOAD/SEED``; `airwnd.study.reproduce.sessions` describes what is in it
and how the same command continues an interrupted study. Cells are ordered by what matters most. After each
round the finished cells of a link replace its ``measured.csv``, which ``airwnd reproduce guard`` reads.

``--emulated`` measures the cells of the place `vm`, which need CAKE; emulate.py calls it in an emulated
computer, and puts what it measured into ``out/guard/emulated/cells``.
"""

import argparse
import bisect
import importlib.metadata
import itertools
import json
import os
import shlex
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from airwnd.cli.options import bar
from airwnd.study.reproduce import sessions
from airwnd.study.reproduce.design import Experiment
from airwnd.study.reproduce.measured import FILE
from airwnd.support.errors import InputError

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"
SERVER = HERE.parent / "stacks" / "programs"
LINKS = ("steady-10", "steady-50", "walking", "driving", "loaded", "subway", "bus")
AXES = ("place", "guard", "sender", "workload")
RECEIVER, ROUTER, EMULATED = "receiver", "router", "vm"
NONE = "none"
GUARDS = {
    NONE: "",
    "drwa": "drwa",
    "drwa-1.5": '{kind = "drwa", lambda = 1.5}',
    "dfcsd": '{kind = "dfcsd", update = "step"}',
    "rledbat": "rledbat",
    "rtac": "rtac",
    "standing": "standing",
}
"""Levels of the axis `guard`, with the value of ``--rwnd``."""
BOTH = (RECEIVER, ROUTER)
ALONE = "alone"
"""The workload of ping without a download: the part of ping that is not due to one."""
ROUNDS = (
    (("cubic",), (ALONE,), (RECEIVER,)),
    (("cubic",), ("one", "four"), BOTH),
    (("cubic",), ("late", "short", "ipv6"), (RECEIVER,)),
    (("reno", "bbr"), ("one",), BOTH),
)
"""Senders, workloads and places of a repetition, in the order in which they are measured."""
OTHERS = (
    (("cubic",), ("late", "short", "ipv6"), (ROUTER,)),
    (("reno", "bbr"), ("four", "late", "short", "ipv6"), BOTH),
)
"""The rest of the product; it is measured after all repetitions of ROUNDS."""
VARIABLE = LINKS[2:]
"""Links on which guards are compared with CAKE."""
CAKE = {"cake-50": 0.5, "cake-80": 0.8, "cake-95": 0.95}
"""Fixed rates of CAKE, as shares of the throughput without a guard."""
AUTORATE = "autorate"
AUTORATE_RATES = {"min": 0.25, "base": 0.5, "max": 2.0}
"""Rates of cake-autorate's rule, as shares of the throughput without a guard."""
EMULATED_GUARDS = (NONE, "drwa-1.5", "cake-80", AUTORATE, "cake-50", "cake-95", "drwa", "dfcsd")
"""Guards and shapers in the emulated computer, in the order in which they are measured."""
SETTLING_S = 3.0
"""Time after the begin of the first download that throughput and ping leave out."""
RECORDING_STEP_S = 20
"""Time by which a repetition begins later in a recording than the one before."""
BEGIN_S = 16
"""Time from the start of the UE's script to the first download: enough for a guard to be in place on a busy
machine, as eBPF programs wait for every processor."""
PORT = 5201
SERVER_ADDRESS = "100.64.0.1"
SPARE_S, EMULATED_SPARE_S = 60, 3600
"""Time of a session beyond that of its download, in seconds; a session that takes longer has failed. The
emulated computer has a clock of its own, which may go fast while a file is read."""
CONDITIONS = "conditions"
EMULATED_FOLDER = "emulated/cells"
"""Folder of the cells of the emulated computer, and the file with its conditions there."""
LAN = "lan"
"""The router's interface to the client."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One run: a workload over a link, with a sender and a guard, in one repetition."""

    experiment: Experiment
    place: str
    guard: str
    sender: str
    workload: str
    seed: int

    @property
    def setting(self) -> tuple[str, ...]:
        """Levels of `AXES`."""
        return self.place, self.guard, self.sender, self.workload

    @property
    def key(self) -> str:
        """Path of the cell in the output folder."""
        return "/".join((self.experiment.folder.name, *self.setting, str(self.seed)))

    @property
    def scenario(self) -> str:
        """The scenario with all defaults, as JSON."""
        changes: dict[str, Any] = {"seed": self.seed}
        links = self.experiment.scenario.resolved.get("link") or [{}]
        if links[0].get("kind") == "trace":
            changes["link[0].start"] = f"{RECORDING_STEP_S * (self.seed - 1)}s"
        return json.dumps(self.experiment.scenario_for(self.setting, changes).resolved)


def main() -> None:
    """Run all missing cells, and write the tables after each round."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--links", nargs="+", choices=LINKS, default=LINKS)
    guards = list(dict.fromkeys([*GUARDS, *EMULATED_GUARDS]))
    parser.add_argument("--guards", nargs="+", choices=guards, default=guards)
    parser.add_argument("--repetitions", type=int, default=3, help="seeds 1 to N")
    parser.add_argument("--seconds", type=float, default=12.0, help="length of a download")
    parser.add_argument("--parallel", type=int, default=3, help="sessions at the same time")
    parser.add_argument("--emulated", action="store_true", help="only the place `vm`, on this machine")
    parser.add_argument("--first", type=int, metavar="N", help="stop after N missing cells")
    parser.add_argument("--out", type=Path, default=Path("out/guard"))
    parser.add_argument("--airwnd", default="airwnd", help="the command, with options if needed")
    parser.add_argument(
        "--guard",
        default=str(Path(__file__).parents[2] / "target" / "release" / "airwnd-guard"),
        help="the guard with the controllers of the study: cargo build --release -p airwnd-guard -F study",
    )
    options = parser.parse_args()
    try:
        experiments = [Experiment.load(HERE / link) for link in options.links]
        study = Study(options)
        planned = emulated if options.emulated else plan
        rounds = [
            [cell for cell in cells if cell.guard in options.guards]
            for cells in planned(experiments, options.repetitions)
        ]
        failed = sum(study.measure(cells) for cells in rounds)
    except InputError as error:
        parser.exit(2, f"measure.py: {error}\n")
    except OSError as error:
        parser.exit(2, f"measure.py: {error.filename or ''}: {error.strerror or error}\n")
    if failed:
        parser.exit(2, f"measure.py: {failed} cells failed; repeat the command\n")


def plan(experiments: list[Experiment], repetitions: int) -> Iterator[Iterator[Cell]]:
    """Yield the rounds: what matters most in all repetitions, then the rest of the product."""
    for rounds in (ROUNDS, OTHERS):
        for seed in range(1, repetitions + 1):
            for senders, workloads, places in rounds:
                product = itertools.product(workloads, experiments, senders, places, GUARDS)
                yield (
                    Cell(experiment, place, guard, sender, workload, seed)
                    for workload, experiment, sender, place, guard in product
                    if workload != ALONE or guard == NONE
                )


def emulated(experiments: list[Experiment], repetitions: int) -> Iterator[Iterator[Cell]]:
    """Yield the rounds of the emulated computer: a repetition on a link."""
    for seed in range(1, repetitions + 1):
        for experiment in experiments:
            if experiment.folder.name in VARIABLE:
                yield (Cell(experiment, EMULATED, guard, "cubic", "one", seed) for guard in EMULATED_GUARDS)


class Study:
    """The cells that are measured with the same options."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        conditions = (
            f"downloads of {options.seconds:g} s; {sessions.machine()}; "
            f"airwnd {importlib.metadata.version('airwnd')}"
        )
        self._store = sessions.Store(options.out, conditions)
        self._emulated: sessions.Store | None = None
        if options.emulated:
            options.out.mkdir(parents=True, exist_ok=True)
            (options.out / CONDITIONS).write_text(conditions, encoding="utf-8")
        elif (told := options.out / EMULATED_FOLDER / CONDITIONS).exists():
            self._emulated = sessions.Store(told.parent, told.read_text(encoding="utf-8"))
        self._measured: dict[str, tuple[Cell, dict[str, Any]]] = {}
        self._left = options.first
        # Guards that start at the same time wait for each other: the kernel attaches one at a time.
        self._spacing_s = (BEGIN_S + options.seconds) / options.parallel
        self._starting = threading.Lock()
        self._next_s = 0.0

    def measure(self, cells: list[Cell]) -> int:
        """Run the missing cells of a round and write the tables; return how many failed."""
        missing = []
        for cell in cells:
            if stored := self._store.find(cell.key, cell.scenario):
                self._measured[cell.key] = cell, stored
            else:
                missing.append(cell)
        if self._left is not None:
            missing, self._left = missing[: self._left], max(self._left - len(missing), 0)
        try:
            # On a busy machine a session may not be ready in time; the next attempt may.
            failed = self._run(self._run(missing))
        finally:
            for experiment in {cell.experiment.name: cell.experiment for cell in cells}.values():
                self._write_table(experiment)
        return len(failed)

    def _run(self, missing: list[Cell]) -> list[Cell]:
        """Run cells and return those that failed."""
        failed = []
        with bar("guard", None) as update, ThreadPoolExecutor(self._options.parallel) as pool:
            try:
                for done, (cell, message) in enumerate(pool.map(self._run_cell, missing), start=1):
                    if update:
                        update(done / len(missing))
                    if message:
                        failed.append(cell)
                        sys.stderr.write(f"{cell.key}: {message}\n")
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
        return failed

    def _run_cell(self, cell: Cell) -> tuple[Cell, str]:
        def session(folder: Path) -> str:
            return self._session(cell, folder)

        scenario = cell.scenario
        try:
            message = self._store.run(cell.key, scenario, session, measures_of(cell, self._options.seconds))
        except InputError as error:
            message = str(error)
        if not message and (stored := self._store.find(cell.key, scenario)):
            self._measured[cell.key] = cell, stored
        return cell, message

    def _session(self, cell: Cell, folder: Path) -> str:
        """Run a session of a cell in a control group of its own; return why it failed."""
        group = cgroup_root() / f"airwnd-study-{os.getpid()}-{cell.key.replace('/', '-')}"
        with self._starting:
            time.sleep(max(self._next_s - time.monotonic(), 0.0))
            self._next_s = time.monotonic() + self._spacing_s
        group.mkdir()
        try:
            server = [
                f"exec {shlex.join([sys.executable, str(SERVER / 'tcp.py')])} server :: {PORT} {cell.sender}"
            ]
            sides = sessions.write_scripts(folder, server, self._client(cell, folder, group))
            command = sessions.link(self._options.airwnd, folder, *sides)
            limit_s = self._options.seconds + (EMULATED_SPARE_S if cell.place == EMULATED else SPARE_S)
            return sessions.attempt(folder, limit_s, lambda log: sessions.exit_code_of(command, log, limit_s))
        finally:
            remove_cgroup(group)

    def _client(self, cell: Cell, folder: Path, group: Path) -> list[str]:
        """Return the lines of the UE's shell script."""
        load = [sys.executable, str(PROGRAMS / "load.py"), "server", str(PORT), cell.sender, cell.workload]
        load += ["--seconds", f"{self._options.seconds:g}", "--result", str(folder / "results.jsonl")]
        workload = f"env PYTHONPATH={shlex.quote(str(SERVER))} {shlex.join(load)} --begin $begin"
        # With nanoseconds; the shell computes with whole seconds.
        lines = [f"now=$(date +%s.%N); begin=$((${{now%.*}} + {BEGIN_S})).${{now#*.}}"]
        lines += [f"echo $$ > {shlex.quote(str(group / 'cgroup.procs'))}"]
        scope = f"--cgroup {shlex.quote(str(group))}"
        if cell.place != RECEIVER:
            lines += router()
            workload = f"nsenter --net --target $client {workload}"
            scope = f"--forward {LAN}"
        if cell.guard in GUARDS and cell.guard != NONE:
            log = shlex.quote(str(folder / "guard.jsonl"))
            rwnd = shlex.quote(GUARDS[cell.guard])
            lines += [
                f"{self._options.guard} {scope} --rwnd {rwnd} --json-log {log} &",
                "guard=$!",
                # The first line is written when the guard is in place.
                f"while [ ! -s {log} ]; do kill -0 $guard; sleep 0.05; done",
            ]
        elif cell.guard != NONE:
            lines += self._shaper(cell, folder)
        lines.append(workload)
        if cell.guard not in (NONE, *CAKE):
            lines += ["kill $guard", "wait $guard"]
        if cell.place != RECEIVER:
            lines.append("kill $client")
        return lines

    def _shaper(self, cell: Cell, folder: Path) -> list[str]:
        """Return shell lines that shape towards the client, by the throughput of the same link without."""
        none = replace(cell, guard=NONE)
        stored = self._store.find(none.key, none.scenario)
        if stored is None:
            raise InputError(f"{cell.key}: needs the throughput of {none.key}")
        mean_kbps = stored["measures"]["goodput_kbps"]
        share = CAKE.get(cell.guard, AUTORATE_RATES["base"])
        lines = [f"tc qdisc add dev {LAN} root cake bandwidth {share * mean_kbps:.0f}kbit"]
        if cell.guard == AUTORATE:
            rates = " ".join(f"--{name} {share * mean_kbps:.0f}" for name, share in AUTORATE_RATES.items())
            program = shlex.join([sys.executable, str(PROGRAMS / "autorate.py"), LAN, SERVER_ADDRESS])
            lines += [f"{program} {rates} > {shlex.quote(str(folder / 'autorate.txt'))} &", "guard=$!"]
        return lines

    def _write_table(self, experiment: Experiment) -> None:
        """Write ``measured.csv`` of a link: a row per finished cell."""
        stored = [pair for pair in self._measured.values() if pair[0].experiment is experiment]
        heads = [self._store.conditions]
        if self._emulated and experiment.folder.name in VARIABLE:
            cells = itertools.chain.from_iterable(emulated([experiment], self._options.repetitions))
            found = [(cell, self._emulated.find(cell.key, cell.scenario)) for cell in cells]
            stored += [(cell, each) for cell, each in found if each]
            heads.append(f"vm: {self._emulated.conditions}")
        if stored:
            sessions.write_table(
                experiment.folder / FILE,
                AXES,
                {(*cell.setting, cell.seed): found["measures"] for cell, found in stored},
                [measure.name for measure in experiment.measures],
                f"{sessions.period(found for _, found in stored)}, {'. '.join(heads)}",
            )


def router() -> list[str]:
    """Return shell lines that make the UE a router: `$client` is a process behind it, in a namespace."""
    return [
        # The shell's own namespaces, such as that of mounts, remain.
        "unshare --net sleep 3600 &",
        "client=$!",
        "while [ $(readlink /proc/$client/ns/net) = $(readlink /proc/self/ns/net) ]; do sleep 0.02; done",
        f"ip link add {LAN} type veth peer name wan netns $client",
        f"ip address add 192.168.64.1/24 dev {LAN}",
        f"ip address add fd00:65::1/64 dev {LAN} nodad",
        f"ip link set {LAN} up",
        'inside() { nsenter --net --target $client "$@"; }',
        "inside ip link set lo up",
        "inside ip address add 192.168.64.2/24 dev wan",
        "inside ip address add fd00:65::2/64 dev wan nodad",
        "inside ip link set wan up",
        "inside ip route add default via 192.168.64.1",
        "inside ip route add default via fd00:65::1",
        "echo 1 > /proc/sys/net/ipv4/ip_forward",
        "echo 1 > /proc/sys/net/ipv6/conf/all/forwarding",
        "nft add table inet study",
        "nft add chain inet study out '{ type nat hook postrouting priority srcnat; }'",
        "nft add rule inet study out oifname link masquerade",
    ]


def cgroup_root() -> Path:
    """Return where control groups of version 2 are mounted."""
    for line in Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines():
        _, path, kind, *_ = line.split()
        if kind == "cgroup2":
            return Path(path)
    raise InputError("the study needs control groups of version 2")


def remove_cgroup(group: Path) -> None:
    """Remove a control group whose processes are about to end."""
    for _ in range(100):
        try:
            group.rmdir()
        except OSError:
            time.sleep(0.05)
        else:
            return
    sys.stderr.write(f"{group}: processes remain\n")


def measures_of(cell: Cell, seconds: float) -> Callable[[sessions.Results], sessions.Measures]:
    """Return the function from the results of a cell's programs to its measures."""

    def measures(results: Iterable[dict[str, Any]]) -> sessions.Measures:
        (result,) = results
        pings = [(rtt_ms, number) for sent, rtt_ms, number in result["pings"] if SETTLING_S <= sent < seconds]
        during = sorted(rtt_ms for rtt_ms, _ in pings)
        before = sorted(rtt_ms for sent, rtt_ms, _ in result["pings"] if sent + rtt_ms / 1e3 < 0)
        if not (before and during):
            raise InputError("no ping came back before or during the download")
        numbers = [number for _, number in pings]
        flows = result["flows"]
        found: sessions.Measures = {
            "ping_ms_p50": quantile(during, 0.5),
            "ping_ms_p95": quantile(during, 0.95),
            "ping_ms_p99": quantile(during, 0.99),
            "base_ms": quantile(before, 0.5),
            "ping_loss_percent": 100 * (1 - len(numbers) / (max(numbers) - min(numbers) + 1)),
        }
        if flows:
            received = sum(between(flow, SETTLING_S, seconds) for flow in flows)
            found["goodput_kbps"] = received * 8e-3 / (seconds - SETTLING_S)
            found["retransmitted"] = sum(flow["retransmitted"] for flow in flows)
        if len(flows) > 1:
            start = seconds / 2 if cell.workload == "late" else SETTLING_S
            shares = [between(flow, start, seconds) for flow in flows]
            found["jain"] = sum(shares) ** 2 / (len(shares) * sum(share**2 for share in shares))
            if cell.workload == "late":
                found["late_share"] = shares[-1] / sum(shares)
        if short := sorted(result["short"]):
            found["short_ms_p50"] = quantile(short, 0.5)
            found["short_ms_p95"] = quantile(short, 0.95)
        return found

    return measures


def between(flow: dict[str, Any], start: float, end: float) -> float:
    """Return the bytes that a download received between two times, by linear interpolation."""
    return received_by(flow["received"], end) - received_by(flow["received"], start)


def received_by(received: list[tuple[float, float]], time_s: float) -> float:
    """Return the bytes that a download had received at a time."""
    index = bisect.bisect_right(received, time_s, key=lambda point: point[0])
    if index == 0:
        return 0.0
    if index == len(received):
        return received[-1][1]
    (before_s, before), (after_s, after) = received[index - 1], received[index]
    return before + (after - before) * (time_s - before_s) / (after_s - before_s)


def quantile(ascending: list[float], share: float) -> float:
    """Return a quantile of ascending values, by linear interpolation."""
    place = share * (len(ascending) - 1)
    low = int(place)
    high = min(low + 1, len(ascending) - 1)
    return ascending[low] + (ascending[high] - ascending[low]) * (place - low)


if __name__ == "__main__":
    main()
