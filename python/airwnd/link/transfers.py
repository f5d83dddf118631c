"""TCP transfers by the kernel, as the commands of a session of ``airwnd link``.

``python -m airwnd.link.transfers serve JSON`` is the other end, ``use JSON`` the end at the UE. Both import
the standard library only, so that they start fast.
"""

import contextlib
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from threading import Thread
from typing import Any

SERVER = "100.64.0.1"
"""Address of the other end."""
PORT = 5001
"""Port of the first transfer; each has a port of its own, by which results name it."""
KEYS = ("is_upload", "start_s", "stop_s")
"""Keys of a transfer besides its ``port``; ``stop_s`` may be null: the end of the session."""

_BLOCK = bytes(1 << 17)

Transfer = Mapping[str, Any]


def command(end: str, cc: str, transfers: Sequence[Transfer], until_s: float) -> list[str]:
    """Return the command of an end: ``serve`` or ``use``."""
    what = json.dumps({"cc": cc, "transfers": list(transfers), "until_s": until_s})
    return [sys.executable, "-I", "-m", "airwnd.link.transfers", end, what]


def serve(cc: str, transfers: Sequence[Transfer], until_s: float) -> None:
    """Accept the connection of each transfer."""
    for each in transfers:
        Thread(target=_accept, args=(cc, each), daemon=True).start()
    # The session ends it together with the other end.
    time.sleep(until_s + 60)


def use(cc: str, transfers: Sequence[Transfer], until_s: float) -> None:
    """Begin each transfer at its time; the session ends with this process."""
    began_s = time.monotonic()
    signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
    signal.setitimer(signal.ITIMER_REAL, until_s)
    for each in transfers:
        Thread(target=_connect, args=(cc, each, began_s), daemon=True).start()
    while True:
        signal.pause()


def _accept(cc: str, transfer: Transfer) -> None:
    with socket.create_server((SERVER, transfer["port"])) as server:
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, cc.encode())
        connection, _ = server.accept()
        _transfer(connection, sends=not transfer["is_upload"], until_s=None)


def _connect(cc: str, transfer: Transfer, began_s: float) -> None:
    time.sleep(max(began_s + transfer["start_s"] - time.monotonic(), 0.0))
    stop_s = None if transfer["stop_s"] is None else began_s + transfer["stop_s"]
    with socket.socket() as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, cc.encode())
        connection.connect((SERVER, transfer["port"]))
        _transfer(connection, sends=transfer["is_upload"], until_s=stop_s)


def _transfer(connection: socket.socket, *, sends: bool, until_s: float | None) -> None:
    # Nagle's algorithm keeps the end of each block in an unfinished socket buffer, so a blocking writer could
    # exceed the send buffer.
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with contextlib.suppress(ConnectionError, BrokenPipeError):
        while until_s is None or time.monotonic() < until_s:
            if sends:
                connection.send(_BLOCK)
            elif not connection.recv(1 << 20):
                return


if __name__ == "__main__":
    _end, _what = sys.argv[1:]
    _given = json.loads(_what)
    {"serve": serve, "use": use}[_end](_given["cc"], _given["transfers"], _given["until_s"])
