//! An endpoint and a scripted peer: time, segment in, segments out.

use airwnd_tcp::segment::{Codepoint, Flags, SackBlock, SackBlocks, Timestamps};
use airwnd_tcp::{Config, Endpoint, EndpointSetup, Segment, Seq, State, cc, rwnd};
use airwnd_units::{Bytes, Span, Time};
use std::num::NonZeroU16;
use std::sync::Arc;

pub const ISS: Seq = Seq(0);
/// The peer's initial sequence number.
pub const IRS: Seq = Seq(5000);

/// A scripted connection. Sequence numbers in a script count from the first byte of data.
pub struct Script {
    pub end: Endpoint,
    pub now: Time,
    iss: Seq,
    irs: Seq,
    peer_acked: u32,
    timestamps: bool,
    window: u16,
}

impl Script {
    pub fn new(config: &Config) -> Script {
        Script::with(config, super::newreno(), super::plain_window(), ISS, IRS)
    }

    pub fn with(config: &Config, cc: cc::Spec, rwnd: rwnd::Spec, iss: Seq, irs: Seq) -> Script {
        let setup = EndpointSetup {
            config: &Arc::new(config.clone()),
            cc: &cc,
            rwnd: &rwnd,
            peer_rwnd: &rwnd,
            iss,
            seed: 1,
            identity: Default::default(),
        };
        let timestamps = config.timestamps;
        Script {
            end: Endpoint::new(&setup),
            now: Time::ZERO,
            iss,
            irs,
            peer_acked: 0,
            timestamps,
            window: 60_000,
        }
    }

    /// Advances time, firing the timers due.
    pub fn at(&mut self, ms: u64) -> &mut Script {
        self.at_time(Time(ms * 1_000_000))
    }

    pub fn at_time(&mut self, then: Time) -> &mut Script {
        assert!(then >= self.now, "time in a script never runs backwards");
        while let Some(at) = self.end.next_timeout().filter(|at| *at <= then) {
            self.now = at.max(self.now);
            self.end.on_timeout(self.now);
            if self.end.next_timeout() == Some(at) {
                break;
            }
        }
        self.now = then;
        self
    }

    pub fn blank(&self) -> Segment {
        let ticks = (self.now.0 / 1_000_000) as u32;
        Segment {
            sent_at: self.now,
            seq: self.irs + 1,
            ack: self.iss + 1 + self.peer_acked,
            timestamps: self
                .timestamps
                .then_some(Timestamps { val: ticks + 1_000_000, ecr: ticks.saturating_sub(50) }),
            sack: SackBlocks::default(),
            len: 0,
            window: self.window,
            mss: None,
            window_scale: None,
            code: None,
            flags: Flags::ACK,
            ecn: Codepoint::NotEct,
            sack_permitted: false,
            retransmission: false,
        }
    }

    pub fn inject(&mut self, segment: Segment) -> &mut Script {
        self.end.on_segment(self.now, &segment);
        self
    }

    /// Opens actively to a peer that accepts all options; windows are not scaled unless `window_scale` is given.
    pub fn connect(&mut self, window_scale: Option<u8>) -> &mut Script {
        self.connect_with(window_scale, Flags::default(), Flags::default())
    }

    /// Opens actively. `request` are additional bits of the SYN, `reply` those of the SYN/ACK.
    pub fn connect_with(&mut self, window_scale: Option<u8>, request: Flags, reply: Flags) -> &mut Script {
        self.end.connect();
        let syn = self.sent();
        assert!(syn.len() == 1 && syn[0].flags == Flags::SYN | request, "{syn:?}");
        self.at(50);
        let answer = Segment {
            seq: self.irs,
            ack: self.iss + 1,
            flags: Flags::SYN | Flags::ACK | reply,
            mss: NonZeroU16::new(1000),
            sack_permitted: true,
            window_scale,
            ..self.blank()
        };
        self.inject(answer);
        assert_eq!(self.end.state(), State::Established);
        self
    }

    /// Injects an ACK of `acked` bytes with SACK blocks.
    pub fn ack_sack(&mut self, acked: u32, blocks: &[(u32, u32)]) -> &mut Script {
        self.peer_acked = acked;
        let mut sack = SackBlocks::default();
        for (place, (start, end)) in sack.iter_mut().zip(blocks) {
            *place = SackBlock { start: self.iss + 1 + *start, end: self.iss + 1 + *end };
        }
        self.inject(Segment { sack, ..self.blank() })
    }

    pub fn ack(&mut self, acked: u32) -> &mut Script {
        self.ack_sack(acked, &[])
    }

    pub fn ack_window(&mut self, acked: u32, window: u16) -> &mut Script {
        self.window = window;
        self.ack(acked)
    }

    /// Injects data from the peer.
    pub fn data(&mut self, seq: u32, len: u16) -> &mut Script {
        self.inject(Segment { seq: self.irs + 1 + seq, len, ..self.blank() })
    }

    pub fn fin(&mut self, seq: u32) -> &mut Script {
        self.inject(Segment { seq: self.irs + 1 + seq, flags: Flags::ACK | Flags::FIN, ..self.blank() })
    }

    pub fn sent(&mut self) -> Vec<Segment> {
        std::iter::from_fn(|| self.end.poll_transmit(self.now)).collect()
    }

    /// Returns (first byte, bytes) of the data segments sent now.
    pub fn data_out(&mut self) -> Vec<(u32, u16)> {
        let first = self.iss + 1;
        self.sent().iter().filter(|s| s.len > 0).map(|s| (s.seq - first, s.len)).collect()
    }

    /// Returns the acknowledgment numbers of the segments without payload sent now.
    pub fn acks_out(&mut self) -> Vec<u32> {
        let first = self.irs + 1;
        self.sent().iter().filter(|s| s.len == 0).map(|s| s.ack - first).collect()
    }

    pub fn expect_data(&mut self, expected: &[(u32, u16)]) -> &mut Script {
        assert_eq!(self.data_out(), expected, "at {:?}", self.now);
        self
    }

    pub fn expect_acks(&mut self, expected: &[u32]) -> &mut Script {
        assert_eq!(self.acks_out(), expected, "at {:?}", self.now);
        self
    }

    pub fn expect_cwnd(&mut self, cwnd: u64) -> &mut Script {
        assert_eq!(self.end.cwnd(), Bytes(cwnd), "at {:?}", self.now);
        self
    }

    pub fn expect_timer_in(&mut self, span: Span) -> &mut Script {
        assert_eq!(self.end.next_timeout(), Some(self.now + span), "at {:?}", self.now);
        self
    }
}

/// Returns segments of 1000 bytes from `first` on.
pub fn segments(first: u32, count: u32) -> Vec<(u32, u16)> {
    (0..count).map(|i| ((first + i) * 1000, 1000)).collect()
}
