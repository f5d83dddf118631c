"""One transfer over the kernel's TCP, with a congestion control of the kernel.

::

    tcp.py server ADDRESS PORT CC
    tcp.py client ADDRESS PORT CC down|up --seconds 12 --result FILE

The sender uses CC (the socket option TCP_CONGESTION) and samples its TCP_INFO every 100 ms. The client
appends its result to FILE as a line of JSON: ``seconds`` and ``bytes`` from the first byte to the last,
``goodput_kbps``, ``first_byte_ms`` from the start of the connection, ``retransmitted`` packets, and
``samples``, each ``[time in s, smoothed RTT in ms, congestion window in bytes, packets retransmitted]``.
"""

import argparse
import contextlib
import errno
import json
import math
import socket
import struct
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

from ends import Ends, Result

INTERVAL_S = 0.1
TRIES = 100
ZEROS = bytes(16384)
UNSENT = 128 << 10
"""Data that the kernel holds beyond its congestion window, in bytes, so that a sender ends on time."""


def main() -> None:
    """Run a server, or a client and its transfer."""
    ends = Ends(__doc__)
    ends.add("cc")
    ends.client.add_argument("direction", choices=["down", "up"])
    ends.client.add_argument("--seconds", type=float, default=math.inf)
    ends.client.add_argument("--bytes", type=int, default=sys.maxsize)
    ends.run(serve, transfer)


def serve(options: argparse.Namespace) -> None:
    """Answer every connection in a thread of its own."""
    (family, *_, resolved) = socket.getaddrinfo(options.address, options.port, type=socket.SOCK_STREAM)[0]
    with socket.socket(family, socket.SOCK_STREAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        prepare(listening, options.cc)
        listening.bind(resolved)
        listening.listen()
        while True:
            connection, _ = listening.accept()
            threading.Thread(target=answer, args=(connection, options.cc), daemon=True).start()


def answer(connection: socket.socket, cc: str) -> None:
    """Serve one transfer: the client's line says which."""
    with connection:
        line = read_line(connection)
        if not line:
            return
        request = json.loads(line)
        if request["direction"] == "down":
            produce(connection, cc, request["seconds"], request["bytes"])
        else:
            connection.sendall(json.dumps(consume(connection, time.perf_counter())).encode())
        connection.shutdown(socket.SHUT_WR)


def transfer(options: argparse.Namespace) -> Iterator[Result]:
    """Request a transfer and yield its result."""
    (family, *_, resolved) = socket.getaddrinfo(options.address, options.port, type=socket.SOCK_STREAM)[0]
    wait_for_server(family, resolved)
    with socket.socket(family, socket.SOCK_STREAM) as connection:
        prepare(connection, options.cc)
        began = time.perf_counter()
        connection.connect(resolved)
        seconds = min(options.seconds, 1e9)
        request = {"direction": options.direction, "seconds": seconds, "bytes": options.bytes}
        connection.sendall(json.dumps(request).encode() + b"\n")
        if options.direction == "down":
            found = consume(connection, began)
        else:
            produce(connection, options.cc, seconds, options.bytes)
            connection.shutdown(socket.SHUT_WR)
            found = json.loads(read_all(connection))
    yield {"program": "tcp", "cc": options.cc, "direction": options.direction, **found}


def wait_for_server(family: int, resolved: Any) -> None:
    """Wait until the port accepts connections: a server that was started with the client may be later."""
    for _ in range(TRIES):
        with socket.socket(family, socket.SOCK_STREAM) as trial:
            if trial.connect_ex(resolved) != errno.ECONNREFUSED:
                return
        time.sleep(INTERVAL_S)


def prepare(connection: socket.socket, cc: str) -> None:
    """Choose the congestion control, and limit unsent data."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, cc.encode())
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT)


def produce(connection: socket.socket, cc: str, seconds: float, maximum: int) -> None:
    """Send zeros for some seconds or bytes, then a line with the sender's samples."""
    began = time.perf_counter()
    connection.settimeout(INTERVAL_S)
    samples = [sample(connection, 0.0)]
    left = maximum
    while left > 0 and (elapsed := time.perf_counter() - began) < seconds:
        with contextlib.suppress(TimeoutError):
            left -= connection.send(ZEROS[:left])
        if elapsed >= samples[-1][0] + INTERVAL_S:
            samples.append(sample(connection, elapsed))
    connection.settimeout(None)
    report = {"cc": cc, "retransmitted": samples[-1][3], "samples": samples}
    connection.sendall(b"\n" + json.dumps(report).encode() + b"\n")


def sample(connection: socket.socket, time_s: float) -> tuple[float, float, int, int]:
    """Read ``struct tcp_info`` of ``linux/tcp.h``: eight bytes, then words of 32 bits."""
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    words = struct.unpack_from("=24I", info, 8)
    segment, rtt_us, window, retransmitted = words[2], words[15], words[18], words[23]
    return time_s, rtt_us / 1e3, window * segment, retransmitted


def consume(connection: socket.socket, began: float) -> dict[str, Any]:
    """Receive zeros and the sender's line: goodput from the first byte to the last zero."""
    first = last = began
    received = 0
    report = b""
    while chunk := connection.recv(1 << 18):
        now = time.perf_counter()
        first = first if received else now
        zeros = 0 if report else len(chunk) - len(chunk.lstrip(b"\0"))
        last = now if zeros else last
        received += zeros
        report += chunk[zeros:]
    told = json.loads(report)
    seconds = max(last - first, 1e-3)
    return {
        "seconds": seconds,
        "bytes": received,
        "goodput_kbps": received * 8e-3 / seconds,
        "first_byte_ms": (first - began) * 1e3,
        "retransmitted": told["retransmitted"],
        "samples": told["samples"],
    }


def read_line(connection: socket.socket) -> bytes:
    """Read one line, byte by byte, since data follow it."""
    line = b""
    while not line.endswith(b"\n") and (byte := connection.recv(1)):
        line += byte
    return line


def read_all(connection: socket.socket) -> bytes:
    """Read until the peer ends."""
    text = b""
    while chunk := connection.recv(1 << 16):
        text += chunk
    return text


if __name__ == "__main__":
    main()
