"""Transport stacks for ``airwnd stack`` and :class:`airwnd.Trial`.

Each function makes the two endpoints of a connection for a seed: that at the UE, which connects, and that at
the server.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any, Literal

import airwnd
from airwnd_stacks import _native

__all__ = ["quinn", "s2n", "smoltcp", "str0m"]


_Pair = tuple[_native.Stack, _native.Stack]


class _Connection:
    """The two endpoints of a stack in Rust, which are made anew if they are to log."""

    def __init__(self, make: Callable[[bool], _Pair]) -> None:
        self._make = make
        self.logs = False
        self.ends = make(False)

    def log(self) -> None:
        if not self.logs:
            self.logs = True
            self.ends = self._make(True)


class _End(airwnd.Endpoint):
    """An endpoint of a stack in Rust.

    Parameters
    ----------
    connection
        The connection.
    place
        0: the endpoint at the UE, 1: that at the server.
    protocol
        Protocol of its packets if it makes whole IP packets; ``None``: it makes payloads of UDP.
    """

    def __init__(
        self, connection: _Connection, place: Literal[0, 1], protocol: Literal["tcp"] | None = None
    ) -> None:
        self._connection = connection
        self._place = place
        self._stack = connection.ends[place]
        self.protocol = protocol

    def start_qlog(self) -> None:
        self._connection.log()
        self._stack = self._connection.ends[self._place]

    def qlog(self) -> Iterator[dict[str, Any]]:
        for text in self._stack.qlog():
            event = json.loads(text)
            # A connection id, which is random.
            event.pop("group_id", None)
            yield event

    def transmit(self, now_s: float) -> list[tuple[bytes, int]]:
        return self._stack.transmit(now_s)

    def receive(self, now_s: float, data: bytes, ecn: int) -> None:
        self._stack.receive(now_s, data, ecn)

    def timeout(self) -> float | None:
        return self._stack.timeout()

    def on_timeout(self, now_s: float) -> None:
        self._stack.on_timeout(now_s)

    @property
    def received_bytes(self) -> int:  # type: ignore[override]  # read from the stack
        return self._stack.received_bytes

    @property
    def retransmissions(self) -> int:  # type: ignore[override]  # read from the stack
        return self._stack.retransmissions


def _ends(
    name: str, make: Callable[[bool], _Pair], protocol: Literal["tcp"] | None = None
) -> tuple[airwnd.Endpoint, airwnd.Endpoint]:
    try:
        connection = _Connection(make)
    except ValueError as error:
        raise airwnd.InputError(f"{name}: {error}") from error
    return _End(connection, 0, protocol), _End(connection, 1, protocol)


def quinn(seed: int, cc: str = "cubic", upload: bool = False) -> tuple[airwnd.Endpoint, airwnd.Endpoint]:
    """Make the endpoints of a transfer without end by quinn-proto, a QUIC stack.

    Parameters
    ----------
    seed
        Seed of its random numbers.
    cc
        Congestion control: ``"cubic"``, ``"newreno"`` or ``"bbr"``.
    upload
        Whether the UE sends, or the server.
    """
    return _ends("quinn", lambda logs: _native.quinn(seed, cc, upload, logs))


def s2n(seed: int, cc: str = "cubic", upload: bool = False) -> tuple[airwnd.Endpoint, airwnd.Endpoint]:
    """Make the endpoints of a transfer without end by s2n-quic, a QUIC stack.

    Parameters
    ----------
    seed
        Seed of its random numbers.
    cc
        Congestion control: ``"cubic"`` or ``"bbr"``, version 2.
    upload
        Whether the UE sends, or the server.
    """
    return _ends("s2n", lambda _: _native.s2n(seed, cc, upload))


def smoltcp(seed: int, cc: str = "cubic", upload: bool = False) -> tuple[airwnd.Endpoint, airwnd.Endpoint]:
    """Make the endpoints of a transfer without end by smoltcp, a TCP stack.

    Parameters
    ----------
    seed
        Seed of its initial sequence numbers.
    cc
        Congestion control: ``"cubic"`` or ``"reno"``.
    upload
        Whether the UE sends, or the server.
    """
    return _ends("smoltcp", lambda _: _native.smoltcp(seed, cc, upload), "tcp")


def str0m(seed: int, max_kbps: int = 2500) -> tuple[airwnd.Endpoint, airwnd.Endpoint]:
    """Make the endpoints of a video from the server by str0m, a WebRTC stack.

    Parameters
    ----------
    seed
        Seed of its random numbers.
    max_kbps
        Maximum rate of the video in kbit/s; it follows the bandwidth estimate.
    """
    if max_kbps < 1:
        raise airwnd.InputError(f"str0m: max_kbps: expected at least 1, found {max_kbps}")
    return _ends("str0m", lambda _: _native.str0m(seed, max_kbps))
