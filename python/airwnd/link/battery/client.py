"""The UE's end of a battery: ``python -m airwnd.link.battery.client NAME SECONDS FOLDER``.

Each workload is a process of its own, so that pings do not wait for a transfer's turn. ``FOLDER/client.json``
receives what was measured; times in it are seconds since the start of the load, so that pings before it have
negative ones.
"""

import http.client
import json
import multiprocessing
import queue
import selectors
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from airwnd.link.battery.datagrams import CALL, GRACE_S, PING, PORT, REPLY, Datagram, exchange, opened
from airwnd.link.battery.plans import BATTERIES, CALL_S, IDLE_S, PING_S, Plan, call_datagrams, pings

#: Files of a page in bytes, the document first: number of files and bytes by type of the median mobile home
#: page (HTTP Archive, Web Almanac 2024, chapter Page Weight), equal within a type.
PAGE = (18_000, *(8 * [9_125]), *(3 * [37_000]), *(22 * [25_364]), *(16 * [56_250]))
#: Connections of a browser to one host.
CONNECTIONS = 6

SERVER, HTTP_PORT = "server", 80
# Time between the start of the processes and the first ping, in seconds.
_LEAD_S = 0.5
# Pause between pages.
_PAUSE_S = 0.5
_SAMPLE_S = 0.1
# A file that takes longer has failed, and so has a connection, to each address of the server.
_HANG_S, _CONNECT_S = 30.0, 5.0
# The server begins with the session: it may be later than this process.
_TRIES, _TRY_S = 100, 0.1
_ZEROS = bytes(256 * 1024)
# Data that the kernel holds beyond its congestion window, so that a battery ends on time.
_UNSENT = 128 * 1024
# `struct tcp_info` of linux/tcp.h: tcpi_bytes_acked, behind 8 bytes, 24 words of 32 bits and two of 64.
_ACKED = struct.Struct("=Q"), 8 + 24 * 4 + 2 * 8
_UPLOAD = b"POST / HTTP/1.1\r\nHost: server\r\nContent-Length: 100000000000000\r\n\r\n"
_DOWNLOAD = b"GET /stream HTTP/1.1\r\nHost: server\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Begin:
    """Begin of the load, by the monotonic clock in seconds, and by the real-time clock in nanoseconds."""

    monotonic_s: float
    real_ns: int

    @classmethod
    def after(cls, seconds: float) -> "Begin":
        """Return the begin after this time."""
        return cls(time.monotonic() + seconds, time.time_ns() + round(seconds * 1e9))

    def now_s(self) -> float:
        """Return the time since the start."""
        return time.monotonic() - self.monotonic_s

    def since_s(self, real_ns: int) -> float:
        """Return the time from the begin to a reading of the real-time clock."""
        return (real_ns - self.real_ns) / 1e9


@dataclass(slots=True)
class Transfer:
    """A TCP transfer; the payload of a download is what arrives, that of an upload what is acknowledged.

    Attributes
    ----------
    sock
        Its connection.
    is_upload
        Its direction.
    head
        Head of the server's answer, as far as it has arrived.
    payload_bytes
        Payload until now.
    points
        Times in seconds, and payload until then.
    """

    sock: socket.socket
    is_upload: bool
    head: bytes = b""
    payload_bytes: int = 0
    points: list[tuple[float, int]] = field(default_factory=lambda: [(0.0, 0)])
    _acked_before: int = 0

    def begin(self) -> None:
        """Send the request."""
        self._acked_before = self._acked() + len(_UPLOAD)
        self.sock.sendall(_UPLOAD if self.is_upload else _DOWNLOAD)
        self.sock.setblocking(False)

    def proceed(self) -> bool:
        """Send or receive once; return whether the connection still exists."""
        try:
            if self.is_upload:
                self.sock.send(_ZEROS)
                return True
            if self.head.endswith(b"\r\n\r\n"):
                # MSG_TRUNC: the kernel counts the data and does not copy them (tcp(7)).
                size = len(self.sock.recv(len(_ZEROS), socket.MSG_TRUNC))
                self.payload_bytes += size
            else:
                size = len(chunk := self.sock.recv(1))
                self.head += chunk
        except BlockingIOError:
            return True
        except OSError:
            return False
        return size > 0

    def sample(self, time_s: float) -> None:
        """Record the payload until now."""
        if self.is_upload:
            self.payload_bytes = max(self._acked() - self._acked_before, 0)
        self.points.append((time_s, self.payload_bytes))

    def _acked(self) -> int:
        form, place = _ACKED
        info = self.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, place + form.size)
        return int(form.unpack_from(info, place)[0])


def transfers(plan: Plan, begin: Begin, length_s: float) -> dict[str, Any]:
    """Run the TCP transfers; return their points, and the congestion control of the uploads' senders."""
    ways = [False] * plan.downloads + [True] * plan.uploads
    with ThreadPoolExecutor(len(ways)) as pool:
        found = [
            Transfer(sock, way) for sock, way in zip(pool.map(lambda _: connected(), ways), ways, strict=True)
        ]
    time.sleep(max(-begin.now_s(), 0))
    with selectors.DefaultSelector() as selector:
        for each in found:
            each.begin()
            selector.register(
                each.sock, selectors.EVENT_WRITE if each.is_upload else selectors.EVENT_READ, each
            )
        next_s = _SAMPLE_S
        while (now_s := begin.now_s()) < length_s:
            if now_s >= next_s:
                for each in found:
                    each.sample(now_s)
                next_s = now_s + _SAMPLE_S
            for key, _ in selector.select(min(next_s, length_s) - now_s):
                if not key.data.proceed():
                    selector.unregister(key.fileobj)
    control = found[0].sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
    for each in found:
        each.sample(begin.now_s())
        # A reset: data in the queues are not sent again.
        each.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        each.sock.close()
    return {
        "congestion_control": control.rstrip(b"\0").decode(),
        "transfers": [
            {"direction": "up" if each.is_upload else "down", "points": each.points} for each in found
        ],
    }


def connected() -> socket.socket:
    """Connect to the server, which may begin to listen later than this process begins."""
    for _ in range(_TRIES):
        with suppress(ConnectionRefusedError):
            sock = socket.create_connection((SERVER, HTTP_PORT), _CONNECT_S)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, _UNSENT)
            return sock
        time.sleep(_TRY_S)
    raise ConnectionRefusedError(f"{SERVER} does not listen on port {HTTP_PORT}")


def ping(begin: Begin, length_s: float) -> dict[str, Any]:
    """Send pings from :data:`IDLE_S` before the load until its end.

    Each sample has the ping's number, its time of sending in seconds and its RTT in milliseconds.
    """
    count = pings(length_s)
    samples: dict[int, tuple[float, float]] = {}
    with opened() as sock:
        sock.connect((SERVER, PORT))

        def take(datagram: Datagram, now_ns: int) -> None:
            if datagram.kind == REPLY:
                sample = begin.since_s(datagram.sent_ns), datagram.rtt_ns(now_ns) / 1e6
                samples.setdefault(datagram.number, sample)

        exchange(
            sock,
            (begin.monotonic_s - IDLE_S + number * PING_S for number in range(count)),
            partial(_send, sock, PING, count),
            take,
            lambda: len(samples) == count,
        )
    return _delays(count, samples)


def call(begin: Begin, length_s: float, record: Path) -> dict[str, Any]:
    """Hold a call: datagrams in both directions.

    Each sample has the datagram's number, its time of sending in seconds and its one-way delay in
    milliseconds. `record` is the reflector's file.
    """
    count = call_datagrams(length_s)
    down: dict[int, tuple[float, float]] = {}
    with opened() as sock:
        sock.connect((SERVER, PORT))

        def take(datagram: Datagram, now_ns: int) -> None:
            if datagram.kind == CALL:
                delay_ms = (now_ns - datagram.sent_ns) / 1e6
                down.setdefault(datagram.number, (begin.since_s(datagram.sent_ns), delay_ms))

        exchange(
            sock,
            (begin.monotonic_s + number * CALL_S for number in range(count)),
            partial(_send, sock, CALL, count),
            take,
            lambda: len(down) == count,
        )
    up: dict[int, tuple[float, float]] = {}
    for line in _complete_lines(record, count):
        number, sent_ns, arrived_ns = map(int, line.split())
        up.setdefault(number, (begin.since_s(sent_ns), (arrived_ns - sent_ns) / 1e6))
    return {"down": _delays(count, down), "up": _delays(count, up)}


def _send(sock: socket.socket, kind: int, count: int, number: int) -> None:
    with suppress(OSError):
        # Without room in the device's queue the datagram is lost, as in a network card.
        sock.send(Datagram(kind, number, count, time.time_ns()).encoded())


def _delays(sent: int, samples: Mapping[int, tuple[float, float]]) -> dict[str, Any]:
    return {"sent": sent, "samples": [(number, *samples[number]) for number in sorted(samples)]}


def _complete_lines(record: Path, count: int) -> list[str]:
    """Read a file once it has a number of lines, or has not grown for :data:`GRACE_S`."""
    lines: list[str] = []
    latest_s = time.monotonic() + GRACE_S
    while len(lines) < count and time.monotonic() < latest_s:
        time.sleep(_TRY_S)
        found = record.read_text(encoding="ascii").split("\n")[:-1]
        if len(found) > len(lines):
            lines, latest_s = found, time.monotonic() + GRACE_S
    return lines


def pages(begin: Begin, length_s: float) -> list[dict[str, Any]]:
    """Load pages until the end of the battery, at least one; the last one is loaded to its end."""
    time.sleep(max(-begin.now_s(), 0))
    found: list[dict[str, Any]] = []
    while not found or begin.now_s() < length_s:
        start_s = begin.now_s()
        is_complete = load_page(PAGE)
        load_ms = 1e3 * (begin.now_s() - start_s) if is_complete else None
        found.append({"start_s": start_s, "load_ms": load_ms})
        time.sleep(_PAUSE_S)
    return found


def load_page(sizes: Sequence[int]) -> bool:
    """Load the document, then the other files over several connections; return whether all have arrived."""
    document, *others = sizes
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    for size in others:
        waiting.put(size)

    def load_files(connection: http.client.HTTPConnection) -> None:
        try:
            while True:
                _get(connection, waiting.get_nowait())
        except queue.Empty:
            return
        finally:
            connection.close()

    first, *more = (
        http.client.HTTPConnection(SERVER, HTTP_PORT, timeout=_HANG_S) for _ in range(CONNECTIONS)
    )
    try:
        _get(first, document)
        with ThreadPoolExecutor(CONNECTIONS) as pool:
            list(pool.map(load_files, (first, *more)))
    except (OSError, http.client.HTTPException):
        return False
    return True


def _get(connection: http.client.HTTPConnection, size: int) -> None:
    connection.request("GET", f"/bytes/{size}")
    if len(connection.getresponse().read()) != size:
        raise http.client.IncompleteRead(b"", size)


def side_by_side(workloads: Mapping[str, Callable[[], Any]]) -> dict[str, Any]:
    """Run workloads at the same time, each in a process of its own, and return what they return.

    Raises
    ------
    OSError
        If one of them does.
    """
    context = multiprocessing.get_context("fork")
    pipes = {}
    for name, workload in workloads.items():
        here, there = context.Pipe(duplex=False)
        context.Process(target=_report, args=(workload, there), daemon=True).start()
        there.close()
        pipes[name] = here
    found = {}
    for name, pipe in pipes.items():
        try:
            found[name] = pipe.recv()
        except EOFError:
            raise ChildProcessError(f"the process of {name} has ended early") from None
        if isinstance(found[name], OSError):
            raise found[name]
    return found


def _report(workload: Callable[[], Any], pipe: Connection) -> None:
    try:
        found = workload()
    except OSError as error:
        found = error
    pipe.send(found)


def workloads(plan: Plan, begin: Begin, length_s: float, folder: Path) -> dict[str, Callable[[], Any]]:
    """Return the workloads of a plan by their keys in the result."""
    found: dict[str, Callable[[], Any]] = {"ping": partial(ping, begin, length_s)}
    if plan.downloads + plan.uploads:
        found["tcp"] = partial(transfers, plan, begin, length_s)
    if plan.has_call:
        found["call"] = partial(call, begin, length_s, folder / "call")
    if plan.has_pages:
        found["pages"] = partial(pages, begin, length_s)
    return found


def main() -> int:
    """Run a battery; an error of the system is one line."""
    # Ctrl-C ends this process and its workloads without a word; the session reports it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    name, seconds, path = sys.argv[1:]
    length_s, folder = float(seconds), Path(path)
    try:
        connected().close()
        begin = Begin.after(_LEAD_S + IDLE_S)
        found = side_by_side(workloads(BATTERIES[name], begin, length_s, folder))
    except OSError as error:
        sys.stderr.write(f"airwnd: --battery {name}: {SERVER}: {error.strerror or error}\n")
        return 1
    (folder / "client.json").write_text(json.dumps(found), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
