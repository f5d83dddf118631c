"""A video call's worth of UDP in both directions: 30 frames per second, each of several packets.

::

    call.py server ADDRESS PORT
    call.py client ADDRESS PORT --kbps 1000 --seconds 12 --result FILE

The bit rate is constant: the call does not adapt. Both ends read the same clock, so that delays are one-way.
The client appends a line of JSON to FILE, with these keys for each direction, as in ``down_loss_percent``:

``loss_percent``
    packets that did not arrive;
``jitter_ms``
    interarrival jitter of RFC 3550 §6.4.1 at the end;
``delay_ms_p50``, ``delay_ms_p95``, ``delay_ms_p99``
    one-way delay of packets;
``late_150_percent``, ``late_400_percent``
    frames without their last packet after 150 ms and after 400 ms, the limits of ITU-T G.114.
"""

import argparse
import itertools
import json
import math
import socket
import struct
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

from ends import Ends, Result

HEADER = struct.Struct("!Id")
"""Frame, and time of sending in seconds."""
PACKET = 1200
"""Maximum UDP payload in bytes, as WebRTC uses."""
FRAMES_PER_S = 30
GRACE_S = 3.0
"""Longest time for late packets after the last frame."""
LAST_S = 0.1
"""Interval of the messages that no more frames follow."""
REORDERING_S = 0.2
"""Time for late packets after such a message: links keep the order of packets, paths may not."""
START, LAST, REPORT = b"start ", b"last", b"report"
TRIES = 50
TRY_S = 0.2
LIMITS_MS = (150, 400)

Packet = tuple[int, float]
"""Frame, and one-way delay in seconds."""


def main() -> None:
    """Run a server, or a client and its call."""
    ends = Ends(__doc__)
    ends.client.add_argument("--kbps", type=float, default=1000)
    ends.client.add_argument("--seconds", type=float, required=True)
    ends.run(serve, call)


def open_socket(address: str, port: int) -> tuple[socket.socket, Any]:
    """Return a socket of the address's family, and the resolved address."""
    (family, *_, resolved) = socket.getaddrinfo(address, port, type=socket.SOCK_DGRAM)[0]
    end = socket.socket(family, socket.SOCK_DGRAM)
    end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    return end, resolved


def serve(options: argparse.Namespace) -> None:
    """Answer one call after another."""
    end, address = open_socket(options.address, options.port)
    end.bind(address)
    while True:
        end.settimeout(None)
        message, peer = end.recvfrom(2048)
        if message.startswith(START):
            request = json.loads(message.removeprefix(START))
            end.sendto(START, peer)
            report = json.dumps(summary(talk(end, peer, request), request)).encode()
            # The client asks until it has the report, and asks again if an answer was lost.
            end.settimeout(TRY_S * TRIES)
            try:
                while not end.recvfrom(2048)[0].startswith(REPORT):
                    pass
                for _ in range(3):
                    end.sendto(REPORT + report, peer)
            except TimeoutError:
                pass


def call(options: argparse.Namespace) -> Iterator[Result]:
    """Hold a call and yield what both ends received."""
    request = {"kbps": options.kbps, "seconds": options.seconds}
    end, address = open_socket(options.address, options.port)
    end.connect(address)
    ask(end, START, START + json.dumps(request).encode())
    down = summary(talk(end, None, request), request)
    directions = {"down": down, "up": json.loads(ask(end, REPORT, REPORT))}
    flat = {f"{way}_{key}": value for way, found in directions.items() for key, value in found.items()}
    yield {"program": "call", **request, **flat}


def ask(end: socket.socket, answer: bytes, message: bytes) -> bytes:
    """Send a message until its answer arrives, and return the answer without its first word."""
    end.settimeout(TRY_S)
    for _ in range(TRIES):
        waits_until = time.monotonic() + TRY_S
        try:
            end.send(message)
            while time.monotonic() < waits_until:
                received = end.recv(65536)
                if received.startswith(answer):
                    return received.removeprefix(answer)
        except TimeoutError:
            continue
        except ConnectionRefusedError:  # a server that was started with the client may be later
            time.sleep(TRY_S)
    raise TimeoutError(f"no answer within {TRIES * TRY_S:g} s")


def talk(end: socket.socket, peer: Any, request: dict[str, float]) -> list[Packet]:
    """Send frames, and return all packets received."""
    size = round(request["kbps"] * 125 / FRAMES_PER_S)
    frames = round(request["seconds"] * FRAMES_PER_S)
    began = time.monotonic()
    due = [began + frame / FRAMES_PER_S for frame in range(frames)]
    received: list[Packet] = []
    for frame, at in enumerate(due):
        listen(end, at, received)
        send_frame(end, peer, frame, size)
    # The server announces its end, and the client's request for the report announces the client's.
    latest, has_ended = due[-1] + GRACE_S, False
    while not has_ended and (now := time.monotonic()) < latest:
        if peer is not None:
            end.sendto(LAST, peer)
        has_ended = listen(end, min(now + LAST_S, latest), received, LAST if peer is None else REPORT)
    listen(end, time.monotonic() + REORDERING_S, received)
    return received


def send_frame(end: socket.socket, peer: Any, frame: int, size: int) -> None:
    """Send a frame as packets of equal size; without a peer the socket is connected."""
    packets = math.ceil(size / PACKET)
    payload = bytes(max(size // packets - HEADER.size, 0))
    for _ in range(packets):
        packet = HEADER.pack(frame, time.monotonic()) + payload
        if peer is None:
            end.send(packet)
        else:
            end.sendto(packet, peer)


def listen(end: socket.socket, until: float, received: list[Packet], message: bytes | None = None) -> bool:
    """Receive packets until a time or a message; return whether the message has arrived."""
    while (left := until - time.monotonic()) > 0:
        end.settimeout(left)
        try:
            packet = end.recv(2048)
        except TimeoutError:
            break
        if packet == message:
            return True
        if not packet.startswith((START, LAST, REPORT)):
            frame, sent = HEADER.unpack_from(packet)
            received.append((frame, time.monotonic() - sent))
    return False


def summary(received: list[Packet], request: dict[str, float]) -> dict[str, float | None]:
    """Return the measures of one direction; ``None``: nothing arrived."""
    frames = round(request["seconds"] * FRAMES_PER_S)
    packets = math.ceil(round(request["kbps"] * 125 / FRAMES_PER_S) / PACKET)
    delays = sorted(delay for _, delay in received)
    found: dict[str, float | None] = {
        "loss_percent": 100 * (1 - len(received) / (frames * packets)),
        "jitter_ms": 1e3 * jitter(received),
    }
    for percent in (50, 95, 99):
        rank = math.ceil(len(delays) * percent / 100) - 1
        found[f"delay_ms_p{percent}"] = 1e3 * delays[rank] if delays else None
    for limit in LIMITS_MS:
        on_time = Counter(frame for frame, delay in received if delay * 1e3 <= limit)
        complete = sum(count == packets for count in on_time.values())
        found[f"late_{limit}_percent"] = 100 * (1 - complete / frames)
    return found


def jitter(received: list[Packet]) -> float:
    """Return the interarrival jitter of RFC 3550 §6.4.1, in seconds."""
    estimate = 0.0
    for before, after in itertools.pairwise(delay for _, delay in received):
        estimate += (abs(after - before) - estimate) / 16
    return estimate


if __name__ == "__main__":
    main()
