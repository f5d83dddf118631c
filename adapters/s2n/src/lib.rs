//! [s2n-quic](https://docs.rs/s2n-quic), a QUIC stack, at the ends of a path of [`airwnd`].
//!
//! s2n-quic passes its endpoint, which has no I/O and no clock, to a provider of I/O. The provider here keeps the endpoint
//! for the path, in place of a task that waits for sockets; the applications are futures, which are polled between the
//! calls of the endpoint.
//!
//! ```no_run
//! use airwnd::{Scenario, Trial};
//! use airwnd_s2n::{Control, download};
//!
//! let scenario = Scenario::read("cell.toml")?;
//! let report = Trial::new(&scenario).run(|seed| download(Control::Bbr, seed))?;
//! report.goodput_kbps().assert_at_least(5000.0);
//! # Ok::<(), airwnd::TrialError>(())
//! ```
//!
//! # Determinism
//!
//! The seed is that of s2n-quic's generators, from which also the phase of BBR's probing comes. Keys are random, but their
//! sizes are not, so the same seed gives the same packets at the same times.
#![deny(missing_docs)]

use airwnd::{Datagram, Ecn, Received, Transmit};
use bytes::Bytes;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use s2n_quic::client::Connect;
use s2n_quic::provider::event::{self, ConnectionMeta, events};
use s2n_quic::provider::limits::Limits;
use s2n_quic::provider::{congestion_controller, io, random, tls};
use s2n_quic::stream::{ReceiveStream, SendStream};
use s2n_quic::{Client, Connection, Server};
use s2n_quic_core::endpoint::Endpoint;
use s2n_quic_core::inet::{ExplicitCongestionNotification, SocketAddress, datagram};
use s2n_quic_core::io::{rx, tx};
use s2n_quic_core::path::{RemoteAddress, mtu};
use s2n_quic_core::time::clock::NoopClock;
use s2n_quic_core::time::{Clock, Timestamp};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

/// Certificate for the name `server` with the key below, valid until 2119.
const CERTIFICATE: &[u8] = include_bytes!("server.der");
/// A key for tests (Ed25519, RFC 8410 §7), whose signatures have a fixed size.
const KEY: &[u8] =
    b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20airwnd: a key for tests, public!";
/// Flow-control window, so that only the congestion control limits a transfer.
const WINDOW: u64 = 32 << 20;
/// Bytes that a sender holds beyond what was acknowledged.
const SEND_WINDOW: u32 = 8 << 20;
/// Bytes per write of the sending application.
const CHUNK: Bytes = Bytes::from_static(&[0; 64 << 10]);
/// Datagrams that an endpoint passes on in one call.
const BATCH: usize = 16;
/// Largest datagram of an endpoint in bytes.
const MAX_DATAGRAM: usize = 1500;
const UE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 5000);
const SERVER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)), 4433);

/// s2n-quic's congestion controls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// CUBIC, the default.
    Cubic,
    /// BBR, version 2.
    Bbr,
}

impl Control {
    /// All of them.
    pub const ALL: [Control; 2] = [Control::Cubic, Control::Bbr];

    /// Name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Control::Cubic => "cubic",
            Control::Bbr => "bbr",
        }
    }
}

/// Makes the endpoints of a transfer without end from the server to the UE: that at the UE, which connects, and that at
/// the server.
pub fn download(control: Control, seed: u64) -> (Quic, Quic) {
    pair(control, seed, false)
}

/// Makes the endpoints of a transfer without end from the UE to the server: that at the UE, which connects, and that at
/// the server.
pub fn upload(control: Control, seed: u64) -> (Quic, Quic) {
    pair(control, seed, true)
}

fn pair(control: Control, seed: u64, is_upload: bool) -> (Quic, Quic) {
    match control {
        Control::Cubic => with(congestion_controller::Cubic::default, seed, is_upload),
        Control::Bbr => with(congestion_controller::Bbr::default, seed, is_upload),
    }
}

fn with<C: congestion_controller::Endpoint>(make: fn() -> C, seed: u64, is_upload: bool) -> (Quic, Quic) {
    (client(make(), seed, is_upload), server(make(), seed, !is_upload))
}

fn client(control: impl congestion_controller::Endpoint, seed: u64, is_sender: bool) -> Quic {
    let (slot, counts) = (Slot::new(UE), Counts::default());
    let tls = tls::rustls::Client::builder().with_certificate(CERTIFICATE);
    let client = Client::builder().with_io(slot.clone()).and_then(|builder| {
        builder.with_tls(tls.and_then(|tls| tls.build()).expect("the certificate is valid"))
    });
    let client = client
        .and_then(|builder| builder.with_congestion_controller(control))
        .and_then(|builder| builder.with_limits(limits()))
        .and_then(|builder| builder.with_random(Seeded::new(seed, 1)))
        .and_then(|builder| builder.with_event(counts.clone()))
        .expect("providers that cannot fail");
    let client: Client = client.start().expect("the slot takes the endpoint");
    let read = counts.clone();
    let application = async move {
        let to = Connect::new(SERVER).with_server_name("server");
        let Ok(connection) = client.connect(to).await else { return };
        talk(connection, is_sender, read).await;
    };
    Quic::new(slot.take(), SERVER, Box::pin(application), counts)
}

fn server(control: impl congestion_controller::Endpoint, seed: u64, is_sender: bool) -> Quic {
    let (slot, counts) = (Slot::new(SERVER), Counts::default());
    let tls = tls::rustls::Server::builder().with_certificate(CERTIFICATE, KEY);
    let server = Server::builder().with_io(slot.clone()).and_then(|builder| {
        builder.with_tls(tls.and_then(|tls| tls.build()).expect("the certificate is valid"))
    });
    let server = server
        .and_then(|builder| builder.with_congestion_controller(control))
        .and_then(|builder| builder.with_limits(limits()))
        .and_then(|builder| builder.with_random(Seeded::new(seed, 2)))
        .and_then(|builder| builder.with_event(counts.clone()))
        .expect("providers that cannot fail");
    let mut server: Server = server.start().expect("the slot takes the endpoint");
    let read = counts.clone();
    let application = async move {
        if let Some(connection) = server.accept().await {
            talk(connection, is_sender, read).await;
        }
    };
    Quic::new(slot.take(), UE, Box::pin(application), counts)
}

fn limits() -> Limits {
    Limits::new()
        .with_data_window(WINDOW)
        .and_then(|limits| limits.with_unidirectional_data_window(WINDOW))
        .and_then(|limits| limits.with_max_send_buffer_size(SEND_WINDOW))
        .expect("limits within their ranges")
}

/// The application of an end: writes or reads a stream without end.
async fn talk(mut connection: Connection, is_sender: bool, counts: Counts) {
    if is_sender {
        if let Ok(stream) = connection.open_send_stream().await {
            write(stream).await;
        }
    } else if let Ok(Some(stream)) = connection.accept_receive_stream().await {
        read(stream, counts).await;
    }
}

async fn write(mut stream: SendStream) {
    while stream.send(CHUNK).await.is_ok() {}
}

async fn read(mut stream: ReceiveStream, counts: Counts) {
    while let Ok(Some(chunk)) = stream.receive().await {
        counts.received.fetch_add(chunk.len() as u64, Ordering::Relaxed);
    }
}

/// Figures of a connection.
#[derive(Clone, Debug, Default)]
struct Counts {
    received: Arc<AtomicU64>,
    lost: Arc<AtomicU64>,
}

impl event::Subscriber for Counts {
    type ConnectionContext = ();

    fn create_connection_context(&mut self, _: &ConnectionMeta, _: &event::ConnectionInfo) {}

    fn on_packet_lost(&mut self, (): &mut (), _: &ConnectionMeta, event: &events::PacketLost) {
        // A probe of the path's MTU carries no data.
        if !event.is_mtu_probe {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Random numbers from a seed.
struct Seeded(ChaCha8Rng);

impl Seeded {
    fn new(seed: u64, side: u8) -> Seeded {
        let mut bytes = [side; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        Seeded(ChaCha8Rng::from_seed(bytes))
    }
}

impl random::Generator for Seeded {
    fn public_random_fill(&mut self, dest: &mut [u8]) {
        self.0.fill_bytes(dest);
    }

    fn private_random_fill(&mut self, dest: &mut [u8]) {
        self.0.fill_bytes(dest);
    }
}

impl random::Provider for Seeded {
    type Generator = Seeded;
    type Error = Infallible;

    fn start(self) -> Result<Seeded, Infallible> {
        Ok(self)
    }
}

/// The endpoint of s2n-quic, whose type depends on its providers.
trait Driven: Send {
    fn receive(&mut self, arrived: Arrived, now: Timestamp);
    fn transmit(&mut self, out: &mut Out, now: Timestamp);
    fn wake(&mut self, context: &mut Context<'_>, now: Timestamp);
    fn timeout(&self) -> Option<Timestamp>;
}

impl<E: Endpoint<PathHandle = RemoteAddress>> Driven for E {
    fn receive(&mut self, mut arrived: Arrived, now: Timestamp) {
        Endpoint::receive(self, &mut arrived, &now);
    }

    fn transmit(&mut self, out: &mut Out, now: Timestamp) {
        Endpoint::transmit(self, out, &now);
    }

    fn wake(&mut self, context: &mut Context<'_>, now: Timestamp) {
        // Ready: the application has had news for connections. An end that has closed sends nothing more.
        let _ = self.poll_wakeups(context, &now);
    }

    fn timeout(&self) -> Option<Timestamp> {
        Endpoint::timeout(self)
    }
}

/// A provider of I/O that keeps the endpoint.
#[derive(Clone)]
struct Slot {
    endpoint: Arc<Mutex<Option<Box<dyn Driven>>>>,
    address: SocketAddr,
}

impl Slot {
    fn new(address: SocketAddr) -> Slot {
        Slot { endpoint: Arc::default(), address }
    }

    fn take(&self) -> Box<dyn Driven> {
        let mut endpoint = self.endpoint.lock().expect("no call panics while it holds the lock");
        endpoint.take().expect("an endpoint was started")
    }
}

impl io::Provider for Slot {
    type PathHandle = RemoteAddress;
    type Error = Infallible;

    fn start<E: Endpoint<PathHandle = RemoteAddress>>(
        self,
        mut endpoint: E,
    ) -> Result<SocketAddress, Infallible> {
        endpoint.set_mtu_config(mtu::Config::default());
        *self.endpoint.lock().expect("no call panics while it holds the lock") = Some(Box::new(endpoint));
        Ok(self.address.into())
    }
}

/// A datagram for an endpoint.
struct Arrived {
    header: datagram::Header<RemoteAddress>,
    payload: Option<Vec<u8>>,
}

impl rx::Queue for Arrived {
    type Handle = RemoteAddress;

    fn for_each<F: FnMut(datagram::Header<RemoteAddress>, &mut [u8])>(&mut self, mut on_packet: F) {
        if let Some(mut payload) = self.payload.take() {
            on_packet(self.header, &mut payload);
        }
    }

    fn is_empty(&self) -> bool {
        self.payload.is_none()
    }
}

/// Datagrams of an endpoint.
#[derive(Default)]
struct Out(VecDeque<Transmit>);

impl tx::Queue for Out {
    type Handle = RemoteAddress;

    const SUPPORTS_ECN: bool = true;

    fn push<M: tx::Message<Handle = RemoteAddress>>(
        &mut self,
        mut message: M,
    ) -> Result<tx::Outcome, tx::Error> {
        if !self.has_capacity() {
            return Err(tx::Error::AtCapacity);
        }
        let mut buffer = [0; MAX_DATAGRAM];
        let len = message.write_payload(tx::PayloadBuffer::new(&mut buffer), 0)?;
        let ecn = match message.ecn() {
            ExplicitCongestionNotification::NotEct => Ecn::NotEct,
            ExplicitCongestionNotification::Ect0 => Ecn::Ect0,
            ExplicitCongestionNotification::Ect1 => Ecn::Ect1,
            ExplicitCongestionNotification::Ce => Ecn::Ce,
        };
        let index = self.0.len();
        self.0.push_back(Transmit { datagram: Datagram::from(&buffer[..len]), ecn });
        Ok(tx::Outcome { len, index })
    }

    fn capacity(&self) -> usize {
        BATCH - self.0.len()
    }
}

/// Whether a future or an endpoint has news.
#[derive(Default)]
struct News(AtomicBool);

impl News {
    fn is_new(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}

impl Wake for News {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// An endpoint of s2n-quic with one connection and its application.
pub struct Quic {
    endpoint: Box<dyn Driven>,
    peer: RemoteAddress,
    application: Pin<Box<dyn Future<Output = ()>>>,
    counts: Counts,
    /// News for the application.
    application_news: Arc<News>,
    /// News of the application for the endpoint.
    endpoint_news: Arc<News>,
    out: Out,
    /// Whether the endpoint may have something to send.
    is_due: bool,
    is_over: bool,
}

impl Quic {
    fn new(
        endpoint: Box<dyn Driven>,
        peer: SocketAddr,
        application: Pin<Box<dyn Future<Output = ()>>>,
        counts: Counts,
    ) -> Quic {
        let news = || Arc::new(News(AtomicBool::new(true)));
        Quic {
            endpoint,
            peer: RemoteAddress::from(SocketAddress::from(peer)),
            application,
            counts,
            application_news: news(),
            endpoint_news: news(),
            out: Out::default(),
            is_due: true,
            is_over: false,
        }
    }

    /// Lets application and endpoint act until neither has news for the other.
    fn settle(&mut self, now: Timestamp) {
        loop {
            if !self.is_over && self.application_news.is_new() {
                let waker = Waker::from(Arc::clone(&self.application_news));
                self.is_over = self.application.as_mut().poll(&mut Context::from_waker(&waker)).is_ready();
            } else if self.endpoint_news.is_new() {
                let waker = Waker::from(Arc::clone(&self.endpoint_news));
                self.endpoint.wake(&mut Context::from_waker(&waker), now);
                self.is_due = true;
            } else {
                return;
            }
        }
    }
}

/// Time of s2n-quic, whose timestamps are not zero.
fn at(now: Duration) -> Timestamp {
    NoopClock.get_time() + now
}

impl airwnd::Endpoint for Quic {
    fn poll_transmit(&mut self, now: Duration) -> Option<Transmit> {
        let now = at(now);
        while self.out.0.is_empty() {
            self.settle(now);
            if !self.is_due {
                return None;
            }
            self.endpoint.transmit(&mut self.out, now);
            self.is_due = !self.out.0.is_empty();
        }
        self.out.0.pop_front()
    }

    fn handle(&mut self, now: Duration, received: Received) {
        let ecn = match received.ecn {
            Ecn::NotEct => ExplicitCongestionNotification::NotEct,
            Ecn::Ect0 => ExplicitCongestionNotification::Ect0,
            Ecn::Ect1 => ExplicitCongestionNotification::Ect1,
            Ecn::Ce => ExplicitCongestionNotification::Ce,
        };
        let header = datagram::Header { path: self.peer, ecn };
        let payload = Some(received.datagram.bytes().to_vec());
        self.endpoint.receive(Arrived { header, payload }, at(now));
        self.is_due = true;
    }

    fn timeout(&mut self, _: Duration) -> Option<Duration> {
        let timeout = self.endpoint.timeout()?;
        Some(timeout.saturating_duration_since(at(Duration::ZERO)))
    }

    fn handle_timeout(&mut self, _: Duration) {
        self.is_due = true;
    }

    fn received(&self) -> u64 {
        self.counts.received.load(Ordering::Relaxed)
    }

    /// Packets declared lost: s2n-quic repeats their frames in new packets.
    fn retransmissions(&self) -> u64 {
        self.counts.lost.load(Ordering::Relaxed)
    }
}
