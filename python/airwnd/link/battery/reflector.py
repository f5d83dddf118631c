"""The other end of a battery: the default server's HTTP, and a reflector of pings that also holds calls.

``python -m airwnd.link.battery.reflector FILE`` runs both and appends a line to FILE for each datagram of a
call that arrives: number, time of sending and time of arrival in nanoseconds.
"""

import os
import selectors
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airwnd.link import server
from airwnd.link.battery.datagrams import CALL, PING, PORT, REPLY, Datagram, opened, received
from airwnd.link.battery.plans import CALL_S


@dataclass(slots=True)
class Call:
    """A direction of a call: time of its next datagram by ``time.monotonic``, its number, and the count."""

    due_s: float
    count: int
    number: int = 0


class Reflector:
    """Answers pings, and sends a call's datagrams to each end that has begun one.

    Parameters
    ----------
    sock
        Bound socket.
    record
        Called with number, time of sending and time of arrival of each datagram of a call.
    """

    def __init__(self, sock: socket.socket, record: Callable[[int, int, int], None]) -> None:
        self._sock = sock
        self._record = record
        # By address. An ended call stays, so that a datagram that arrives late does not begin it again.
        self._calls: dict[Any, Call] = {}

    def serve(self) -> None:
        """Serve until the process ends."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._sock, selectors.EVENT_READ)
            while True:
                next_s = self.send_due(time.monotonic())
                selector.select(None if next_s is None else max(next_s - time.monotonic(), 0))
                self.answer()

    def answer(self) -> None:
        """Handle the datagrams that have arrived."""
        for datagram, now_ns, sender in received(self._sock):
            if datagram.kind == PING:
                self._send(
                    sender,
                    Datagram(
                        REPLY, datagram.number, datagram.count, datagram.sent_ns, now_ns, time.time_ns()
                    ),
                )
            elif datagram.kind == CALL:
                self._record(datagram.number, datagram.sent_ns, now_ns)
                self._calls.setdefault(sender, Call(time.monotonic(), datagram.count))

    def send_due(self, now_s: float) -> float | None:
        """Send what is due at this time; return the time of the next datagram, ``None`` if there is none."""
        for peer, call in self._calls.items():
            while call.due_s <= now_s and call.number < call.count:
                self._send(peer, Datagram(CALL, call.number, call.count, time.time_ns()))
                call.due_s += CALL_S
                call.number += 1
        return min((each.due_s for each in self._calls.values() if each.number < each.count), default=None)

    def _send(self, peer: Any, datagram: Datagram) -> None:
        try:
            self._sock.sendto(datagram.encoded(), peer)
        except OSError:
            # The device's queue is full, as that of a network card: the datagram is lost.
            return


def main() -> int:
    """Run the servers."""
    with Path(sys.argv[1]).open("a", encoding="ascii", buffering=1) as file, opened() as sock:
        sock.bind(("", PORT))
        if os.fork() == 0:
            server.die_with_parent()
            Reflector(sock, lambda *fields: print(*fields, file=file)).serve()
    return server.main(measures=False)


if __name__ == "__main__":
    sys.exit(main())
