"""Traffic through an emulated link: the server is outside of the link, the client inside.

Needs only the standard library, and iperf3 for TCP. Both ends run on one host and therefore share its
clock. The client writes a result as JSON:

``begin_ns``, ``end_ns``
    Window of the measurement on the host's clock.
``bytes``
    Bytes of IP packets that arrived at the client in the window.
``sent``, ``received``, ``overflowed``
    Datagrams sent by the server, received by the client, and dropped by the full buffer of its socket.
``delay_ms``
    Percentiles 50, 95 and 99 of the one-way delay of the datagrams, from the call to send until the packet
    reaches the client's kernel.
``datagrams``
    Times on the host's clock at which each datagram was sent and arrived; none next to TCP.
``retransmitted``
    Segments that the TCP sender has sent again; null for UDP.
"""

import argparse
import json
import socket
import struct
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

IPERF_PORT = 5201
UDP_PORT = 5300
HEADERS = 28
"""Bytes of the headers of IPv4 and UDP."""
PROBE_BPS, PROBE_BYTES = 80_000, 100
"""Datagrams that measure the delay next to a TCP download."""
SETTLE_S = 1.0
"""The window begins that long after the start of iperf3, which first exchanges its settings."""
SILENCE_S = 60.0
"""A link is given up after so long without a datagram."""

_HEAD = struct.Struct("!QQ")
_END = (1 << 64) - 1
_SO_TIMESTAMPNS, _SO_RXQ_OVFL = 35, 40


def main() -> int:
    """Run the server, or the client of one kind of traffic."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    kinds = parser.add_subparsers(dest="kind", required=True)
    kinds.add_parser("serve")
    for kind in ("udp", "tcp"):
        client = kinds.add_parser(kind)
        client.add_argument("host")
        client.add_argument("result", type=Path)
        client.add_argument("--seconds", type=float, default=30.0)
        if kind == "udp":
            client.add_argument("--rate-bps", type=int, required=True, help="bits of IP packets per second")
            client.add_argument("--size", type=int, default=1500, help="bytes of an IP packet")
        else:
            client.add_argument("--cc", required=True, help="congestion control of the sender")
    options = parser.parse_args()
    if options.kind == "serve":
        serve()
        return 0
    try:
        if options.kind == "udp":
            result = _udp(options.host, Stream(options.rate_bps, options.size, options.seconds))
        else:
            result = _tcp(options.host, options.cc, options.seconds)
    except (OSError, RuntimeError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    options.result.write_text(json.dumps(result), encoding="utf-8")
    return 0


@dataclass(frozen=True)
class Stream:
    """Datagrams at a constant rate."""

    rate_bps: int
    size: int
    """Bytes of an IP packet."""
    seconds: float

    @property
    def count(self) -> int:
        """Number of datagrams."""
        return int(self.seconds * self.rate_bps / (8 * self.size))


def serve() -> None:
    """Send the stream that a client asks for to that client; runs until the process is ended."""
    streams: dict[tuple[str, int], threading.Event] = {}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("", UDP_PORT))
        while True:
            request, client = sock.recvfrom(2048)
            if request == b"stop":
                if client in streams:
                    streams[client].set()
            elif client not in streams:
                stop = streams[client] = threading.Event()
                stream = Stream(**json.loads(request))
                threading.Thread(target=_send, args=(sock, client, stream, stop), daemon=True).start()


def _send(sock: socket.socket, client: tuple[str, int], stream: Stream, stop: threading.Event) -> None:
    padding = bytes(stream.size - HEADERS - _HEAD.size)
    begin = time.monotonic()
    for number in range(stream.count):
        wait = begin + number * 8 * stream.size / stream.rate_bps - time.monotonic()
        if wait > 0:
            time.sleep(wait)
        sock.sendto(_HEAD.pack(number, time.time_ns()) + padding, client)
    # A queue that the stream has filled needs a moment, else it drops the end too.
    while not stop.wait(2.0):
        sock.sendto(_HEAD.pack(_END, stream.count), client)


@dataclass
class Arrivals:
    """Datagrams that arrived, in chronological order."""

    sent: int
    overflowed: int
    sent_ns: list[int]
    arrived_ns: list[int]

    def delays_ms(self, begin_ns: int, end_ns: int) -> list[float]:
        """Return percentiles 50, 95 and 99 of the delay of the datagrams that were sent in a window."""
        delays = sorted(
            arrived - sent
            for sent, arrived in zip(self.sent_ns, self.arrived_ns, strict=True)
            if begin_ns <= sent <= end_ns
        )
        if not delays:
            raise RuntimeError("no datagram arrived in the window")
        return [delays[len(delays) * part // 100] / 1e6 for part in (50, 95, 99)]


def _receive(host: str, stream: Stream) -> Arrivals:
    """Ask for a stream and receive all of it."""
    arrivals = Arrivals(0, 0, [], [])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        sock.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        sock.setsockopt(socket.SOL_SOCKET, _SO_RXQ_OVFL, 1)
        sock.connect((host, UDP_PORT))
        request = json.dumps(vars(stream)).encode()
        sock.send(request)
        sock.settimeout(1.0)
        heard = time.monotonic()
        while True:
            try:
                data, about, _, _ = sock.recvmsg(2048, 256)
            except TimeoutError:
                if time.monotonic() - heard > SILENCE_S:
                    raise RuntimeError(f"no datagram from {host} for {SILENCE_S:.0f} s") from None
                if not arrivals.sent_ns:
                    sock.send(request)
                continue
            heard = time.monotonic()
            number, value = _HEAD.unpack_from(data)
            known = {kind: raw for level, kind, raw in about if level == socket.SOL_SOCKET}
            arrivals.overflowed = _overflowed(known, arrivals.overflowed)
            if number == _END:
                arrivals.sent = value
                sock.send(b"stop")
                return arrivals
            seconds, nanos = struct.unpack("qq", known[_SO_TIMESTAMPNS])
            arrivals.sent_ns.append(value)
            arrivals.arrived_ns.append(seconds * 1_000_000_000 + nanos)


def _overflowed(known: dict[int, bytes], before: int) -> int:
    raw = known.get(_SO_RXQ_OVFL)
    return before if raw is None else int(struct.unpack("I", raw)[0])


def _udp(host: str, stream: Stream) -> dict[str, object]:
    arrivals = _receive(host, stream)
    if not arrivals.arrived_ns:
        raise RuntimeError("no datagram arrived")
    begin_ns, end_ns = arrivals.arrived_ns[0], arrivals.arrived_ns[-1]
    return {
        "begin_ns": begin_ns,
        "end_ns": end_ns,
        "bytes": (len(arrivals.arrived_ns) - 1) * stream.size,
        "sent": arrivals.sent,
        "received": len(arrivals.arrived_ns),
        "overflowed": arrivals.overflowed,
        "delay_ms": arrivals.delays_ms(0, end_ns),
        "datagrams": list(zip(arrivals.sent_ns, arrivals.arrived_ns, strict=True)),
        "retransmitted": None,
    }


def _tcp(host: str, cc: str, seconds: float) -> dict[str, object]:
    """Download with iperf3, next to a thin stream of datagrams that measures the delay."""
    found: list[Arrivals] = []
    probe = Stream(PROBE_BPS, PROBE_BYTES, seconds + SETTLE_S)
    probing = threading.Thread(target=lambda: found.append(_receive(host, probe)), daemon=True)
    probing.start()
    command = ["iperf3", "-c", host, "-p", str(IPERF_PORT), "-R", "-C", cc, "-J"]
    command += ["-t", str(int(seconds + 2 * SETTLE_S))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as iperf:
        time.sleep(SETTLE_S)
        begin_ns, before = time.time_ns(), _arrived_bytes()
        time.sleep(seconds)
        end_ns, after = time.time_ns(), _arrived_bytes()
        report = json.loads(iperf.communicate()[0])
    if "error" in report:
        raise RuntimeError(report["error"])
    probing.join()
    if not found:
        raise RuntimeError("the stream that measures the delay was interrupted")
    return {
        "begin_ns": begin_ns,
        "end_ns": end_ns,
        "bytes": after - before,
        "sent": found[0].sent,
        "received": len(found[0].sent_ns),
        "overflowed": found[0].overflowed,
        "delay_ms": found[0].delays_ms(begin_ns, end_ns),
        "datagrams": [],
        "retransmitted": report["end"]["sum_sent"]["retransmits"],
    }


def _arrived_bytes() -> int:
    """Return the bytes of all packets that arrived at this network namespace, except on `lo`."""
    lines = Path("/proc/self/net/dev").read_text(encoding="ascii").splitlines()[2:]
    counters = [line.split(":") for line in lines]
    return sum(int(values.split()[0]) for name, values in counters if name.strip() != "lo")


if __name__ == "__main__":
    sys.exit(main())
