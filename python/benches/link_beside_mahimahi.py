"""Compares an emulated link with mahimahi's, on the same recordings, queues and traffic.

Run with ``python python/benches/link_beside_mahimahi.py --mahimahi PATH``, on an idle machine. PATH is the
folder of mm-link and mm-delay, which run as an ordinary user and need ``sysctl net.ipv4.ip_forward=1``.
iperf3 is needed too, and CUBIC and BBR must be among ``net.ipv4.tcp_allowed_congestion_control``.

The recording is the link in both directions, with an unlimited queue in the uplink. A packet is lost
without a report if the server sent it, the client did not receive it, and neither the emulator nor the
client's socket counted its drop.

With UDP and an unlimited queue, the time at which a link without any lateness would deliver each packet is
known. The table then shows how much later packets arrived.
"""

# ruff: noqa: T201

import argparse
import bisect
import contextlib
import itertools
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import msgspec
import psutil

WORKLOAD = Path(__file__).with_name("link_workload.py")
TRACES = Path(__file__).parents[2] / "crates/lab/data/traces"
CONTROLS = ("cubic", "bbr")
ALLOWED = Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control")
PACKET_BYTES = 1500
BELOW, ABOVE = 0.5, 1.2
"""Rates of UDP, relative to the mean of the recording."""
SAMPLE_S = 0.2


@dataclass(frozen=True)
class Recording:
    """A recorded link in mahimahi's format."""

    path: Path
    times_ms: list[int]

    @staticmethod
    def read(path: Path) -> "Recording":
        """Read a file; one line is the time of one opportunity in milliseconds."""
        return Recording(path, [int(line) for line in path.read_text(encoding="ascii").split()])

    def until(self, at_ms: float) -> int:
        """Return the number of opportunities until a time; the last of the file is its period."""
        passes, place = divmod(at_ms, self.times_ms[-1])
        return int(passes) * len(self.times_ms) + bisect.bisect_right(self.times_ms, place)

    def at(self, number: int) -> int:
        """Return the time of an opportunity in milliseconds; the first has number 0."""
        passes, place = divmod(number, len(self.times_ms))
        return passes * self.times_ms[-1] + self.times_ms[place]

    def rate_bps(self, seconds: float) -> float:
        """Return the mean rate from the start."""
        return self.until(1e3 * seconds) * 8 * PACKET_BYTES / seconds


@dataclass(frozen=True)
class Queue:
    """Queue of the downlink."""

    kind: str
    """`infinite`, `droptail` or `codel`."""
    packets: int

    def __str__(self) -> str:
        return self.kind if self.kind == "infinite" else f"{self.kind} {self.packets}"


@dataclass(frozen=True)
class Link:
    """A link to emulate."""

    recording: Recording
    queue: Queue
    delay_ms: int
    """One-way delay."""


@dataclass(frozen=True)
class Traffic:
    """A download."""

    name: str
    arguments: tuple[str, ...]
    """Kind and options of the client."""
    packet_bytes: int
    """Size of the IP packets in which losses are counted; those of a TCP download are the probe's."""


class Account(Protocol):
    """What an emulator reports of one run."""

    @property
    def began_ns(self) -> int:
        """Time of the host's clock at which the recording of the downlink began."""

    def dropped(self, size: int) -> int:
        """Return the drops in the downlink of IP packets of a size."""


class Emulator(Protocol):
    """An emulator of a link."""

    name: str
    host: str
    """The server's name or address, as a word of the shell that runs the client."""
    delays_first: bool
    """Whether packets of the downlink pass the constant delay before the queue."""

    def command(self, link: Link, folder: Path, client: str) -> list[str]:
        """Return the command that runs a client, a command of the shell, inside of the link."""

    def account(self, folder: Path) -> Account:
        """Read what the finished command has reported."""


@dataclass
class MahimahiLog:
    """A log of mm-link: `+` arrivals, `-` departures, `#` opportunities, `d` drops at entry."""

    began_ns: int
    drops: list[tuple[int, int]]
    """Packets and bytes of each line."""

    FRAMING = 4
    """The TUN device's header, which mahimahi counts as a part of each packet."""

    @staticmethod
    def read(path: Path) -> "MahimahiLog":
        """Read a log."""
        times = {"init": 0, "base": 0}
        drops = []
        for line in path.read_text(encoding="utf-8").splitlines():
            words = line.split()
            if words[:1] == ["#"] and words[2:3] == ["timestamp:"]:
                times[words[1]] = int(words[3])
            elif words[1:2] == ["d"]:
                drops.append((int(words[2]), int(words[3])))
        return MahimahiLog(1_000_000 * (times["init"] + times["base"]), drops)

    def dropped(self, size: int) -> int:
        """Return the drops of packets of a size."""
        return sum(packets for packets, total in self.drops if total == packets * (size + self.FRAMING))


@dataclass
class Mahimahi:
    """mm-link inside of mm-delay."""

    folder: Path
    name: str = "mahimahi"
    host: str = '"$MAHIMAHI_BASE"'
    delays_first: bool = True

    def command(self, link: Link, folder: Path, client: str) -> list[str]:
        """Return the command that runs a client inside of the link."""
        queue, trace = link.queue, str(link.recording.path)
        arguments = [f"--downlink-log={folder / 'down.log'}", f"--downlink-queue={queue.kind}"]
        limits = {
            "infinite": "",
            "droptail": f"packets={queue.packets}",
            "codel": f"packets={queue.packets}, target=5, interval=100",
        }
        if limits[queue.kind]:
            arguments.append(f"--downlink-queue-args={limits[queue.kind]}")
        delay = [str(self.folder / "mm-delay"), str(link.delay_ms)]
        return [*delay, str(self.folder / "mm-link"), trace, trace, *arguments, "--", "sh", "-c", client]

    def account(self, folder: Path) -> Account:
        """Read the log of the downlink."""
        return MahimahiLog.read(folder / "down.log")


class Result(msgspec.Struct):
    """Result of the client; `link_workload.py` describes the fields."""

    begin_ns: int
    end_ns: int
    bytes: int
    sent: int
    received: int
    overflowed: int
    delay_ms: tuple[float, float, float]
    datagrams: list[tuple[int, int]]
    retransmitted: int | None


@contextlib.contextmanager
def servers() -> Iterator[None]:
    """Run iperf3 and the server of the datagrams."""
    commands = [["iperf3", "-s"], [sys.executable, str(WORKLOAD), "serve"]]
    with contextlib.ExitStack() as stack:
        for command in commands:
            quiet = subprocess.DEVNULL
            server = stack.enter_context(subprocess.Popen(command, stdout=quiet, stderr=quiet))  # noqa: S603
            stack.callback(server.terminate)
        yield


def measure(emulator: Emulator, link: Link, traffic: Traffic, seconds: float) -> str:
    """Return a row of the table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        kind, *options = traffic.arguments
        client = shlex.join([sys.executable, str(WORKLOAD), kind]) + f" {emulator.host} "
        client += shlex.join([str(folder / "result.json"), "--seconds", str(seconds), *options])
        cpu_s = _run(emulator.command(link, folder, f"exec {client}"))
        result = msgspec.json.decode((folder / "result.json").read_bytes(), type=Result)
        account = emulator.account(folder)
    begin_ms, end_ms = ((at - account.began_ns) / 1e6 for at in (result.begin_ns, result.end_ns))
    offered = PACKET_BYTES * (link.recording.until(end_ms) - link.recording.until(begin_ms))
    dropped = account.dropped(traffic.packet_bytes)
    lost = result.sent - result.received - dropped - result.overflowed
    delays = "".join(f"{delay:8.1f}" for delay in result.delay_ms)
    late = " " * 14
    if result.datagrams and link.queue.kind == "infinite":
        lateness = _lateness_ms(link, account.began_ns, result.datagrams, delays_first=emulator.delays_first)
        late = "".join(f"{lateness[len(lateness) * part // 100]:7.2f}" for part in (50, 99))
    again = "" if result.retransmitted is None else result.retransmitted
    return (
        f"{link.recording.path.stem:12} {traffic.name:10} {link.queue!s:13} {emulator.name:9}"
        f" {8e-3 * result.bytes / (end_ms - begin_ms):7.3f} {100 * result.bytes / offered:6.2f}"
        f" {delays}{late} {result.sent:6} {result.received:6} {dropped:6} {result.overflowed:5} {lost:5}"
        f" {again:>6} {cpu_s:6.2f}"
    )


HEADING = (
    f"{'recording':12} {'traffic':10} {'queue':13} {'emulator':9} {'Mbit/s':>7} {'used %':>6}"
    f" {'p50 ms':>8}{'p95 ms':>8}{'p99 ms':>8}{'late50':>7}{'late99':>7}"
    f" {'sent':>6} {'got':>6} {'drops':>6} {'sock.':>5} {'lost':>5} {'again':>6} {'CPU s':>6}"
)


def _lateness_ms(
    link: Link, began_ns: int, datagrams: Sequence[tuple[int, int]], *, delays_first: bool
) -> list[float]:
    """Return how much later packets arrived than over an exact link, ascending.

    A packet takes the first unused opportunity after it has reached the queue. All packets have the size of
    an opportunity.
    """
    before, after = (link.delay_ms, 0) if delays_first else (0, link.delay_ms)
    number = 0
    lateness = []
    for sent_ns, arrived_ns in datagrams:
        number = max(number, link.recording.until((sent_ns - began_ns) / 1e6 + before))
        lateness.append((arrived_ns - began_ns) / 1e6 - link.recording.at(number) - after)
        number += 1
    return sorted(lateness)


def _run(command: Sequence[str]) -> float:
    """Run a command; return the processor time of the emulator, without its client's and servers'."""
    used: dict[int, float] = {}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:  # noqa: S603
        while process.poll() is None:
            for each in _emulators(psutil.Process(process.pid)):
                with contextlib.suppress(psutil.Error):
                    times = each.cpu_times()
                    used[each.pid] = times.user + times.system
            time.sleep(SAMPLE_S)
        errors = process.stderr.read() if process.stderr is not None else ""
    if process.returncode != 0:
        # The shells around the one that failed add lines of their own.
        raise RuntimeError(f"{Path(command[0]).name} failed: {''.join(errors.splitlines()[:1])}")
    return sum(used.values())


def _emulators(root: psutil.Process) -> Iterator[psutil.Process]:
    """Yield a process and its descendants, without those of the traffic."""
    with contextlib.suppress(psutil.Error):
        if str(WORKLOAD) in root.cmdline() or root.name() == "iperf3":
            return
        yield root
        for child in root.children():
            yield from _emulators(child)


def _traffic(recording: Recording, seconds: float) -> list[Traffic]:
    probe_bytes = 100
    downloads = [Traffic(f"tcp {cc}", ("tcp", "--cc", cc), probe_bytes) for cc in CONTROLS]
    streams = []
    for part in (BELOW, ABOVE):
        rate = str(round(part * recording.rate_bps(seconds)))
        streams.append(Traffic(f"udp {100 * part:.0f} %", ("udp", "--rate-bps", rate), PACKET_BYTES))
    return [*downloads, *streams]


def _obstacle(folder: Path) -> str | None:
    """Return why nothing can be measured here."""
    for name in ("mm-link", "mm-delay"):
        if not (folder / name).is_file():
            return f"{folder} has no {name}; build mahimahi and pass its folder"
    if shutil.which("iperf3") is None:
        return "iperf3 is not installed"
    allowed = ALLOWED.read_text(encoding="ascii").split()
    forbidden = [cc for cc in CONTROLS if cc not in allowed]
    return f"{ALLOWED} does not include {forbidden[0]}" if forbidden else None


def main() -> int:
    """Print a row for each recording, traffic, queue and emulator, the emulators alternating."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mahimahi", type=Path, required=True, help="folder of mm-link and mm-delay")
    parser.add_argument("--trace", type=Path, action="append", help="recording; default: those of airwnd")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--delay-ms", type=int, default=20, help="one-way delay")
    parser.add_argument("--packets", type=int, default=100, help="limit of droptail and codel")
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    obstacle = _obstacle(options.mahimahi)
    if obstacle is not None:
        sys.stderr.write(f"{obstacle}\n")
        return 2
    recordings = [Recording.read(path) for path in options.trace or sorted(TRACES.glob("*.mm"))]
    queues = [Queue(kind, options.packets) for kind in ("infinite", "droptail", "codel")]
    emulators: list[Emulator] = [Mahimahi(options.mahimahi.resolve())]
    print(HEADING)
    try:
        with servers():
            for _, recording in itertools.product(range(options.rounds), recordings):
                for traffic, queue in itertools.product(_traffic(recording, options.seconds), queues):
                    link = Link(recording, queue, options.delay_ms)
                    for emulator in emulators:
                        print(measure(emulator, link, traffic, options.seconds), flush=True)
    except RuntimeError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
