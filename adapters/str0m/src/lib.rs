//! [str0m](https://docs.rs/str0m), a WebRTC stack without I/O, at the ends of a path of [`airwnd`].
//!
//! The server sends a video whose rate follows str0m's bandwidth estimate (Google's congestion control, with
//! transport-wide feedback): 30 frames per second, each as large as the estimate allows, up to a maximum rate.
//!
//! ```no_run
//! use airwnd::{Scenario, Trial};
//!
//! let scenario = Scenario::read("cell.toml")?;
//! let report = Trial::new(&scenario).run(|seed| airwnd_str0m::video(5000, seed))?;
//! report.goodput_kbps().assert_at_least(2000.0);
//! report.queueing_delay_ms_p95().assert_at_most(100.0);
//! # Ok::<(), airwnd::TrialError>(())
//! ```
//!
//! # Determinism
//!
//! The seed is that of str0m's generator, which is one per thread. DTLS draws from the operating system's generator, and
//! its signatures vary by a few bytes, so results with the same seed are close but not equal; `tests/str0m.rs` bounds the
//! difference.
//!
//! str0m reads no clock; its times are instants after an arbitrary one, the creation of the endpoint.
#![deny(missing_docs)]

use airwnd::{Ecn, Endpoint, Received, Transmit};
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};
use str0m::bwe::{Bitrate, BweKind};
use str0m::format::Codec;
use str0m::media::{Direction, MediaKind, Mid};
use str0m::net::{Protocol, Receive};
use str0m::{Candidate, Event, Input, Output, Rtc};

/// Time between two frames: 30 per second.
const FRAME: Duration = Duration::from_nanos(33_333_333);
/// Estimate before the first feedback.
const INITIAL: Bitrate = Bitrate::kbps(300);
/// Part of the estimate that the video uses; the rest is for headers and repeated packets.
const SHARE: f64 = 0.9;
/// Smallest frame in bytes.
const MIN_FRAME: usize = 200;
const UE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 5000);
const SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)), 5000);

/// Makes the endpoints of a video from the server to the UE of at most `max_kbps`: that at the UE, and that at the
/// server. Offer, answer and candidates have been exchanged; ICE and DTLS use the path.
pub fn video(max_kbps: u64, seed: u64) -> (Peer, Peer) {
    fastrand::seed(seed);
    let start = Instant::now();
    let build = |is_sender: bool| {
        let config = Rtc::builder()
            .set_crypto_provider(Arc::new(str0m_rust_crypto::default_provider()))
            .clear_codecs()
            .enable_vp8(true);
        let config = if is_sender { config.enable_bwe(Some(INITIAL)) } else { config };
        config.build(start)
    };
    let (mut server, mut ue) = (build(true), build(false));
    for (rtc, local, remote) in [(&mut server, SERVER, UE), (&mut ue, UE, SERVER)] {
        let candidate = |address| Candidate::host(address, "udp").expect("an address of a host");
        rtc.add_local_candidate(candidate(local));
        rtc.add_remote_candidate(candidate(remote));
    }
    let mut change = server.sdp_api();
    let mid = change.add_media(MediaKind::Video, Direction::SendOnly, None, None, None);
    let (offer, pending) = change.apply().expect("media was added");
    let answer = ue.sdp_api().accept_offer(offer).expect("both have the same codecs");
    server.sdp_api().accept_answer(pending, answer).expect("it answers this offer");
    server.bwe().set_desired_bitrate(Bitrate::kbps(max_kbps));
    let video = Video { mid, max: Bitrate::kbps(max_kbps).as_f64(), rate: INITIAL.as_f64(), next: None };
    (Peer::new(start, ue, [UE, SERVER], None), Peer::new(start, server, [SERVER, UE], Some(video)))
}

/// A video that follows the estimate.
struct Video {
    mid: Mid,
    max: f64,
    /// Estimate in bit/s.
    rate: f64,
    /// Time of the next frame; `None` before the connection.
    next: Option<Duration>,
}

/// A WebRTC endpoint that sends a video or receives it.
pub struct Peer {
    start: Instant,
    rtc: Rtc,
    /// Own address and that of the peer.
    addresses: [SocketAddr; 2],
    video: Option<Video>,
    outgoing: VecDeque<Vec<u8>>,
    timer: Option<Duration>,
    received: u64,
    frames: u64,
}

impl Peer {
    fn new(start: Instant, rtc: Rtc, addresses: [SocketAddr; 2], video: Option<Video>) -> Peer {
        let outgoing = VecDeque::new();
        let mut peer = Peer { start, rtc, addresses, video, outgoing, timer: None, received: 0, frames: 0 };
        peer.drain(Duration::ZERO);
        peer
    }

    /// Complete frames received.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Latest bandwidth estimate of the sender in kbit/s; `None` at the receiver.
    pub fn estimate_kbps(&self) -> Option<f64> {
        self.video.as_ref().map(|video| video.rate / 1e3)
    }

    /// Takes all output, as each change of the state requires.
    fn drain(&mut self, now: Duration) {
        loop {
            match self.rtc.poll_output() {
                Ok(Output::Transmit(transmit)) => self.outgoing.push_back(transmit.contents.to_vec()),
                Ok(Output::Event(event)) => self.note(now, event),
                Ok(Output::Timeout(at)) => {
                    // The engine's timer may be an instant years ahead.
                    self.timer = Some(at.saturating_duration_since(self.start));
                    break;
                }
                Err(_) => {
                    self.timer = None;
                    break;
                }
            }
        }
    }

    fn note(&mut self, now: Duration, event: Event) {
        match event {
            Event::MediaData(data) => {
                self.received += data.data.len() as u64;
                self.frames += 1;
            }
            Event::EgressBitrateEstimate(BweKind::Twcc { estimate, .. }) => {
                if let Some(video) = &mut self.video {
                    video.rate = estimate.as_f64();
                }
            }
            Event::Connected => {
                if let Some(video) = &mut self.video {
                    video.next = Some(now);
                }
            }
            _ => {}
        }
    }

    fn input(&mut self, now: Duration, input: Input<'_>) {
        // An endpoint that has failed sends nothing more, as `drain` finds out.
        let _ = self.rtc.handle_input(input);
        self.drain(now);
    }

    /// Sends a frame if it is due.
    fn film(&mut self, now: Duration) {
        let Some(video) = &mut self.video else { return };
        if video.next.is_none_or(|next| next > now) {
            return;
        }
        video.next = video.next.map(|next| next + FRAME);
        let rate = SHARE * video.rate.min(video.max);
        let size = ((rate * FRAME.as_secs_f64() / 8.0) as usize).max(MIN_FRAME);
        let Some(writer) = self.rtc.writer(video.mid) else { return };
        let payload = writer.payload_params().find(|params| params.spec().codec == Codec::Vp8);
        let Some(payload) = payload.map(|params| params.pt()) else { return };
        // The content does not matter.
        let _ = writer.write(payload, self.start + now, now.into(), vec![0; size]);
        self.drain(now);
    }
}

impl Endpoint for Peer {
    fn poll_transmit(&mut self, _: Duration) -> Option<Transmit> {
        let packet = self.outgoing.pop_front()?;
        Some(Transmit { datagram: packet.into(), ecn: Ecn::NotEct })
    }

    fn handle(&mut self, now: Duration, received: Received) {
        let [own, peer] = self.addresses;
        let at = self.start + now;
        let bytes = received.datagram.into_bytes();
        if let Ok(packet) = Receive::new(Protocol::Udp, peer, own, &bytes) {
            self.input(now, Input::Receive(at, packet));
        }
    }

    fn timeout(&mut self, _: Duration) -> Option<Duration> {
        let frame = self.video.as_ref().and_then(|video| video.next);
        [self.timer, frame].into_iter().flatten().min()
    }

    fn handle_timeout(&mut self, now: Duration) {
        self.input(now, Input::Timeout(self.start + now));
        self.film(now);
    }

    fn received(&self) -> u64 {
        self.received
    }
}
