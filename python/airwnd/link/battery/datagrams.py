"""Datagrams of pings and calls, with the kernel's time of arrival.

Both ends of a session have the same clock, so that one-way delays are differences of its readings. A
datagram's time of arrival is the kernel's: the time until its program runs, which grows with the load of the
machine, is not part of it. The kernel states it by ``CLOCK_REALTIME``, which the sender reads as well; a step
of this clock while a datagram is on its way falsifies its delay.
"""

import selectors
import socket
import struct
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Self

#: UDP port of the reflector.
PORT = 8007
#: Kinds: a request for a reply, its reply, and a datagram of a call, which is not answered.
PING, REPLY, CALL = range(3)
#: UDP payload in bytes: 64, and 20 ms of G.711 behind a header of RTP.
SIZES = {PING: 64, REPLY: 64, CALL: 172}
#: Late datagrams are awaited as long as one arrives within this time, in seconds.
GRACE_S = 3.0

_HEAD = struct.Struct("!BIIQQQ")
_LARGEST = 2048
# asm-generic/socket.h; the ancillary message has the number of the option, and a `struct timespec`.
_SO_TIMESTAMPNS = 35
_TIMESPEC = struct.Struct("@ll")


@dataclass(frozen=True, slots=True)
class Datagram:
    """A datagram of a ping or a call.

    Attributes
    ----------
    kind
        :data:`PING`, :data:`REPLY` or :data:`CALL`.
    number
        Place among those of its sender, from 0.
    count
        Datagrams that its sender sends in all.
    sent_ns
        Time of sending; of a reply, that of the request.
    arrived_ns, replied_ns
        Of a reply: times at which the request arrived and the reply was sent.
    """

    kind: int
    number: int
    count: int
    sent_ns: int
    arrived_ns: int = 0
    replied_ns: int = 0

    def encoded(self) -> bytes:
        """Return the payload."""
        fields = (self.kind, self.number, self.count, self.sent_ns, self.arrived_ns, self.replied_ns)
        return _HEAD.pack(*fields).ljust(SIZES[self.kind], b"\0")

    @classmethod
    def decoded(cls, payload: bytes) -> Self | None:
        """Read a payload; ``None``: it is none of these datagrams."""
        if len(payload) < _HEAD.size or len(payload) != SIZES.get(payload[0]):
            return None
        return cls(*_HEAD.unpack_from(payload))

    def rtt_ns(self, now_ns: int) -> int:
        """Return the RTT of a reply that arrives now, without the time that the reflector took."""
        return now_ns - self.sent_ns - (self.replied_ns - self.arrived_ns)


def opened() -> socket.socket:
    """Return an IPv4 socket whose datagrams have the kernel's time of arrival."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    sock.setblocking(False)
    return sock


def received(sock: socket.socket) -> Iterable[tuple[Datagram, int, Any]]:
    """Yield the datagrams that have arrived, each with its time of arrival in nanoseconds and its sender."""
    while True:
        try:
            payload, ancillary, _, sender = sock.recvmsg(_LARGEST, socket.CMSG_SPACE(_TIMESPEC.size))
        except BlockingIOError:
            return
        except ConnectionError:
            # An ICMP message that the other end's port is closed.
            continue
        now_ns = time.time_ns()
        for level, kind, value in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, _SO_TIMESTAMPNS):
                seconds, rest_ns = _TIMESPEC.unpack_from(value)
                now_ns = seconds * 10**9 + rest_ns
        if datagram := Datagram.decoded(payload):
            yield datagram, now_ns, sender


def exchange(
    sock: socket.socket,
    times_s: Iterable[float],
    send: Callable[[int], None],
    take: Callable[[Datagram, int], None],
    is_complete: Callable[[], bool],
) -> None:
    """Send a datagram at each time and take those that arrive, also late ones.

    Parameters
    ----------
    sock
        A connected socket.
    times_s
        Times by ``time.monotonic``; a datagram whose time has passed is sent at once.
    send
        Sends the datagram of this number.
    take
        Receives a datagram and its time of arrival.
    is_complete
        Whether no more datagrams will arrive.
    """
    with selectors.DefaultSelector() as selector:
        selector.register(sock, selectors.EVENT_READ)

        def take_until(end_s: float) -> bool:
            """Wait until a time, or until datagrams have arrived; return whether the time has come."""
            if not selector.select(max(end_s - time.monotonic(), 0)):
                return True
            for datagram, now_ns, _ in received(sock):
                take(datagram, now_ns)
            return time.monotonic() >= end_s

        for number, at_s in enumerate(times_s):
            while not take_until(at_s):
                pass
            send(number)
        latest_s = time.monotonic() + GRACE_S
        while not is_complete():
            if take_until(latest_s):
                break
            latest_s = time.monotonic() + GRACE_S
