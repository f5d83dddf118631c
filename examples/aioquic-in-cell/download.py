"""A QUIC download by aioquic over a simulated cell, in virtual time: `python download.py reno 1 2 3`."""

import datetime
import ssl
import sys

import airwnd
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import HandshakeCompleted, StreamDataReceived
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

CELL = {
    "name": "a phone in a loaded cell",
    "duration": "10s",
    "rlc": {"queue": {"kind": "drop-tail", "buffer": "1MB"}},
    "site": [{}],
    "ue": [
        {"name": "phone", "placement": {"kind": "ring", "radius": "300m"}},
        {"name": "others", "count": 4, "placement": {"kind": "disc", "radius": "500m"}},
    ],
    "flow": [{"ue": "others"}],
}
SERVER = ("server", 4433)
WHOLE = 1 << 30


def certificate():
    """Return a self-signed certificate and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "server")])
    begin = datetime.datetime(2026, 1, 1)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(begin).not_valid_after(begin.replace(year=2126))
    return builder.sign(key, hashes.SHA256()), key


class Quic(airwnd.Endpoint):
    """An end of a QUIC connection."""

    def __init__(self, connection):
        self.connection = connection

    def transmit(self, now_s):
        return [data for data, _ in self.connection.datagrams_to_send(now_s)] if self.connection else []

    def receive(self, now_s, data, ecn):
        self.connection.receive_datagram(data, SERVER, now_s)
        while (event := self.connection.next_event()) is not None:
            self.handle(event)

    def timeout(self):
        return self.connection.get_timer() if self.connection else None

    def on_timeout(self, now_s):
        self.connection.handle_timer(now_s)

    def handle(self, event):
        """Let the application react to an event of the connection."""


class Client(Quic):
    """Ask for a file once the handshake is complete."""

    def __init__(self, algorithm):
        configuration = QuicConfiguration(
            congestion_control_algorithm=algorithm,
            verify_mode=ssl.CERT_NONE,
            max_data=WHOLE,
            max_stream_data=WHOLE,
        )
        super().__init__(QuicConnection(configuration=configuration))
        self.connection.connect(SERVER, now=0.0)

    def handle(self, event):
        if isinstance(event, HandshakeCompleted):
            self.connection.send_stream_data(0, b"file", end_stream=True)
        elif isinstance(event, StreamDataReceived):
            self.received_bytes += len(event.data)


class Server(Quic):
    """Answer with an endless file."""

    def __init__(self, algorithm):
        super().__init__(None)
        chain, key = certificate()
        self.configuration = QuicConfiguration(
            is_client=False, congestion_control_algorithm=algorithm, certificate=chain, private_key=key
        )

    def receive(self, now_s, data, ecn):
        if self.connection is None:
            # The destination connection id of a long header (RFC 9000 §17.2).
            first = data[6 : 6 + data[5]]
            self.connection = QuicConnection(
                configuration=self.configuration, original_destination_connection_id=first
            )
        super().receive(now_s, data, ecn)

    def handle(self, event):
        if isinstance(event, StreamDataReceived) and event.end_stream:
            self.connection.send_stream_data(0, bytes(50_000_000))


def download(algorithm, seed):
    """Return the results of a download of ten seconds."""
    path = airwnd.Path(airwnd.Scenario.from_dict(CELL), seed)
    path.run(Client(algorithm), Server(algorithm), 10, ue="phone")
    return path.finish()


if __name__ == "__main__":
    algorithm, *seeds = sys.argv[1:] or ("reno", "1")
    for seed in map(int, seeds):
        run = download(algorithm, seed)
        row = run.flows.filter(run.flows["kind"] == "udp").row(0, named=True)
        print(f"seed {seed}: {row['goodput_kbps']:.0f} kbit/s, p95 delay {row['delay_ms_p95']:.0f} ms ({run.wall_s:.1f} s)")
