"""Measures what ``airwnd guard`` costs at 1 Gbit/s with few, with many and with short connections.

Run with ``python python/benches/guard.py [--guard PROGRAM]...`` as root, on an idle machine. Several programs
are measured in turn, to compare them under the same conditions.

Sender, router and receiver are network namespaces. The sender shapes the data with tbf; a relay delays the
ACKs by 10 ms, so that the guard does not take the sender for a local one. tbf passes segments of 1500 bytes
one by one: the number of ACKs is that of a receiver whose network card merges nothing, the worst case. ``ns``
is the time of an eBPF program per call (kernel.bpf_stats_enabled, whose own cost is included), ``CPU %`` that
of the guard as a share of a core.
"""

import argparse
import asyncio
import contextlib
import ctypes
import fcntl
import os
import re
import resource
import select
import socket
import struct
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

PORT = 5001
SENDER, RECEIVER = "10.77.0.1", "10.77.1.2"
DELAY_S = 0.01
CHURNED_BYTES = 20_000
COLUMNS = ("guard", "place", "load", "Mbit/s", "calls/s", "ns", "CPU %", "RSS MiB", "flows")
LOADS = ("bulk-1", "bulk-16", "open", "churn")
ROLES = ("send", "relay", "bulk", "open", "churn")


def main() -> None:
    """Measure all loads and print a table."""
    if len(sys.argv) > 1 and sys.argv[1] in ROLES:
        play(*sys.argv[1:])
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--guard", action="append", help="program; default: airwnd guard of this installation"
    )
    parser.add_argument("--rate", default="1gbit", help="rate, as tc takes it")
    parser.add_argument("--seconds", type=float, default=8.0, help="length of a load")
    parser.add_argument("--connections", type=int, default=10_000, help="of the loads with many")
    parser.add_argument("--load", action="append", choices=LOADS, help="default: all")
    parser.add_argument("--rounds", type=int, default=2, help="repetitions")
    options = parser.parse_args()
    if os.geteuid() != 0:
        parser.exit(2, "guard.py: needs root\n")
    programs = options.guard or [f"{sys.executable} -I -m airwnd guard"]
    print("  ".join(COLUMNS))
    many = options.connections
    with network(options.rate) as net, statistics(), cgroup() as folder:
        for _ in range(options.rounds):
            for place, load in product(("receiver", "router"), options.load or LOADS):
                kind, _, number = load.partition("-")
                command = [kind, number or str(many), str(options.seconds)]
                for program in [None, *programs]:
                    with guard(program, place, net, folder) as process:
                        figures = measured(process, command, net, folder)
                    name = Path(program.split()[0]).name if program else "none"
                    print("  ".join([name, place, load, *figures]), flush=True)


def measured(
    process: subprocess.Popen[str] | None, load: list[str], net: "Network", folder: Path
) -> list[str]:
    """Return the figures of a load beside this guard, or without one."""
    join = ["sh", "-c", 'echo $$ > "$0/cgroup.procs"; exec "$@"', str(folder), sys.executable, __file__]
    client = subprocess.Popen([*enter(net.receiver), *join, *load], stdout=subprocess.PIPE, text=True)
    output = client.stdout
    if output is None or output.readline() != "ready\n":
        sys.exit("the load has not started")
    before, begin = usage(process), time.monotonic()
    line = output.readline()
    after, elapsed = usage(process), time.monotonic() - begin
    client.wait()
    rate = int(line) * 8 / elapsed / 1e6
    calls = after.calls - before.calls
    spent = (after.program_ns - before.program_ns) / calls if calls else 0.0
    cpu = (after.cpu_ns - before.cpu_ns) / elapsed / 1e7
    memory = f"{after.memory:.0f}"
    return [f"{rate:.0f}", f"{calls / elapsed:.0f}", f"{spent:.0f}", f"{cpu:.1f}", memory, after.flows]


@dataclass
class Usage:
    """Resources that a guard has used so far."""

    calls: int = 0
    program_ns: int = 0
    cpu_ns: int = 0
    memory: float = 0.0
    flows: str = "-"


def usage(process: subprocess.Popen[str] | None) -> Usage:
    """Return what a guard has used; nothing without one."""
    if process is None:
        return Usage()
    folder = Path(f"/proc/{process.pid}")
    used = Usage(cpu_ns=int((folder / "schedstat").read_text(encoding="utf-8").split()[0]))
    seen = set()
    for entry in (folder / "fdinfo").iterdir():
        text = entry.read_text(encoding="utf-8")
        fields = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
        # The program behind a link has no statistics there.
        if "run_cnt" in fields and fields["prog_id"] not in seen:
            seen.add(fields["prog_id"])
            used.calls += int(fields["run_cnt"])
            used.program_ns += int(fields["run_time_ns"])
    status = (folder / "status").read_text(encoding="utf-8")
    found = re.search(r"VmRSS:\s+(\d+)", status)
    used.memory = int(found[1]) / 1024 if found else 0.0
    # The states of other guards are in the list as well.
    program = process.args if isinstance(process.args, list) else []
    answer = subprocess.run([*program, "status"], capture_output=True, text=True, check=False).stdout
    flows = re.search(rf"^guard {process.pid}, .*: (\d+) flows$", answer, re.MULTILINE)
    used.flows = flows[1] if flows else "-"
    return used


@dataclass(frozen=True)
class Network:
    """Names of the namespaces."""

    sender: str
    router: str
    receiver: str


def enter(namespace: str) -> list[str]:
    """Return the head of a command in a namespace; `ip netns exec` would hide the cgroups."""
    return ["nsenter", f"--net=/run/netns/{namespace}"]


@contextlib.contextmanager
def network(rate: str) -> Iterator[Network]:
    """Make the namespaces with a sender and a relay."""
    net = Network(*(f"airwnd-bench-{os.getpid()}-{name}" for name in "smr"))
    names = (net.sender, net.router, net.receiver)
    try:
        for name in names:
            subprocess.run(["ip", "netns", "add", name], check=True)
        script = f"""
            set -e
            ip -n {net.sender} link add data type veth peer name data netns {net.router}
            ip -n {net.router} link add lan type veth peer name eth0 netns {net.receiver}
            ip -n {net.sender} address add {SENDER}/24 dev data
            ip -n {net.router} address add 10.77.0.254/24 dev data
            ip -n {net.router} address add 10.77.1.254/24 dev lan
            ip -n {net.receiver} address add {RECEIVER}/24 dev eth0
            for name in {" ".join(names)}; do
                ip -n $name link set lo up
                nsenter --net=/run/netns/$name sysctl -qw \\
                    net.ipv4.conf.all.rp_filter=0 net.ipv4.ip_forward=1 net.ipv4.conf.default.rp_filter=0 \\
                    net.ipv4.tcp_max_tw_buckets=0 net.core.somaxconn=65535
            done
            ip -n {net.sender} link set data up; ip -n {net.router} link set data up
            ip -n {net.router} link set lan up; ip -n {net.receiver} link set eth0 up
            ip -n {net.sender} route add default via 10.77.0.254
            ip -n {net.receiver} route add default via 10.77.1.254
            tc -n {net.sender} qdisc add dev data root tbf rate {rate} burst 30kb limit 8mb
        """
        subprocess.run(["sh", "-c", script], check=True)
        program = [sys.executable, __file__]
        with (
            running([*program, "relay", net.sender, net.router]),
            running([*enter(net.sender), *program, "send"]),
        ):
            yield net
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "delete", name], check=False)


@contextlib.contextmanager
def running(command: list[str]) -> Iterator[None]:
    """Start a process that says when it is ready, and end it."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        if process.stdout is None or process.stdout.readline() != "ready\n":
            sys.exit(f"not started: {command}")
        try:
            yield
        finally:
            process.terminate()


@contextlib.contextmanager
def statistics() -> Iterator[None]:
    """Let the kernel measure eBPF programs."""
    switch = Path("/proc/sys/kernel/bpf_stats_enabled")
    before = switch.read_text(encoding="utf-8")
    switch.write_text("1", encoding="utf-8")
    try:
        yield
    finally:
        switch.write_text(before, encoding="utf-8")


@contextlib.contextmanager
def cgroup() -> Iterator[Path]:
    """Make a cgroup, and remove it when it is empty again."""
    roots = (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified"))
    root = next(root for root in roots if (root / "cgroup.controllers").exists())
    folder = root / f"airwnd-bench-{os.getpid()}"
    folder.mkdir()
    try:
        yield folder
    finally:
        while folder.exists():
            with contextlib.suppress(OSError):
                folder.rmdir()


@contextlib.contextmanager
def guard(
    program: str | None, place: str, net: Network, folder: Path
) -> Iterator[subprocess.Popen[str] | None]:
    """Run a guard, if one is named."""
    if program is None:
        yield None
        return
    where = ["--cgroup", str(folder)] if place == "receiver" else ["--forward", "lan"]
    inside = enter(net.receiver if place == "receiver" else net.router)
    arguments = [*inside, *program.split(), *where, "--rwnd", '{kind = "drwa", lambda = 1.5}']
    with subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True) as process:
        line = process.stderr.readline() if process.stderr else ""
        if line != "guarding\n":
            sys.exit(line.strip())
        process.args = program.split()
        try:
            yield process
        finally:
            process.terminate()


def play(role: str, *arguments: str) -> None:
    """Act as one of the processes of a measurement."""
    _, maximum = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (maximum, maximum))
    match role:
        case "send":
            asyncio.run(send())
        case "relay":
            relay(*arguments)
        case "bulk":
            number, seconds = arguments
            asyncio.run(receive(int(number), float(seconds), idle=0))
        case "open":
            number, seconds = arguments
            asyncio.run(receive(16, float(seconds), idle=int(number)))
        case "churn":
            asyncio.run(churn(int(arguments[0])))


async def send() -> None:
    """Send the number of bytes that a connection asks for; 0: without end."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            number = int.from_bytes(await reader.readexactly(8), "big")
            sock = writer.transport.get_extra_info("socket")
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
            if number:
                writer.write(bytes(number))
                await writer.drain()
                await reader.read()
            block = bytes(1 << 20)
            while not number:
                writer.write(block)
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, SENDER, PORT, backlog=65535)
    print("ready", flush=True)
    await server.serve_forever()


class Sink(asyncio.BufferedProtocol):
    """Reads without copying."""

    total = 0
    buffer = bytearray(1 << 20)

    def __init__(self, wanted: int) -> None:
        self.wanted = wanted
        self.received = 0
        self.done = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for data."""
        if isinstance(transport, asyncio.Transport):
            self.transport = transport
            transport.write(self.wanted.to_bytes(8, "big"))

    def get_buffer(self, sizehint: int) -> bytearray:  # noqa: ARG002 (the signature is given)
        """Return the buffer of all connections."""
        return Sink.buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Count."""
        Sink.total += nbytes
        self.received += nbytes
        if self.wanted and self.received >= self.wanted and not self.done.done():
            self.done.set_result(None)


async def connect(wanted: int) -> Sink:
    """Open a connection."""
    loop = asyncio.get_running_loop()
    _, sink = await loop.create_connection(lambda: Sink(wanted), SENDER, PORT)
    return sink


async def receive(bulk: int, seconds: float, idle: int) -> None:
    """Receive over `bulk` connections beside `idle` ones, which have received some bytes."""
    kept = []
    for _ in range(0, idle, 100):
        some = await asyncio.gather(*(connect(CHURNED_BYTES) for _ in range(100)))
        await asyncio.gather(*(sink.done for sink in some))
        kept += some
    kept += await asyncio.gather(*(connect(0) for _ in range(bulk)))
    await asyncio.sleep(2)
    Sink.total = 0
    print("ready", flush=True)
    await asyncio.sleep(seconds)
    print(Sink.total, flush=True)
    for sink in kept:
        sink.transport.abort()


async def churn(number: int) -> None:
    """Open connections, 50 at a time, receive some bytes over each, and close them."""
    print("ready", flush=True)
    for _ in range(0, number, 50):
        some = await asyncio.gather(*(connect(CHURNED_BYTES) for _ in range(50)))
        await asyncio.gather(*(sink.done for sink in some))
        for sink in some:
            sink.transport.close()
    print(Sink.total, flush=True)


def relay(sender: str, router: str) -> None:
    """Carry packets from the router to the sender, each 10 ms after it has come."""
    devices = []
    for namespace in (router, sender):
        with Path(f"/run/netns/{namespace}").open(encoding="utf-8") as file:
            # Python has this function since 3.12.
            if ctypes.CDLL(None).setns(file.fileno(), 0):
                sys.exit("cannot enter a namespace")
        # TUNSETIFF of linux/if_tun.h; IFF_TUN | IFF_NO_PI
        device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(device, 0x400454CA, struct.pack("16sH22x", b"acks", 0x1001))
        subprocess.run(["ip", "link", "set", "acks", "up", "txqueuelen", "10000"], check=True)
        if namespace == router:
            subprocess.run(["ip", "route", "add", f"{SENDER}/32", "dev", "acks"], check=True)
        devices.append(device)
    come, go = devices
    print("ready", flush=True)
    waiting: deque[tuple[float, bytes]] = deque()
    while True:
        timeout = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        select.select([come], [], [], timeout)
        now = time.monotonic()
        with contextlib.suppress(BlockingIOError):
            while True:
                waiting.append((now + DELAY_S, os.read(come, 2048)))
        while waiting and waiting[0][0] <= now:
            with contextlib.suppress(BlockingIOError):
                os.write(go, waiting[0][1])
            waiting.popleft()


if __name__ == "__main__":
    main()
