"""A QUIC download by aioquic over a simulated cell, in virtual time: `python download.py reno 1 2 3`.

`python download.py --qlog reno 1` also writes `reno-1.qlog`, with the events of both ends and of the network.
"""

import datetime as dt
import ssl
import sys

from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import HandshakeCompleted, StreamDataReceived
from aioquic.quic.logger import QuicLogger, QuicLoggerTrace
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

import airwnd

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
    begin = dt.datetime(2026, 1, 1)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(begin).not_valid_after(begin.replace(year=2126))
    return builder.sign(key, hashes.SHA256()), key


class Trace(QuicLoggerTrace):
    """Events of a connection until the path takes them, which has their time."""

    def __init__(self, events, is_client, odcid):
        super().__init__(is_client=is_client, odcid=odcid)
        self.waiting = events

    def log_event(self, *, category, event, data):
        self.waiting.append({"name": f"{category}:{event}", "data": data})


class Logger(QuicLogger):
    """Logger of the connection at an end."""

    def __init__(self, events):
        super().__init__()
        self.events = events

    def start_trace(self, is_client, odcid):
        return Trace(self.events, is_client, odcid)

    def end_trace(self, trace):
        """Keep the events, which the path takes later."""


class Quic(airwnd.Endpoint):
    """An end of a QUIC connection."""

    def __init__(self, configuration, *, log):
        self.events = []
        self.configuration = configuration
        self.configuration.quic_logger = Logger(self.events) if log else None
        self.connection = None

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

    def qlog(self):
        taken = self.events[:]
        self.events.clear()
        return taken

    def handle(self, event):
        """Let the application react to an event of the connection."""


class Client(Quic):
    """Ask for a file once the handshake is complete."""

    def __init__(self, algorithm, *, log=False):
        configuration = QuicConfiguration(
            congestion_control_algorithm=algorithm,
            verify_mode=ssl.CERT_NONE,
            max_data=WHOLE,
            max_stream_data=WHOLE,
        )
        super().__init__(configuration, log=log)
        self.connection = QuicConnection(configuration=configuration)
        self.connection.connect(SERVER, now=0.0)

    def handle(self, event):
        if isinstance(event, HandshakeCompleted):
            self.connection.send_stream_data(0, b"file", end_stream=True)
        elif isinstance(event, StreamDataReceived):
            self.received_bytes += len(event.data)


class Server(Quic):
    """Answer with an endless file."""

    def __init__(self, algorithm, *, log=False):
        chain, key = certificate()
        configuration = QuicConfiguration(
            is_client=False, congestion_control_algorithm=algorithm, certificate=chain, private_key=key
        )
        super().__init__(configuration, log=log)

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


def connect(seed, cc="reno"):
    """Return the endpoint of the phone and that of the server, for `airwnd stack download.py:connect`."""
    return Client(cc), Server(cc)


def download(algorithm, seed, *, log=False, until_s=10):
    """Return the results of a download of ten seconds."""
    qlog = f"{algorithm}-{seed}.qlog" if log else None
    path = airwnd.Path(airwnd.Scenario.from_dict(CELL), seed, series="10ms" if log else None, qlog=qlog)
    path.run(Client(algorithm, log=log), Server(algorithm, log=log), until_s, ue="phone")
    return path.finish()


if __name__ == "__main__":
    log = "--qlog" in sys.argv
    algorithm, *seeds = [word for word in sys.argv[1:] if word != "--qlog"] or ("reno", "1")
    for seed in map(int, seeds):
        run = download(algorithm, seed, log=log)
        row = run.flows.filter(run.flows["kind"] == "udp").row(0, named=True)
        goodput, delay = row["goodput_kbps"], row["delay_ms_p95"]
        print(f"seed {seed}: {goodput:.0f} kbit/s, p95 delay {delay:.0f} ms ({run.wall_s:.1f} s)")
