"""One transfer over QUIC by aioquic, with a congestion control of aioquic.

::

    quic.py server ADDRESS PORT CC CERTIFICATE
    quic.py client ADDRESS PORT CC CERTIFICATE down|up --seconds 12 --result FILE

The server writes a new certificate to CERTIFICATE, the client trusts it. The sender uses CC, ``reno`` or
``cubic``. The client appends its result to FILE, a line of JSON with the keys of ``tcp.py``.
"""

import argparse
import asyncio
import datetime as dt
import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.asyncio.server import serve
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.congestion.base import QuicCongestionControl
from aioquic.quic.events import ConnectionTerminated, QuicEvent, StreamDataReceived
from aioquic.quic.packet_builder import QuicSentPacket
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from ends import Ends, Result

NAME = "server"
"""Name in the certificate, whatever the address."""
WINDOW = 32 << 20
"""Flow control that never limits the sender, in bytes, as the kernel's receive buffer of up to 32 MiB."""
UNSENT = 128 << 10
"""Data that aioquic holds beyond its congestion window, in bytes, so that a sender ends on time."""
DATAGRAM = 1452
"""QUIC payload of a packet of 1500 bytes over IPv6, the size that quinn discovers."""
INTERVAL_S = 0.1
PAUSE_S = 0.005
"""Time between two looks at the unsent data."""
ZEROS = bytes(16384)


def main() -> None:
    """Run a server, or a client and its transfer."""
    ends = Ends(__doc__)
    ends.add("cc", choices=["reno", "cubic"])
    ends.add("certificate", type=Path)
    ends.client.add_argument("direction", choices=["down", "up"])
    ends.client.add_argument("--seconds", type=float, required=True)
    ends.run(
        lambda options: asyncio.run(run_server(options)),
        lambda options: [asyncio.run(transfer(options))],
    )


def configuration(options: argparse.Namespace, *, is_client: bool) -> QuicConfiguration:
    """Return what both sides use."""
    return QuicConfiguration(
        is_client=is_client,
        alpn_protocols=["stacks"],
        congestion_control_algorithm=options.cc,
        max_data=WINDOW,
        max_stream_data=WINDOW,
        max_datagram_size=DATAGRAM,
        server_name=NAME,
    )


class Peer(QuicConnectionProtocol):
    """One side of the only stream of a connection."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.began = self.first = self.last = time.perf_counter()
        self.received = 0
        self.text = b""
        self.ended = asyncio.Event()
        self.serving: asyncio.Task[None] | None = None

    def quic_event_received(self, event: QuicEvent) -> None:
        """Count zeros, and keep everything else as text."""
        if isinstance(event, ConnectionTerminated):
            self.ended.set()
        if not isinstance(event, StreamDataReceived):
            return
        now = time.perf_counter()
        zeros = 0 if self.text else len(event.data) - len(event.data.lstrip(b"\0"))
        if zeros:
            self.first = self.first if self.received else now
            self.last = now
        self.received += zeros
        self.text += event.data[zeros:]
        if event.end_stream:
            self.ended.set()
        if not self.is_client and self.serving is None and b"\n" in self.text:
            line, _, self.text = self.text.partition(b"\n")
            self.text = self.text.lstrip(b"\0")
            self.serving = asyncio.get_running_loop().create_task(self.answer(event.stream_id, line))

    @property
    def is_client(self) -> bool:
        """Whether this is the side of the UE."""
        return self._quic.configuration.is_client

    def request(self, about: dict[str, Any]) -> int:
        """Open the stream, request a transfer, and return the stream's number."""
        stream = self._quic.get_next_available_stream_id()
        self._quic.send_stream_data(stream, json.dumps(about).encode() + b"\n")
        self.transmit()
        return stream

    async def answer(self, stream: int, line: bytes) -> None:
        """Serve one transfer: the client's line says which."""
        request = json.loads(line)
        if request["direction"] == "down":
            await self.produce(stream, request["seconds"])
        else:
            await self.ended.wait()
            self._quic.send_stream_data(stream, json.dumps(self.result()).encode(), end_stream=True)
            self.transmit()

    async def produce(self, stream: int, seconds: float) -> None:
        """Send zeros for some seconds, then a line with the sender's samples."""
        began = time.perf_counter()
        samples: list[tuple[float, float, int, int]] = []
        # aioquic limits no unsent data, and has no public counters of loss recovery.
        self._quic.send_stream_data(stream, ZEROS)
        unacknowledged = self._quic._streams[stream].sender._buffer  # noqa: SLF001 (no public one)
        recovery = self._quic._loss  # noqa: SLF001 (no public one)
        losses = count_losses(recovery._cc)  # noqa: SLF001 (no public one)
        while (elapsed := time.perf_counter() - began) < seconds and not self.ended.is_set():
            while len(unacknowledged) < recovery.congestion_window + UNSENT:
                self._quic.send_stream_data(stream, ZEROS)
            self.transmit()
            if not samples or elapsed >= samples[-1][0] + INTERVAL_S:
                rtt_ms = recovery._rtt_smoothed * 1e3  # noqa: SLF001 (no public one)
                samples.append((elapsed, rtt_ms, recovery.congestion_window, sum(losses)))
            await asyncio.sleep(PAUSE_S)
        report = {"cc": self._quic.configuration.congestion_control_algorithm, "retransmitted": sum(losses)}
        text = b"\n" + json.dumps({**report, "samples": samples}).encode() + b"\n"
        self._quic.send_stream_data(stream, text, end_stream=True)
        self.transmit()

    def result(self) -> dict[str, Any]:
        """Return goodput from the first zero to the last, and what the sender told."""
        told = json.loads(self.text)
        seconds = max(self.last - self.first, 1e-3)
        return {
            "seconds": seconds,
            "bytes": self.received,
            "goodput_kbps": self.received * 8e-3 / seconds,
            "first_byte_ms": (self.first - self.began) * 1e3,
            "retransmitted": told["retransmitted"],
            "samples": told["samples"],
        }


def count_losses(control: QuicCongestionControl) -> list[int]:
    """Return a list to which each loss event appends its number of packets."""
    losses: list[int] = []
    plain = control.on_packets_lost

    def counted(*, now: float, packets: Iterable[QuicSentPacket]) -> None:
        lost = tuple(packets)
        losses.append(len(lost))
        plain(now=now, packets=lost)

    setattr(control, "on_packets_lost", counted)  # noqa: B010 (mypy allows no assignment to a method)
    return losses


async def run_server(options: argparse.Namespace) -> None:
    """Serve transfers until the process is ended."""
    key, certificate = new_certificate()
    config = configuration(options, is_client=False)
    config.private_key, config.certificate = key, certificate
    await serve(options.address, options.port, configuration=config, create_protocol=Peer)
    # A client that waits for the certificate never reads half of it.
    partial = options.certificate.with_suffix(".partial")
    partial.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    partial.rename(options.certificate)
    await asyncio.Event().wait()


async def transfer(options: argparse.Namespace) -> Result:
    """Request a transfer and return its result."""
    config = configuration(options, is_client=True)
    config.load_verify_locations(str(options.certificate))
    began = time.perf_counter()
    async with connect(
        options.address, options.port, configuration=config, create_protocol=Peer
    ) as connection:
        peer = cast("Peer", connection)
        peer.began = began
        stream = peer.request({"direction": options.direction, "seconds": options.seconds})
        if options.direction == "up":
            await peer.produce(stream, options.seconds)
        await peer.ended.wait()
    found = peer.result() if options.direction == "down" else json.loads(peer.text)
    return {"program": "aioquic", "cc": options.cc, "direction": options.direction, **found}


def new_certificate() -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
    """Make a key and a self-signed certificate for a day."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, NAME)])
    now = dt.datetime.now(dt.UTC)
    builder = x509.CertificateBuilder(
        issuer_name=name,
        subject_name=name,
        public_key=key.public_key(),
        serial_number=x509.random_serial_number(),
        not_valid_before=now - dt.timedelta(days=1),
        not_valid_after=now + dt.timedelta(days=1),
    )
    names = x509.SubjectAlternativeName([x509.DNSName(NAME)])
    return key, builder.add_extension(names, critical=False).sign(key, hashes.SHA256())


if __name__ == "__main__":
    main()
