//! Receive-buffer autotuning: grows the window so that it does not limit the sender.

use super::{Advertisement, Arrival, ReceiverContext, RecvView, RwndController};
use airwnd_catalog::{Choice, Params};
use airwnd_units::{Bytes, Span, Time};

/// Maximum receive window (RFC 7323 §2.3), and so of the bytes received in a round trip.
const LARGEST_WINDOW: u64 = 1 << 30;

/// Linux version of the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Variant {
    /// Opens the window at once to the usable buffer. Adds 16 segments to twice the bytes of an RTT.
    #[word = "linux-5.4"]
    V5v4,
    /// Opens the window by two segments per segment that arrives, and acknowledges that segment at once. Adds the bytes
    /// received out of order instead of 16 segments.
    #[word = "linux-6.18"]
    V6v18,
}

/// Autotuning: Linux's dynamic right-sizing; rwnd = twice the maximum of bytes copied per RTT, more in slow start.
///
/// Once per RTT, when data is copied to the application: if `copied` exceeds `former`, the maximum of all earlier RTTs,
/// the window grows by the rule below. The second factor adds twice the growth rate, so that a sender in slow start is
/// not limited.
///
/// ```math
/// \mathrm{rwnd} \leftarrow \max(\mathrm{rwnd}, \, (2 \, \mathrm{copied} + 16 \, \mathrm{MSS})
/// (1 + 2 \, \frac{\mathrm{copied} - \mathrm{former}}{\mathrm{former}}))
/// ```
///
/// This is the rule of Linux 5.4. Linux 6.18 has no 16 segments and adds the bytes received out of order. The window
/// only grows, up to `max`. The buffer is counted in payload: `overhead` is the share of it that payload can use. Linux
/// sets the rest aside for packet overhead (`tcp_adv_win_scale` = 1 in 5.4, since 6.6 as measured for the first full
/// segment). The RTT is the endpoint's estimate with "linux-5.4". With "linux-6.18" full segments give samples: a
/// shorter one replaces the RTT at once, and a longer one moves it by an eighth of the difference, unless data waits to
/// be read. The sample after an idle time includes it.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "Fisk, Feng: Dynamic Right-Sizing in TCP, LACSI 2001; Linux net/ipv4/tcp_input.c \
              tcp_rcv_space_adjust, tcp_rcvbuf_grow, tcp_grow_window")]
pub struct Params {
    /// Linux version of the rules.
    #[param(default = Variant::V6v18, unit = "word", source = "Linux 5.4 and 6.18 net/ipv4/tcp_input.c")]
    pub variant: Variant,
    /// Initial buffer (tcp_rmem, second value).
    #[param(default = Bytes(131_072), range = Bytes(2_048)..=Bytes(1 << 30))]
    #[param(unit = "B", source = "Linux Documentation/networking/ip-sysctl.rst tcp_rmem")]
    pub initial: Bytes,
    /// Maximum buffer (tcp_rmem, third value): 6 MiB in Linux 5.4, 32 MiB in 6.18.
    #[param(basic, default = Bytes(32 << 20), range = Bytes(2_048)..=Bytes(1 << 30))]
    #[param(unit = "B", source = "Linux Documentation/networking/ip-sysctl.rst tcp_rmem")]
    pub max: Bytes,
    /// Share of the buffer that payload can use; with "linux-6.18" before the first full segment only.
    #[param(expert, default = 0.5, range = 0.01..=1.0)]
    #[param(
        unit = "1",
        source = "Linux Documentation/networking/ip-sysctl.rst tcp_adv_win_scale = 1; \
                  TCP_DEFAULT_SCALING_RATIO"
    )]
    pub overhead: f64,
    /// Share with "linux-6.18" from the first full segment on: 160/256 for 1448 B that take 2304 B.
    #[param(expert, default = 0.625, range = 0.01..=1.0)]
    #[param(unit = "1", source = "Linux 6.18 net/ipv4/tcp_input.c tcp_measure_rcv_mss (scaling_ratio)")]
    pub measured_overhead: f64,
    /// Whether the window grows (tcp_moderate_rcvbuf).
    #[param(default = true)]
    #[param(unit = "1", source = "Linux Documentation/networking/ip-sysctl.rst tcp_moderate_rcvbuf")]
    pub grow: bool,
}

/// State of autotuning.
#[derive(Clone, Debug)]
pub struct Autotuning {
    params: Params,
    mss: u64,
    /// Usable part of the buffer (window_clamp).
    room: u64,
    /// Bytes up to which the window is open (rcv_ssthresh).
    open: u64,
    opened: bool,
    measured: bool,
    /// Maximum of bytes copied in one RTT (rcvq_space.space).
    space: u64,
    copied: u64,
    since: Option<Time>,
    rtt: Option<Span>,
}

impl Autotuning {
    /// Creates the state with the initial window.
    pub fn new(params: Params, ctx: &ReceiverContext) -> Autotuning {
        let mss = ctx.mss.0;
        let room = payload(params.initial, params.overhead);
        let open = match params.variant {
            // Linux opens the window gradually (rcv_ssthresh), which would not limit a sender: its initial window is
            // smaller.
            Variant::V5v4 => room,
            Variant::V6v18 => (room / mss * mss).max(mss),
        };
        Autotuning {
            mss,
            room,
            open,
            opened: false,
            measured: false,
            space: open.min(10 * mss),
            copied: 0,
            since: None,
            rtt: None,
            params,
        }
    }

    fn end_of_round_trip(&mut self, early: u64) {
        // Without an RTT sample the round trip lasts as long as the connection, and so does the count.
        let copied = self.copied.min(LARGEST_WINDOW);
        if copied > self.space {
            let (window, beyond) = match self.params.variant {
                Variant::V5v4 => (2 * copied + 16 * self.mss, 0),
                Variant::V6v18 => (2 * copied, early),
            };
            let growth = window * (copied - self.space) / self.space;
            self.enlarge(window + 2 * growth + beyond);
            self.space = copied;
        }
    }

    fn enlarge(&mut self, wanted: u64) {
        if self.params.grow {
            let part = if self.measured { self.params.measured_overhead } else { self.params.overhead };
            self.room = self.room.max(wanted.min(payload(self.params.max, part)));
        }
        if self.params.variant == Variant::V5v4 {
            self.open = self.room;
        }
    }

    /// Updates the RTT of the growth rule. Short samples take effect at once: queueing makes samples longer, not the
    /// path. While data is `unread`, a long one may be due to a slow reader.
    fn on_rtt(&mut self, sample: Span, unread: Bytes) {
        self.rtt = Some(match self.rtt {
            Some(rtt) if sample >= rtt && unread > Bytes::ZERO => rtt,
            Some(rtt) if sample >= rtt => rtt + (sample - rtt) / 8,
            _ => sample,
        });
    }

    /// Linux's tcp_grow_window for segments with little overhead. A merged arrival opens the window by twice its
    /// length, too.
    fn open_further(&mut self, segments: u32, view: &RecvView) {
        let step = (2 * self.mss * u64::from(segments)).min(self.free(view).saturating_sub(self.open));
        self.open += step;
        self.opened = step > 0;
    }

    /// Returns the free space of the buffer (tcp_space).
    fn free(&self, view: &RecvView) -> u64 {
        self.room.saturating_sub(view.unread.0 + view.early.0)
    }
}

fn payload(buffer: Bytes, part: f64) -> u64 {
    (buffer.0 as f64 * part) as u64
}

impl RwndController for Autotuning {
    fn on_segment(&mut self, arrival: &Arrival, view: &RecvView) {
        if self.params.variant == Variant::V5v4 {
            return;
        }
        let is_full = arrival.len.0 >= self.mss * u64::from(arrival.segments);
        if let Some(sample) = arrival.rtt.filter(|_| is_full) {
            self.on_rtt(sample, view.unread);
        }
        if !self.measured && is_full {
            self.measured = true;
            self.room = payload(self.params.initial, self.params.measured_overhead);
        }
        if !arrival.in_order {
            // Data behind a gap occupies buffer; Linux's tcp_data_queue_ofo compensates for it.
            self.enlarge(2 * self.space + view.early.0);
        }
        self.opened = false;
        if arrival.new > Bytes::ZERO {
            self.open_further(arrival.segments, view);
        }
    }

    fn on_copied(&mut self, now: Time, copied: Bytes, view: &RecvView) {
        self.copied += copied.0;
        let since = *self.since.get_or_insert(now);
        let rtt = if self.params.variant == Variant::V5v4 { view.rtt } else { self.rtt };
        if now.since(since) < rtt.unwrap_or(Span::MAX) {
            return;
        }
        self.end_of_round_trip(view.early.0);
        self.copied = 0;
        self.since = Some(now);
    }

    fn window(&self, _: Time, view: &RecvView) -> Advertisement {
        let window = match self.params.variant {
            Variant::V5v4 => self.open,
            // Bytes that were offered stay offered.
            Variant::V6v18 => self.open.min(self.free(view)).max(2 * self.mss),
        };
        Advertisement::Window(Bytes(window).min(view.free))
    }

    fn has_opened(&self) -> bool {
        self.opened
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests_support::{MSS, arrival, ctx, view};

    fn after(params: Params, per_round_trip: &[u64]) -> u64 {
        let mut auto = Autotuning::new(params, &ctx());
        let view = view(Some(Span::from_millis(50)));
        auto.on_copied(Time::ZERO, Bytes::ZERO, &view);
        let mut now = Time::ZERO;
        for &segments in per_round_trip {
            now += Span::from_millis(50);
            auto.on_copied(now, Bytes(segments * MSS), &view);
        }
        auto.room
    }

    fn linux_5_4() -> Params {
        Params { variant: Variant::V5v4, max: Bytes(6 << 20), ..Params::default() }
    }

    #[test]
    fn bytes_counted_for_long_without_an_rtt_open_the_window_to_its_maximum() {
        for params in [linux_5_4(), Params::default()] {
            let all = after(params.clone(), &[100_000]);
            assert_eq!(after(params, &[10, 1 << 40]), all);
        }
    }

    #[test]
    fn linux_5_4_offers_twice_the_bytes_of_an_rtt_and_headroom_for_slow_start() {
        // Initially half of 128 KiB.
        assert_eq!(after(linux_5_4(), &[10, 10]), 65_536);
        // 20 after 10: 2 * 20 + 16 = 56 segments, plus twice 56 * (20 - 10) / 10.
        assert_eq!(after(linux_5_4(), &[10, 20]), 168 * MSS);
        // Fewer bytes do not reduce it.
        assert_eq!(after(linux_5_4(), &[10, 20, 5]), 168 * MSS);
    }

    #[test]
    fn linux_5_4_stops_at_the_maximum_and_does_not_grow_if_disabled() {
        assert_eq!(after(linux_5_4(), &[20, 40, 80, 160, 320, 640]), 6_291_456 / 2);
        assert_eq!(after(Params { grow: false, ..linux_5_4() }, &[20, 40, 80]), 65_536);
    }

    #[test]
    fn linux_6_18_opens_the_window_by_two_segments_per_arrival_up_to_the_usable_buffer() {
        let mut auto = Autotuning::new(Params::default(), &ctx());
        // Half of 128 KiB in whole segments; the first full segment raises the usable share to 5/8: 81920.
        assert_eq!(auto.open, 65_000);
        let opened: Vec<_> = (0..10)
            .map(|_| {
                auto.on_segment(&arrival(Time::ZERO, Time::ZERO, MSS), &view(None));
                (auto.open, auto.has_opened())
            })
            .collect();
        assert_eq!(opened[..2], [(67_000, true), (69_000, true)]);
        assert_eq!(opened[7..], [(81_000, true), (81_920, true), (81_920, false)]);
    }

    #[test]
    fn linux_6_18_offers_twice_the_bytes_of_an_rtt_and_the_bytes_out_of_order() {
        // 60 after 10: 2 * 60 = 120 segments, plus twice 120 * (60 - 10) / 10.
        assert_eq!(after_round_trips(&[60], 0), 1320 * MSS);
        assert_eq!(after_round_trips(&[60], 7 * MSS), 1327 * MSS);
        assert_eq!(after_round_trips(&[10], 0), 65_536);
    }

    fn after_round_trips(per_round_trip: &[u64], early: u64) -> u64 {
        let mut auto = Autotuning::new(Params::default(), &ctx());
        auto.on_rtt(Span::from_millis(50), Bytes::ZERO);
        let view = RecvView { early: Bytes(early), ..view(None) };
        auto.on_copied(Time::ZERO, Bytes::ZERO, &view);
        for (round, &segments) in per_round_trip.iter().enumerate() {
            auto.on_copied(Time(50_000_000 * (round as u64 + 1)), Bytes(segments * MSS), &view);
        }
        auto.room
    }

    #[test]
    fn linux_6_18_adopts_a_shorter_rtt_at_once() {
        let mut auto = Autotuning::new(Params::default(), &ctx());
        for (sample_ms, rtt_ms) in [(80, 80), (160, 90), (50, 50), (58, 51)] {
            auto.on_rtt(Span::from_millis(sample_ms), Bytes::ZERO);
            assert_eq!(auto.rtt, Some(Span::from_millis(rtt_ms)));
        }
    }

    #[test]
    fn linux_6_18_takes_samples_of_full_segments_and_no_longer_ones_while_data_is_unread() {
        let mut auto = Autotuning::new(Params::default(), &ctx());
        let mut rtt_after = |len, sample_ms, unread| {
            let rtt = Some(Span::from_millis(sample_ms));
            let view = RecvView { unread: Bytes(unread), ..view(None) };
            auto.on_segment(&Arrival { rtt, ..arrival(Time::ZERO, Time::ZERO, len) }, &view);
            auto.rtt
        };
        assert_eq!(rtt_after(MSS - 1, 80, 0), None);
        assert_eq!(rtt_after(MSS, 80, 0), Some(Span::from_millis(80)));
        assert_eq!(rtt_after(MSS, 160, 1), Some(Span::from_millis(80)));
        assert_eq!(rtt_after(MSS, 50, 1), Some(Span::from_millis(50)));
    }
}
