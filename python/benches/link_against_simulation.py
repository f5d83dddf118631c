"""Compares a kernel's TCP over an emulated link with the same scenarios simulated.

Run with ``python python/benches/link_against_simulation.py``, on an idle machine, as root. Transfers in this
machine's kernel run in real time. With ``--linux`` they run in Debian's kernel, in an emulated computer with
a clock of its own (`make linux`), with all of its congestion controls.

The simulated transfers start at about the same time of the scenario, last as long, and have the same seed:
fading, other users and recordings are then the same. The table is CSV: means over the transfers, differences
relative to the kernel, and the standard deviation of the kernel's mean.
"""

import argparse
import csv
import json
import math
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import msgspec

from airwnd import Scenario

TRANSFERS = Path(__file__).with_name("link_transfers.py")
# Root may use those that are not allowed to all users.
USABLE = Path("/proc/sys/net/ipv4") / (
    "tcp_available_congestion_control" if os.geteuid() == 0 else "tcp_allowed_congestion_control"
)
MAX_LATENESS_MS = 1.0
ATTEMPTS = 5
SHIFTS_MS = (-17, -8, 0, 7, 19)
"""Starts of the simulated transfers of a seed, relative to the kernel's: losses and fading amplify small
differences, which is the spread that a single transfer in the kernel has, too."""
MAX_GOODPUT, MAX_RTT = 5.0, 10.0
"""Differences in percent above which a row is marked."""

Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Case:
    """A scenario whose first UE, `phone`, has one TCP connection."""

    name: str
    settings: Settings
    is_upload: bool = False


class Job(msgspec.Struct, frozen=True):
    """A transfer; `link_transfers.py` describes the fields."""

    scenario: str
    cc: str
    is_upload: bool
    seconds: float
    seed: int
    sysctls: Mapping[str, str]


class Result(msgspec.Struct, frozen=True):
    """Outcome of a transfer."""

    session_s: float
    flow: dict[str, Any]
    lateness_p99_ms: float


@dataclass(frozen=True)
class Sender:
    """A congestion control: by the kernel's name, and as simulated."""

    cc: str
    simulated: Settings
    sysctls: Mapping[str, str] = field(default_factory=dict)
    """Sysctls below `net.ipv4` of both ends."""

    def __str__(self) -> str:
        return " ".join([self.cc, *(f"{name}={value}" for name, value in self.sysctls.items())])


def _wire(rate: str, delay: str, **more: object) -> Settings:
    link = {"rate": rate, "delay": delay, **more}
    return {"core": {"server_delay": "0ms"}, "link": [link], "ue": [{"name": "phone"}]}


def _recording(name: str) -> Settings:
    link = {"kind": "trace", "down": name, "delay": "20ms", "queue": 100}
    return {"core": {"server_delay": "0ms"}, "link": [link], "ue": [{"name": "phone"}]}


def _cell(*users: Settings, **more: object) -> Settings:
    """Return a cell with a buffer of less than 0.1 s at its peak rate."""
    return {
        "carrier": {"bandwidth": "10MHz"},
        "rlc": {"queue": {"kind": "drop-tail", "buffer": "250kB"}},
        "site": [{}],
        "ue": list(users),
        **more,
    }


def _phone(metres: int, **more: object) -> Settings:
    return {"name": "phone", "placement": {"kind": "list", "points": [[f"{metres}m", "0m"]]}, **more}


_OTHERS = {"name": "others", "count": 10, "placement": {"kind": "disc", "radius": "500m"}}
_MOVING = {"kind": "constant-velocity", "speed": "20m/s", "direction": "0deg"}

_DEEP = {"mode": "am", "queue": {"kind": "drop-tail", "buffer": "2MB"}}
_TDD = {"kind": "nr", "numerology": 1, "pattern": "DDDSU"}
_FAST = {"downlink_frequency": "3.5GHz"}

DEEP_CASES = (
    Case("wire 100 deep", _wire("100Mbps", "20ms", queue=4000)),
    Case("lte deep loaded", _cell(_phone(200), _OTHERS, rlc=_DEEP, flow=[{"id": "others", "ue": "others"}])),
    Case("lte deep", _cell(_phone(300), rlc=_DEEP, radio={"fading": "epa", "propagation": "log-distance"})),
    Case(
        "nr 100 MHz",
        _cell(
            _phone(100),
            carrier={"bandwidth": "100MHz", **_FAST},
            radio={"access": _TDD},
            rlc={"queue": {"kind": "drop-tail", "buffer": "4MB"}},
        ),
    ),
    Case(
        "nr 40 MHz",
        _cell(
            _phone(150, mobility=_MOVING),
            carrier={"bandwidth": "40MHz", **_FAST},
            radio={"access": _TDD, "fading": "eva", "propagation": "log-distance"},
            rlc={**_DEEP, "queue": {"kind": "drop-tail", "buffer": "8MB"}},
        ),
    ),
    Case(
        "nr codel",
        _cell(
            _phone(300),
            carrier={"bandwidth": "20MHz"},
            radio={"access": {"kind": "nr", "numerology": 0}, "fading": "epa", "propagation": "log-distance"},
            rlc={"queue": "codel"},
        ),
    ),
)
"""Buffers of half a second and more, and NR's rates."""

CASES = (
    Case("wire 10", _wire("10Mbps", "20ms", queue=100)),
    Case("wire 10 codel", _wire("10Mbps", "20ms", aqm="codel")),
    Case("wire 50", _wire("50Mbps", "10ms", queue=100)),
    Case("times square", _recording("nyc-times")),
    Case("subway", _recording("nyc-subway")),
    Case("cell near", _cell(_phone(200))),
    Case("cell far", _cell(_phone(1000))),
    Case("cell loaded", _cell(_phone(200), _OTHERS, flow=[{"id": "others", "ue": "others"}])),
    Case("cell moving", _cell(_phone(200, mobility=_MOVING))),
    Case("wire 10 up", _wire("10Mbps", "20ms", queue=100), is_upload=True),
    Case("cell near up", _cell(_phone(200)), is_upload=True),
    *DEEP_CASES,
)

SENDERS = (
    Sender("reno", {"kind": "newreno", "growth": "per-byte"}),
    Sender("cubic", {"kind": "cubic"}),
    Sender("bbr", {"kind": "bbr"}),
)
"""Congestion controls of most machines' kernels."""

LINUX_CASES = (
    CASES[0],
    Case("wire 20 long", _wire("20Mbps", "50ms", queue=150)),
    Case("wire 20 lossy", _wire("20Mbps", "20ms", queue=100, loss={"kind": "packet-error", "rate": 0.001})),
    *DEEP_CASES,
)
"""Scenarios for the congestion controls of Debian's kernel."""

LINUX_SENDERS = (
    *SENDERS,
    Sender("bic", {"kind": "bic", "smooth": 20.0}),
    Sender("highspeed", {"kind": "highspeed", "growth": "per-ack"}),
    Sender("htcp", {"kind": "htcp"}),
    Sender("hybla", {"kind": "hybla", "growth": "per-ack"}),
    Sender("illinois", {"kind": "illinois"}),
    Sender("lp", {"kind": "lp", "growth": "per-byte"}),
    # Without random offsets of the timestamps, as they are in the simulation.
    Sender("lp", {"kind": "lp", "growth": "per-byte"}, {"tcp_timestamps": "2"}),
    Sender("scalable", {"kind": "scalable", "legacy_window": 100.0}),
    Sender("vegas", {"kind": "vegas", "alternate": False}),
    Sender("veno", {"kind": "veno", "growth": "per-byte"}),
    Sender(
        "westwood",
        {"kind": "westwood", "filter": "linux", "min_interval": "50ms", "growth": "per-byte"},
    ),
    Sender("yeah", {"kind": "yeah", "growth": "per-byte"}),
)
"""Congestion controls of Debian's kernel, with the parameters of the kernel's code."""


class Kernel(Protocol):
    """A kernel that runs transfers."""

    @property
    def version(self) -> str:
        """Its release."""

    @property
    def receiver(self) -> Settings:
        """Its receive-window control as simulated."""

    def run(self, jobs: Sequence[Job]) -> list[Result]:
        """Run transfers one after the other."""


@dataclass(frozen=True)
class Figures:
    """Figures of a transfer that are compared."""

    goodput_kbps: float
    rtt_ms: float
    retransmissions: float

    @staticmethod
    def of(flow: Mapping[str, Any], session_s: float, seconds: float) -> "Figures":
        """Read a row of `flows` of a session whose last seconds are the transfer."""
        goodput_kbps = flow["goodput_kbps"] * session_s / seconds
        return Figures(goodput_kbps, flow["rtt_ms_mean"], flow["retransmissions"])

    @staticmethod
    def mean(every: Iterable["Figures"]) -> "Figures":
        """Return the means."""
        return Figures(*map(statistics.fmean, zip(*map(astuple, every), strict=True)))


@dataclass(frozen=True)
class Compared:
    """Means over the transfers of a scenario and sender."""

    scenario: str
    sender: str
    kernel: Figures
    simulated: Figures
    noise: Figures
    """Standard deviation of the kernel's means, from the simulated transfers of the same seed."""

    @property
    def goodput_percent(self) -> float:
        """Difference of goodput, relative to the kernel."""
        return percent(self.simulated.goodput_kbps, self.kernel.goodput_kbps)

    @property
    def rtt_percent(self) -> float:
        """Difference of the mean RTT, relative to the kernel."""
        return percent(self.simulated.rtt_ms, self.kernel.rtt_ms)

    def to_row(self) -> dict[str, str]:
        """Return a row of the table."""
        differences = {"goodput": (self.goodput_percent, MAX_GOODPUT), "RTT": (self.rtt_percent, MAX_RTT)}
        outside = [name for name, (found, maximum) in differences.items() if abs(found) > maximum]
        return {
            "scenario": self.scenario,
            "sender": self.sender,
            "kernel_kbps": f"{self.kernel.goodput_kbps:.0f}",
            "simulated_kbps": f"{self.simulated.goodput_kbps:.0f}",
            "goodput_percent": f"{self.goodput_percent:+.1f}",
            "goodput_noise_percent": f"{100 * self.noise.goodput_kbps / self.kernel.goodput_kbps:.1f}",
            "kernel_rtt_ms": f"{self.kernel.rtt_ms:.1f}",
            "simulated_rtt_ms": f"{self.simulated.rtt_ms:.1f}",
            "rtt_percent": f"{self.rtt_percent:+.1f}",
            "rtt_noise_percent": f"{100 * self.noise.rtt_ms / self.kernel.rtt_ms:.1f}",
            "kernel_retransmissions": f"{self.kernel.retransmissions:.0f}",
            "simulated_retransmissions": f"{self.simulated.retransmissions:.0f}",
            "outside": " ".join(outside),
        }


def percent(found: float, reference: float) -> float:
    """Return a difference in percent of a reference."""
    return 100 * (found / reference - 1)


def compare(
    kernel: Kernel, case: Case, senders: Sequence[Sender], seconds: float, seeds: int
) -> Iterator[Compared]:
    """Run a scenario with each sender and seed, in a kernel and simulated."""
    scenario = json.dumps({**case.settings, "duration": "1h"})
    jobs = [
        (sender, Job(scenario, sender.cc, case.is_upload, seconds, seed, sender.sysctls))
        for sender in senders
        for seed in range(1, seeds + 1)
    ]
    results = kernel.run([job for _, job in jobs])
    done = [(sender, job, result) for (sender, job), result in zip(jobs, results, strict=True)]
    for sender in senders:
        own = [(job, result) for each, job, result in done if each is sender]
        found = [Figures.of(result.flow, result.session_s, seconds) for _, result in own]
        simulated = [
            [
                simulate(case, sender, kernel.receiver, job, result.session_s + 1e-3 * shift)
                for shift in SHIFTS_MS
            ]
            for job, result in own
        ]
        yield Compared(
            case.name,
            str(sender),
            Figures.mean(found),
            Figures.mean(each for seed in simulated for each in seed),
            noise(simulated),
        )


def noise(simulated: Sequence[Sequence[Figures]]) -> Figures:
    """Return the standard deviation of the mean of one transfer of each seed."""
    variances = [map(statistics.variance, zip(*map(astuple, seed), strict=True)) for seed in simulated]
    return Figures(*(math.sqrt(sum(column)) / len(simulated) for column in zip(*variances, strict=True)))


def simulate(case: Case, sender: Sender, receiver: Settings, job: Job, session_s: float) -> Figures:
    """Simulate a transfer in the last seconds of a session."""
    phone = {
        "id": "phone",
        "ue": "phone",
        "direction": "up" if case.is_upload else "down",
        "cc": sender.simulated,
        "rwnd": receiver,
        "start": f"{1e3 * (session_s - job.seconds):.3f}ms",
    }
    flows = [*case.settings.get("flow", []), phone]
    settings = {**case.settings, "flow": flows, "duration": f"{1e3 * session_s:.3f}ms"}
    run = Scenario.from_dict(settings).run(job.seed)
    return Figures.of(
        next(row for row in run.flows.to_dicts() if row["group"] == "phone"), session_s, job.seconds
    )


class Here:
    """The kernel of this machine, in real time; transfers with late departures are repeated."""

    @property
    def receiver(self) -> Settings:
        """Receive-window control of a kernel like Linux 6.18."""
        return {"kind": "autotuning"}

    @property
    def version(self) -> str:
        """Release of the kernel."""
        return platform.release()

    def run(self, jobs: Sequence[Job]) -> list[Result]:
        """Run transfers."""
        return [_in_time(job) for job in jobs]


def _in_time(job: Job) -> Result:
    late = ""
    for _ in range(ATTEMPTS):
        with TemporaryDirectory() as folder:
            command = _command([job], Path(folder))
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        (result,) = _read(done.stdout)
        if result.lateness_p99_ms <= MAX_LATENESS_MS:
            return result
        late = f"{result.lateness_p99_ms:.2f} ms late"
        sys.stderr.write(f"{job.cc}: departures were up to {late}, repeated\n")
    raise RuntimeError(f"this machine is too busy: departures were {late} in attempt {ATTEMPTS}")


class Emulated:
    """Debian's kernel in an emulated computer, in its own time."""

    @property
    def receiver(self) -> Settings:
        """Receive-window control of a kernel like Linux 6.1."""
        return {"kind": "autotuning", "variant": "linux-5.4", "max": "6MiB"}

    def __init__(self) -> None:
        # Behind the installed package, which the one of the same name beside the tests must not replace.
        sys.path.append(str(Path(__file__).parents[1]))
        from tests import linux

        self._run = linux.run_in_linux
        self.version = max(path.name for path in linux.LINUX.glob("boot/vmlinuz-*"))

    def run(self, jobs: Sequence[Job]) -> list[Result]:
        """Run transfers in one boot."""
        # Files are read from this machine during the first transfer, which takes any time.
        first = msgspec.structs.replace(jobs[0], seconds=1.0)
        with TemporaryDirectory() as job, TemporaryDirectory() as files:
            done = self._run(_command([first, *jobs], Path(files)), Path(job))
        if done.returncode != 0:
            raise RuntimeError(f"the transfers failed: {''.join(done.stderr.splitlines()[-1:])}")
        return _read(done.stdout)[1:]


def _command(jobs: Sequence[Job], folder: Path) -> list[str]:
    """Return the command that runs transfers."""
    path = folder / "jobs.json"
    path.write_bytes(msgspec.json.encode(jobs))
    return [sys.executable, str(TRANSFERS), str(path)]


def _read(text: str) -> list[Result]:
    return msgspec.json.decode(text, type=list[Result])


def main() -> int:
    """Write a table."""
    parser = argparse.ArgumentParser(
        prog="link_against_simulation",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--linux", action="store_true", help="Debian's kernel, emulated")
    parser.add_argument("--seconds", type=float, default=30.0, help="duration of a transfer")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--scenario", action="append", help="one of several; default: all")
    parser.add_argument("--sender", action="append", help="one of several; default: all")
    options = parser.parse_args()
    cases = LINUX_CASES if options.linux else CASES
    senders = LINUX_SENDERS if options.linux else SENDERS
    chosen = [case for case in cases if case.name in (options.scenario or [case.name])]
    named = [sender for sender in senders if str(sender) in (options.sender or [str(sender)])]
    if not chosen or not named:
        names = ", ".join(case.name for case in cases)
        parser.error(f"scenarios: {names}; senders: {', '.join(map(str, senders))}")
    if not options.linux:
        usable = USABLE.read_text(encoding="ascii").split()
        missing = [sender.cc for sender in named if sender.cc not in usable]
        if missing:
            parser.error(f"{USABLE} does not include {missing[0]}")
    kernel: Kernel = Emulated() if options.linux else Here()
    try:
        sys.stdout.write(
            f"# Linux {kernel.version}; {options.seeds} transfers of {options.seconds:g} s each\n"
        )
        table = None
        for case in chosen:
            for row in compare(kernel, case, named, options.seconds, options.seeds):
                if table is None:
                    table = csv.DictWriter(sys.stdout, list(row.to_row()), lineterminator="\n")
                    table.writeheader()
                table.writerow(row.to_row())
                sys.stdout.flush()
    except RuntimeError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
