"""Compares ``airwnd link`` with mahimahi, on the same recordings, queues and traffic, by the same commands.

Run with ``python python/benches/link_beside_mahimahi.py --mahimahi PATH --user NAME``, as root, on an idle
machine. PATH is the folder of mm-link and mm-delay, which run as the ordinary user NAME and need ``sysctl
net.ipv4.ip_forward=1``, which also the namespace inside mm-delay inherits. The other end is this machine.
iperf3 is needed, and CUBIC and BBR must be among ``net.ipv4.tcp_allowed_congestion_control``.

``--quick`` takes about five minutes; all cells take about half an hour. ``--out FILE`` writes the rows as
CSV, and ``--table FILE`` prints such a file as a table for the documentation.

The recording is the link in both directions, with an unlimited queue in the uplink. A packet is unaccounted
for if the server sent it, the client did not receive it, and neither the emulator nor the client's socket
counted its drop. Mahimahi does not log the packets that CoDel drops later than at their arrival.

With UDP and an unlimited queue, the time at which a link without any lateness would deliver each packet is
known. The table then shows how much later packets arrived.
"""

import argparse
import bisect
import contextlib
import csv
import itertools
import os
import pwd
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import msgspec
import psutil

WORKLOAD = Path(__file__).with_name("link_workload.py")
_PLACES = (*os.defpath.split(os.pathsep), str(Path(sys.executable).parent))
PYTHON = shutil.which("python3", path=os.pathsep.join(_PLACES)) or "python3"
"""Interpreter of the client, which an ordinary user can run; its script needs the standard library only."""
TRACES = Path(__file__).parents[2] / "crates/lab/data/traces"
CONTROLS = ("cubic", "bbr")
ALLOWED = Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control")
QUICK_S, FULL_S = 10.0, 30.0
PACKET_BYTES = 1500
BELOW, ABOVE = 0.5, 1.2
"""Rates of UDP, relative to the mean of the recording."""
SAMPLE_S = 0.2
SERVER_PORTS = (("tcp", 5201), ("udp", 5300))
"""Ports of the servers, as `link_workload.py` has them."""
START_CHECK_S = 0.02


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
    """Report of an emulator on one run."""

    @property
    def began_ns(self) -> int:
        """Time of the host's clock at which the recording of the downlink began."""

    def dropped(self, size: int) -> int:
        """Return the drops in the downlink of IP packets of a size."""


class Emulator(Protocol):
    """An emulator of a link."""

    name: str

    def command(self, link: Link, folder: Path, client: str) -> list[str]:
        """Return the command that runs a client, a command of the shell, inside of the link."""

    def account(self, folder: Path) -> Account:
        """Read what the finished command has reported."""


@dataclass
class Log:
    """A log of mm-link: `+` arrivals, `-` departures, `#` opportunities, `d` drops."""

    began_ns: int
    drops: list[tuple[int, int]]
    """Packets and bytes of each line."""

    FRAMING = 4
    """The TUN device's header, which mahimahi counts as a part of each packet."""

    @staticmethod
    def read(path: Path) -> "Log":
        """Read a log."""
        times = {"init": 0, "base": 0}
        drops = []
        for line in path.read_text(encoding="utf-8").splitlines():
            words = line.split()
            if words[:1] == ["#"] and words[2:3] == ["timestamp:"]:
                times[words[1]] = int(words[3])
            elif words[1:2] == ["d"]:
                drops.append((int(words[2]), int(words[3])))
        return Log(1_000_000 * (times["init"] + times["base"]), drops)

    def dropped(self, size: int) -> int:
        """Return the drops of packets of a size."""
        return sum(packets for packets, total in self.drops if total == packets * (size + self.FRAMING))


def _options(link: Link, folder: Path) -> list[str]:
    """Return the arguments of mm-link: traces, log and queue of the downlink."""
    queue, trace = link.queue, str(link.recording.path)
    options = [trace, trace, f"--downlink-log={folder / 'down.log'}", f"--downlink-queue={queue.kind}"]
    limits = {
        "infinite": "",
        "droptail": f"packets={queue.packets}",
        "codel": f"packets={queue.packets}, target=5, interval=100",
    }
    if limits[queue.kind]:
        options.append(f"--downlink-queue-args={limits[queue.kind]}")
    return options


@dataclass
class Mahimahi:
    """mm-link inside of mm-delay; both refuse to run as root."""

    folder: Path
    user: pwd.struct_passwd
    name: str = "mahimahi"

    def command(self, link: Link, folder: Path, client: str) -> list[str]:
        """Return the command that runs a client inside of the link."""
        os.chown(folder, self.user.pw_uid, self.user.pw_gid)
        as_user = [
            "setpriv",
            f"--reuid={self.user.pw_uid}",
            f"--regid={self.user.pw_gid}",
            "--clear-groups",
            "--",
        ]
        delay = [str(self.folder / "mm-delay"), str(link.delay_ms)]
        shell = [str(self.folder / "mm-link"), *_options(link, folder)]
        return [*as_user, *delay, *shell, "--", "sh", "-c", client]

    def account(self, folder: Path) -> Account:
        """Read the log of the downlink."""
        return Log.read(folder / "down.log")


class _Started(msgspec.Struct):
    began_ns: int
    unaccounted: int


class _Summary(msgspec.Struct):
    """The summary of a session, as far as it is used here."""

    link: _Started


@dataclass
class Airwnd:
    """The same commands in ``airwnd link``, which reports its start more precisely than its log does."""

    name: str = "airwnd"

    def command(self, link: Link, folder: Path, client: str) -> list[str]:
        """Return the command that runs a client inside of the link."""
        session = [sys.executable, "-I", "-m", "airwnd", "link", "--quiet", "--host"]
        shells = [
            "mm-delay",
            str(link.delay_ms),
            "mm-link",
            *_options(link, folder),
            "--",
            "sh",
            "-c",
            client,
        ]
        return [*session, "--summary", str(folder / "summary.json"), *shells]

    def account(self, folder: Path) -> Account:
        """Read the log of the downlink, and the time of the start from the summary."""
        started = msgspec.json.decode((folder / "summary.json").read_bytes(), type=_Summary).link
        if started.unaccounted:
            raise RuntimeError(f"airwnd link cannot account for {started.unaccounted} packets")
        return Log(started.began_ns, Log.read(folder / "down.log").drops)


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
    """Run iperf3 and the server of the datagrams.

    Each measurement has its own: an iperf3 whose link has gone refuses other clients until TCP gives up.
    """
    commands = [["iperf3", "-s"], [sys.executable, str(WORKLOAD), "serve"]]
    with contextlib.ExitStack() as stack:
        running = []
        for command in commands:
            quiet = subprocess.DEVNULL
            server = stack.enter_context(subprocess.Popen(command, stdout=quiet, stderr=quiet))
            stack.callback(server.terminate)
            running.append(server)
        while not all(_is_bound(kind, port) for kind, port in SERVER_PORTS):
            if any(server.poll() is not None for server in running):
                raise RuntimeError("a server ended at once; is its port in use?")
            time.sleep(START_CHECK_S)
        yield


def _is_bound(kind: str, port: int) -> bool:
    """Return whether a socket of this namespace has a local port; `kind` is `tcp` or `udp`."""
    tables = (Path(f"/proc/net/{kind}{version}").read_text(encoding="ascii") for version in ("", "6"))
    rows = (line.split() for table in tables for line in table.splitlines()[1:])
    return any(row[1].endswith(f":{port:04X}") and row[3] in {"0A", "07"} for row in rows)


class Row(msgspec.Struct):
    """A row of the table.

    ``used_percent`` is the share of the capacity that was used; ``late_*`` the lateness of packets, with UDP
    and an unlimited queue; ``cpu_s`` the processor time of the emulator.
    """

    recording: str
    traffic: str
    queue: str
    emulator: str
    mbps: float
    used_percent: float
    delay_p50_ms: float
    delay_p95_ms: float
    delay_p99_ms: float
    late_p50_ms: float | None
    late_p99_ms: float | None
    sent: int
    received: int
    dropped: int
    overflowed: int
    unaccounted: int
    retransmitted: int | None
    cpu_s: float

    def values(self) -> list[str]:
        """Return the values as text, in the order of the fields."""
        return ["" if value is None else str(value) for value in msgspec.structs.astuple(self)]


def measure(emulator: Emulator, link: Link, traffic: Traffic, seconds: float) -> Row:
    """Return a row of the table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        kind, *options = traffic.arguments
        client = shlex.join([PYTHON, str(WORKLOAD), kind]) + ' "$MAHIMAHI_BASE" '
        client += shlex.join([str(folder / "result.json"), "--seconds", str(seconds), *options])
        with servers():
            cpu_s = _run(emulator.command(link, folder, f"exec {client}"))
        result = msgspec.json.decode((folder / "result.json").read_bytes(), type=Result)
        account = emulator.account(folder)
    begin_ms, end_ms = ((at - account.began_ns) / 1e6 for at in (result.begin_ns, result.end_ns))
    offered = PACKET_BYTES * (link.recording.until(end_ms) - link.recording.until(begin_ms))
    dropped = account.dropped(traffic.packet_bytes)
    late_p50, late_p99 = None, None
    if result.datagrams and link.queue.kind == "infinite":
        lateness = _lateness_ms(link, account.began_ns, result.datagrams)
        late_p50, late_p99 = (round(lateness[len(lateness) * part // 100], 3) for part in (50, 99))
    p50, p95, p99 = (round(delay, 1) for delay in result.delay_ms)
    return Row(
        link.recording.path.stem,
        traffic.name,
        str(link.queue),
        emulator.name,
        round(8e-3 * result.bytes / (end_ms - begin_ms), 3),
        round(100 * result.bytes / offered, 2),
        p50,
        p95,
        p99,
        late_p50,
        late_p99,
        result.sent,
        result.received,
        dropped,
        result.overflowed,
        result.sent - result.received - dropped - result.overflowed,
        result.retransmitted,
        round(cpu_s, 2),
    )


def _lateness_ms(link: Link, began_ns: int, datagrams: Sequence[tuple[int, int]]) -> list[float]:
    """Return how much later packets arrived than over an exact link, ascending.

    A packet takes the first unused opportunity after the constant delay has brought it to the queue. All
    packets have the size of an opportunity.
    """
    number = 0
    lateness = []
    for sent_ns, arrived_ns in datagrams:
        number = max(number, link.recording.until((sent_ns - began_ns) / 1e6 + link.delay_ms))
        lateness.append((arrived_ns - began_ns) / 1e6 - link.recording.at(number))
        number += 1
    return sorted(lateness)


def table(path: Path) -> Iterator[str]:
    """Yield the lines of a Markdown table: each cell of a pair is that of mahimahi and that of airwnd."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = [msgspec.convert(_without_empty(row), Row, strict=False) for row in csv.DictReader(file)]
    columns: dict[str, Callable[[Row], str]] = {
        "Capacity used, %": lambda row: f"{row.used_percent:.1f}",
        "Delay p50, ms": lambda row: f"{row.delay_p50_ms:.0f}",
        "p99": lambda row: f"{row.delay_p99_ms:.0f}",
        "Late p50, ms": lambda row: "" if row.late_p50_ms is None else f"{row.late_p50_ms:.2f}",
        "Late p99, ms": lambda row: "" if row.late_p99_ms is None else f"{row.late_p99_ms:.2f}",
        "Unaccounted": lambda row: f"{row.unaccounted} of {row.sent}",
        "CPU, s": lambda row: f"{row.cpu_s:.1f}",
    }
    yield f"| Recording | Traffic | Queue | Emulator | {' | '.join(columns)} |"
    yield "|---|---|---|---|" + "--:|" * len(columns)
    for row in rows:
        values = (column(row) for column in columns.values())
        yield f"| {row.recording} | {row.traffic} | {row.queue} | {row.emulator} | {' | '.join(values)} |"


def _without_empty(row: dict[str, str]) -> dict[str, str | None]:
    return {key: value or None for key, value in row.items()}


def _run(command: Sequence[str]) -> float:
    """Run a command; return the processor time of the emulator while the client runs."""
    used: dict[int, float] = {}
    before: dict[int, float] | None = None
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            found, has_client = _processor_times(psutil.Process(process.pid))
            if has_client:
                before = found if before is None else before
                used |= found
            time.sleep(SAMPLE_S)
        errors = process.stderr.read() if process.stderr is not None else ""
    if process.returncode != 0:
        # The shells around the one that failed add lines of their own.
        raise RuntimeError(f"{Path(command[0]).name} failed: {''.join(errors.splitlines()[:1])}")
    return sum(used.values()) - sum((before or {}).values())


def _processor_times(root: psutil.Process) -> tuple[dict[int, float], bool]:
    """Return the processor times of a process and its descendants, and whether the client is among them."""
    times: dict[int, float] = {}
    has_client = False
    with contextlib.suppress(psutil.Error):
        if root.name() == "iperf3":
            return times, has_client
        if WORKLOAD.name in " ".join(root.cmdline()[:2]):
            return times, True
        own = root.cpu_times()
        times[root.pid] = own.user + own.system
        for child in root.children():
            found, client = _processor_times(child)
            times |= found
            has_client |= client
    return times, has_client


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
    if os.geteuid() != 0:
        return "run as root; mahimahi then runs as --user"
    if Path("/proc/sys/net/ipv4/ip_forward").read_text(encoding="ascii").strip() != "1":
        return "mahimahi needs net.ipv4.ip_forward=1"
    allowed = ALLOWED.read_text(encoding="ascii").split()
    forbidden = [cc for cc in CONTROLS if cc not in allowed]
    return f"{ALLOWED} does not include {forbidden[0]}" if forbidden else None


@contextlib.contextmanager
def _written(path: Path | None) -> Iterator[Callable[[Row], None]]:
    """Print rows, and write them to a file if there is one."""
    fields = Row.__struct_fields__
    print(" ".join(fields))
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(path.open("w", encoding="utf-8", newline="")) if path else None
        if file:
            file.write(",".join(fields) + "\n")

        def write(row: Row) -> None:
            values = row.values()
            print(" ".join(value or "-" for value in values), flush=True)
            if file:
                file.write(",".join(values) + "\n")
                file.flush()

        yield write


def _user(name: str) -> pwd.struct_passwd:
    try:
        return pwd.getpwnam(name)
    except KeyError:
        raise argparse.ArgumentTypeError(f"no user {name}") from None


def main() -> int:
    """Print a row for each recording, traffic, queue and emulator, the emulators alternating."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mahimahi", type=Path, help="folder of mm-link and mm-delay")
    parser.add_argument("--user", type=_user, default="nobody", help="ordinary user who runs mahimahi")
    parser.add_argument("--quick", action="store_true", help="first recording, two queues, 10 s each")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the rows as CSV")
    parser.add_argument("--table", type=Path, metavar="FILE", help="print a CSV as a table, measure nothing")
    parser.add_argument("--trace", type=Path, action="append", help="recording; default: those of airwnd")
    parser.add_argument("--seconds", type=float, help="default: 30, with --quick 10")
    parser.add_argument("--delay-ms", type=int, default=20, help="one-way delay")
    parser.add_argument("--packets", type=int, default=100, help="limit of droptail and codel")
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    if options.table:
        print("\n".join(table(options.table)))
        return 0
    if options.mahimahi is None:
        parser.error("--mahimahi is required")
    obstacle = _obstacle(options.mahimahi)
    if obstacle is not None:
        sys.stderr.write(f"{obstacle}\n")
        return 2
    recordings = [Recording.read(path) for path in options.trace or sorted(TRACES.glob("*.mm"))]
    queues = [Queue(kind, options.packets) for kind in ("infinite", "droptail", "codel")]
    if options.quick:
        recordings, queues = recordings[:1], queues[:2]
    seconds = options.seconds or (QUICK_S if options.quick else FULL_S)
    emulators: list[Emulator] = [Mahimahi(options.mahimahi.resolve(), options.user), Airwnd()]
    try:
        with _written(options.out) as write:
            for _, recording in itertools.product(range(options.rounds), recordings):
                for traffic, queue in itertools.product(_traffic(recording, seconds), queues):
                    link = Link(recording, queue, options.delay_ms)
                    for emulator in emulators:
                        write(measure(emulator, link, traffic, seconds))
    except RuntimeError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
