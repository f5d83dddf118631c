//! [quinn-proto](https://docs.rs/quinn-proto), a QUIC stack without I/O, at the ends of a path of [`airwnd`].
//!
//! [`download`] and [`upload`] make the two endpoints of a transfer. Their transport configuration is the caller's, and
//! another congestion control can take the place of quinn's:
//!
//! ```no_run
//! use airwnd::{Scenario, Trial};
//! use airwnd_quinn::{Control, download};
//!
//! let scenario = Scenario::read("cell.toml")?;
//! let report = Trial::new(&scenario).run(|seed| download(Control::Cubic.transport(), seed))?;
//! report.goodput_kbps().assert_at_least(5000.0);
//! report.queueing_delay_ms_p95().assert_at_most(300.0);
//! # Ok::<(), airwnd::TrialError>(())
//! ```
//!
//! # Determinism
//!
//! The seed is that of the endpoints' random generators; the certificate has a fixed size, and its validity is checked at
//! a fixed time. Keys and connection ids are random, but their sizes are not, so the same seed gives the same packets at
//! the same times. The exception is quinn's BBR: it draws the phase of its gain cycle from the operating system's
//! generator, so its runs differ. `tests/quinn.rs` measures both.
//!
//! quinn reads no clock; its times are instants after an arbitrary one, the creation of the endpoint.
#![deny(missing_docs)]

#[cfg(feature = "qlog")]
mod qlog;

use airwnd::{Datagram, Ecn, Endpoint, Received, Transmit};
use bytes::{Bytes, BytesMut};
use quinn_proto::congestion::{BbrConfig, CubicConfig, NewRenoConfig};
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::{
    ClientConfig, Connection, ConnectionEvent, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint,
    EndpointConfig, Event, ServerConfig, StreamEvent, StreamId, TransportConfig, VarInt,
};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, UnixTime};
use rustls::time_provider::TimeProvider;
use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Certificate for the name `server` with the key below, valid until 2119.
const CERTIFICATE: &[u8] = include_bytes!("server.der");
/// A key for tests (Ed25519, RFC 8410 §7), whose signatures have a fixed size.
const KEY: &[u8] =
    b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20airwnd: a key for tests, public!";
/// Time of TLS: 2026-01-01.
const TLS_TIME: Duration = Duration::from_secs(1_767_225_600);
/// Flow-control window, so that only the congestion control limits a transfer.
const WINDOW: u32 = 32 << 20;
/// Bytes that a sender holds beyond what was acknowledged.
const SEND_WINDOW: u64 = 8 << 20;
/// Bytes per write of the sending application.
const CHUNK: Bytes = Bytes::from_static(&[0; 64 << 10]);
const UE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 5000);
const SERVER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)), 4433);

/// quinn's congestion controls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// CUBIC, the default.
    Cubic,
    /// NewReno.
    NewReno,
    /// BBR, version 1.
    Bbr,
}

impl Control {
    /// All of them.
    pub const ALL: [Control; 3] = [Control::Cubic, Control::NewReno, Control::Bbr];

    /// Name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Control::Cubic => "cubic",
            Control::NewReno => "newreno",
            Control::Bbr => "bbr",
        }
    }

    /// quinn's defaults with this congestion control, and with flow-control windows that do not limit a transfer.
    pub fn transport(self) -> TransportConfig {
        let mut transport = TransportConfig::default();
        match self {
            Control::Cubic => transport.congestion_controller_factory(Arc::new(CubicConfig::default())),
            Control::NewReno => transport.congestion_controller_factory(Arc::new(NewRenoConfig::default())),
            Control::Bbr => transport.congestion_controller_factory(Arc::new(BbrConfig::default())),
        };
        let window = VarInt::from_u32(WINDOW);
        transport.stream_receive_window(window).receive_window(window).send_window(SEND_WINDOW);
        transport
    }
}

/// Makes the endpoints of a transfer without end from the server to the UE: that at the UE, which connects, and that at
/// the server.
pub fn download(transport: TransportConfig, seed: u64) -> (Quic, Quic) {
    pair(transport, seed, false)
}

/// Makes the endpoints of a transfer without end from the UE to the server: that at the UE, which connects, and that at
/// the server.
pub fn upload(transport: TransportConfig, seed: u64) -> (Quic, Quic) {
    pair(transport, seed, true)
}

fn pair(transport: TransportConfig, seed: u64, is_upload: bool) -> (Quic, Quic) {
    let transport = Arc::new(transport);
    connect([&transport, &transport], seed, is_upload)
}

/// Makes the endpoints of a transfer as [`download`] and [`upload`] do, which keep a qlog: [`Quic::take_qlog`] returns
/// its events. Each has a configuration of its own.
#[cfg(feature = "qlog")]
pub fn logged(transport: impl Fn() -> TransportConfig, seed: u64, is_upload: bool) -> (Quic, Quic) {
    let with_log = || {
        let log = qlog::Log::default();
        let mut transport = transport();
        transport.qlog_stream(log.stream());
        (Arc::new(transport), log)
    };
    let ((ue_transport, ue_log), (server_transport, server_log)) = (with_log(), with_log());
    let (mut ue, mut server) = connect([&ue_transport, &server_transport], seed, is_upload);
    (ue.log, server.log) = (Some(ue_log), Some(server_log));
    (ue, server)
}

fn connect(
    [ue_transport, server_transport]: [&Arc<TransportConfig>; 2],
    seed: u64,
    is_upload: bool,
) -> (Quic, Quic) {
    let start = Instant::now();
    let seed_of = |side: u8| {
        let mut bytes = [side; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        bytes
    };
    let endpoint = |server: Option<ServerConfig>, side| {
        let config = Arc::new(EndpointConfig::default());
        quinn_proto::Endpoint::new(config, server.map(Arc::new), false, Some(seed_of(side)))
    };
    let mut ue = Quic::new(start, endpoint(None, 1), SERVER, is_upload);
    let server = Quic::new(start, endpoint(Some(server_config(server_transport)), 2), UE, !is_upload);
    let connected = ue.endpoint.connect(start, client_config(ue_transport), SERVER, "server");
    ue.connection = Some(connected.expect("the address and the name are valid"));
    (ue, server)
}

fn client_config(transport: &Arc<TransportConfig>) -> ClientConfig {
    #[derive(Debug)]
    struct FixedTime;
    impl TimeProvider for FixedTime {
        fn current_time(&self) -> Option<UnixTime> {
            Some(UnixTime::since_unix_epoch(TLS_TIME))
        }
    }
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_slice(CERTIFICATE)).expect("the certificate is valid");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_details(provider, Arc::new(FixedTime))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("ring has TLS 1.3")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let mut config =
        ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls).expect("ring has QUIC's ciphers")));
    config.transport_config(Arc::clone(transport));
    config
}

fn server_config(transport: &Arc<TransportConfig>) -> ServerConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("ring has TLS 1.3")
        .with_no_client_auth()
        .with_single_cert(vec![CertificateDer::from_slice(CERTIFICATE)], PrivatePkcs8KeyDer::from(KEY).into())
        .expect("the key is that of the certificate");
    let mut config = ServerConfig::with_crypto(Arc::new(
        QuicServerConfig::try_from(tls).expect("ring has QUIC's ciphers"),
    ));
    config.transport_config(Arc::clone(transport));
    config
}

/// A QUIC endpoint with one connection and an application that sends on one stream without end, or reads.
pub struct Quic {
    /// Time 0 of the path.
    start: Instant,
    endpoint: quinn_proto::Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    peer: SocketAddr,
    sends: bool,
    stream: Option<StreamId>,
    received: u64,
    buffer: Vec<u8>,
    /// Packets that the endpoint sends without its connection, such as a retry.
    responses: VecDeque<Vec<u8>>,
    #[cfg(feature = "qlog")]
    log: Option<qlog::Log>,
}

impl Quic {
    fn new(start: Instant, endpoint: quinn_proto::Endpoint, peer: SocketAddr, sends: bool) -> Quic {
        let (buffer, responses) = (Vec::new(), VecDeque::new());
        Quic {
            start,
            endpoint,
            connection: None,
            peer,
            sends,
            stream: None,
            received: 0,
            buffer,
            responses,
            #[cfg(feature = "qlog")]
            log: None,
        }
    }

    /// The connection; `None` at the server before the first packet.
    pub fn connection(&self) -> Option<&Connection> {
        self.connection.as_ref().map(|(_, connection)| connection)
    }

    /// Takes the events since the last call, each a JSON object; none unless the endpoint was made by [`logged`].
    ///
    /// The field `time` of an event is that of the machine, not of the path: an owner logs them at its present.
    #[cfg(feature = "qlog")]
    pub fn take_qlog(&mut self) -> Vec<String> {
        self.log.as_ref().map_or(Vec::new(), qlog::Log::take)
    }

    fn at(&self, now: Duration) -> Instant {
        self.start + now
    }

    /// Passes events between endpoint, connection and application until there are no more.
    fn settle(&mut self) {
        let Some((handle, connection)) = &mut self.connection else { return };
        loop {
            if let Some(event) = connection.poll_endpoint_events() {
                if let Some(event) = self.endpoint.handle_event(*handle, event) {
                    connection.handle_event(event);
                }
            } else if let Some(event) = connection.poll() {
                match event {
                    Event::Connected if self.sends => self.stream = connection.streams().open(Dir::Uni),
                    Event::Stream(StreamEvent::Opened { dir }) => {
                        while let Some(stream) = connection.streams().accept(dir) {
                            self.received += read(connection, stream);
                        }
                    }
                    Event::Stream(StreamEvent::Readable { id }) => self.received += read(connection, id),
                    _ => {}
                }
            } else {
                break;
            }
        }
        if let Some(stream) = self.stream {
            let mut stream = connection.send_stream(stream);
            while stream.write_chunks(&mut [CHUNK]).is_ok_and(|written| written.bytes > 0) {}
        }
    }

    fn accept(&mut self, now: Instant, incoming: quinn_proto::Incoming) {
        let mut buffer = Vec::new();
        match self.endpoint.accept(incoming, now, &mut buffer, None) {
            Ok(accepted) => self.connection = Some(accepted),
            Err(error) => self.respond(buffer, error.response),
        }
    }

    fn respond(&mut self, buffer: Vec<u8>, transmit: Option<quinn_proto::Transmit>) {
        if let Some(transmit) = transmit {
            self.responses.push_back(buffer[..transmit.size].to_vec());
        }
    }

    fn pass(&mut self, event: ConnectionEvent) {
        if let Some((_, connection)) = &mut self.connection {
            connection.handle_event(event);
        }
    }
}

/// Reads all that has arrived on a stream, and returns the number of bytes.
fn read(connection: &mut Connection, stream: StreamId) -> u64 {
    let mut received = 0;
    if let Ok(mut chunks) = connection.recv_stream(stream).read(true) {
        while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
            received += chunk.bytes.len() as u64;
        }
        // The application never waits for more than what this event announced.
        let _ = chunks.finalize();
    }
    received
}

impl Endpoint for Quic {
    fn poll_transmit(&mut self, now: Duration) -> Option<Transmit> {
        if let Some(response) = self.responses.pop_front() {
            return Some(Transmit { datagram: response.into(), ecn: Ecn::NotEct });
        }
        self.settle();
        let now = self.at(now);
        let (_, connection) = self.connection.as_mut()?;
        self.buffer.clear();
        let transmit = connection.poll_transmit(now, 1, &mut self.buffer)?;
        let ecn = match transmit.ecn {
            Some(EcnCodepoint::Ect0) => Ecn::Ect0,
            Some(EcnCodepoint::Ect1) => Ecn::Ect1,
            Some(EcnCodepoint::Ce) => Ecn::Ce,
            None => Ecn::NotEct,
        };
        Some(Transmit { datagram: Datagram::from(&self.buffer[..transmit.size]), ecn })
    }

    fn handle(&mut self, now: Duration, received: Received) {
        let now = self.at(now);
        let ecn = match received.ecn {
            Ecn::NotEct => None,
            Ecn::Ect0 => Some(EcnCodepoint::Ect0),
            Ecn::Ect1 => Some(EcnCodepoint::Ect1),
            Ecn::Ce => Some(EcnCodepoint::Ce),
        };
        let bytes = BytesMut::from(received.datagram.bytes());
        let mut buffer = Vec::new();
        match self.endpoint.handle(now, self.peer, None, ecn, bytes, &mut buffer) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => self.pass(event),
            Some(DatagramEvent::NewConnection(incoming)) => self.accept(now, incoming),
            Some(DatagramEvent::Response(transmit)) => self.respond(buffer, Some(transmit)),
            None => {}
        }
    }

    fn timeout(&mut self, _: Duration) -> Option<Duration> {
        let (_, connection) = self.connection.as_mut()?;
        let timeout = connection.poll_timeout()?;
        Some(timeout.saturating_duration_since(self.start))
    }

    fn handle_timeout(&mut self, now: Duration) {
        let now = self.at(now);
        if let Some((_, connection)) = &mut self.connection {
            connection.handle_timeout(now);
        }
    }

    fn received(&self) -> u64 {
        self.received
    }

    /// Packets declared lost: quinn repeats their frames in new packets.
    fn retransmissions(&self) -> u64 {
        self.connection().map_or(0, |connection| connection.stats().path.lost_packets)
    }
}
