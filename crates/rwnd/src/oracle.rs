//! The BDP window of an ideal receiver that knows the link.

use super::parts::base_rtt::BaseRtt;
use super::parts::small_windows::MIN_SEGMENTS;
use super::{
    Advertisement, Arrival, Capabilities, DeviceLink, DeviceNeeds, ReceiverContext, RecvView, RwndController,
};
use airwnd_catalog::{Choice, Params};
use airwnd_kernel::Stream;
use airwnd_units::{BitRate, Bytes, Span, Time};
use std::collections::VecDeque;

/// Number of former rates that are kept.
const KEPT: u64 = 64;

/// RTT without a queue that the oracle uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Base {
    /// That of the route.
    #[word = "known"]
    Known,
    /// The minimum RTT sample of the device's connections.
    #[word = "measured"]
    Measured,
}

/// Oracle: rwnd = known link rate x base RTT plus a small standing queue; an upper bound, not deployable.
///
/// The window is a share of the link's BDP, at least two segments:
///
/// ```math
/// \mathrm{rwnd} = \frac{\mathrm{rate} \cdot (\mathit{RTT}_{\text{base}} + \mathrm{standing}) +
/// \mathrm{extra} \cdot \mathrm{MSS}}{\mathrm{connections}}
/// ```
///
/// The rate is the payload rate at which full segments can reach the device now: the minimum along the path of each
/// wire's rate, the capacity of each link trace over the next RTT, and the rate of the cell at the UE's newest CQI
/// report, corrected by the bytes that its blocks of the last second have brought. Each is shared equally with the other devices that have backlogged senders, after subtracting the traffic of
/// devices without one. RTTbase follows from the route: its delays, the transmission of a full segment and an ACK, and
/// the delays of an idle cell.
///
/// Among several devices behind a channel-aware scheduler the share of the PRBs is taken as equal, although such a
/// scheduler may divide them otherwise. That a backlogged UE is served at its channel peaks is part of the rate.
///
/// To find how much of this knowledge a receiver needs, it can be made worse: a rate of the past (`age`), a rate with
/// an error (`error`), a window that is too large or too small (`scale`), and a measured RTTbase. With `jitter` the
/// window has room for the RTT's own variation: the mean RTT less the minimum RTT of the last round trip is added to
/// RTTbase.
///
/// Without these, the oracle has these values at no cost and without delay, and the sharing of links and cells with a delay of about
/// 10 ms; no receiver can have them. It does not predict its sender: a sender that loses segments, or reduces cwnd for
/// other reasons, leaves the link idle.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(
    source = "Kleinrock: Power and Deterministic Rules of Thumb for Probabilistic Problems in Computer \
              Communications, ICC 1979: power is maximal with rate * RTTbase in flight; the rest is \
              airwnd's"
)]
pub struct Params {
    /// Queueing delay of the standing queue that keeps the link busy.
    #[param(basic, default = Span::from_millis(2), range = Span::ZERO..=Span::from_secs(10))]
    #[param(
        unit = "time",
        source = "not in the paper: one TTI in which ACKs accumulate, and one in which segments do"
    )]
    pub standing: Span,
    /// Additional segments of the standing queue.
    #[param(basic, default = 2, range = 0..=1000)]
    #[param(
        unit = "segments",
        source = "not in the paper: an ACK waits for the second segment (RFC 1122 §4.2.3.2), which \
                  releases two segments at once"
    )]
    pub extra: u64,
    /// Age of the known rate.
    #[param(default = Span::ZERO, range = Span::ZERO..=Span::from_secs(10))]
    #[param(unit = "time", source = "airwnd: experiments/frontier")]
    pub age: Span,
    /// Standard deviation of the natural logarithm of the known rate over the rate. The errors of connections are
    /// independent.
    #[param(default = 0.0, range = 0.0..=3.0)]
    #[param(unit = "1", source = "airwnd: experiments/frontier")]
    pub error: f64,
    /// Interval at which the error is drawn.
    #[param(expert, default = Span::from_millis(100), range = Span::from_millis(1)..=Span::from_secs(3600))]
    #[param(unit = "time", source = "airwnd: experiments/frontier")]
    pub error_interval: Span,
    /// Factor of the window.
    #[param(default = 1.0, range = 0.01..=100.0)]
    #[param(unit = "1", source = "airwnd: experiments/frontier")]
    pub scale: f64,
    /// RTT without a queue.
    #[param(expert, default = Base::Known)]
    #[param(unit = "1", source = "airwnd: experiments/frontier")]
    pub base: Base,
    /// Whether the mean variation of the RTT in a round trip is added to it.
    #[param(expert, default = false)]
    #[param(unit = "1", source = "airwnd: experiments/frontier")]
    pub jitter: bool,
}

/// RTT samples of the current round trip.
#[derive(Clone, Copy, Debug)]
struct Round {
    since: Time,
    sum_s: f64,
    count: u32,
    min_s: f64,
}

/// State of an oracle.
#[derive(Clone, Debug)]
pub struct Oracle {
    params: Params,
    random: Stream,
    /// Former rates, with the times at which they were known.
    rates: VecDeque<(Time, BitRate)>,
    base_rtt: BaseRtt,
    round: Option<Round>,
    jitter_s: f64,
}

impl Oracle {
    /// Creates an oracle, which gets the link's figures with each view.
    pub fn new(params: Params, ctx: &ReceiverContext) -> Oracle {
        Oracle {
            params,
            random: Stream::new(ctx.seed, "oracle"),
            rates: VecDeque::with_capacity(KEPT as usize + 2),
            base_rtt: BaseRtt::new(None),
            round: None,
            jitter_s: 0.0,
        }
    }

    fn keep(&mut self, now: Time, rate: BitRate) {
        let age = self.params.age;
        if self.rates.back().is_none_or(|(at, _)| now.since(*at) >= age / KEPT) {
            self.rates.push_back((now, rate));
        }
        // The first one is the newest that is old enough.
        while self.rates.get(1).is_some_and(|(at, _)| now.since(*at) >= age) {
            self.rates.pop_front();
        }
    }

    fn add_rtt(&mut self, now: Time, rtt: Span) {
        self.base_rtt.update(now, rtt);
        let rtt_s = rtt.as_secs();
        let round = self.round.get_or_insert(Round { since: now, sum_s: 0.0, count: 0, min_s: rtt_s });
        round.sum_s += rtt_s;
        round.count += 1;
        round.min_s = round.min_s.min(rtt_s);
        let mean_s = round.sum_s / f64::from(round.count);
        if now.since(round.since).as_secs() >= mean_s {
            self.jitter_s = mean_s - round.min_s;
            self.round = None;
        }
    }

    /// Returns the factor of the rate's error.
    fn error(&self, now: Time) -> f64 {
        let interval = now.0 / self.params.error_interval.0;
        let (radius, angle) = (self.random.at(2 * interval), self.random.at(2 * interval + 1));
        let normal = libm::sqrt(-2.0 * libm::log(1.0 - radius)) * libm::cos(std::f64::consts::TAU * angle);
        libm::exp(self.params.error * normal)
    }

    fn share(&self, now: Time, link: &DeviceLink, view: &RecvView) -> Bytes {
        let params = &self.params;
        let former = self.rates.front().filter(|_| params.age > Span::ZERO);
        let rate = former.map_or(link.rate, |(_, rate)| *rate).0 as f64;
        let rate = if params.error > 0.0 { rate * self.error(now) } else { rate };
        let base = match params.base {
            Base::Known => link.base_rtt,
            Base::Measured => {
                let measured = [view.device.min_rtt, self.base_rtt.get()].into_iter().flatten().min();
                measured.unwrap_or(link.base_rtt)
            }
        };
        let jitter_s = if params.jitter { self.jitter_s } else { 0.0 };
        let bytes = rate * ((base + params.standing).as_secs() + jitter_s) / 8.0;
        let whole = bytes + (view.mss * params.extra).0 as f64;
        Bytes((params.scale * whole / f64::from(view.device.connections.max(1))) as u64)
    }
}

impl RwndController for Oracle {
    fn on_segment(&mut self, arrival: &Arrival, view: &RecvView) {
        if let Some(link) = view.device.link {
            self.keep(arrival.now, link.rate);
        }
        if let Some(rtt) = arrival.rtt {
            self.add_rtt(arrival.now, rtt);
        }
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { needs: DeviceNeeds { connections: true, link: true }, ..Capabilities::default() }
    }

    fn window(&self, now: Time, view: &RecvView) -> Advertisement {
        let share = view.device.link.map_or(Bytes::ZERO, |link| self.share(now, &link, view));
        view.offer(share, MIN_SEGMENTS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Device;
    use crate::tests_support::{MSS, ctx, view};
    use airwnd_units::BitRate;
    use proptest::prelude::*;

    proptest! {
        /// Compares with the formula in floating-point seconds over random links.
        #[test]
        fn agrees_with_a_literal_transcription(
            rate in 0..2_000_000_000_u64,
            base_ms in 1..500_u64,
            connections in 0..50_u32,
            free in 2..30_000_u64,
        ) {
            let link = Some(DeviceLink { rate: BitRate(rate), base_rtt: Span::from_millis(base_ms) });
            let mut view = RecvView { free: Bytes(free * MSS), ..view(None) };
            view.device = Device { connections, link, ..Device::default() };
            let bandwidth_delay = rate as f64 / 8.0 * (base_ms as f64 + 2.0) / 1000.0;
            let expected = ((bandwidth_delay + 2.0 * MSS as f64) / f64::from(connections.max(1)))
                .max(2.0 * MSS as f64)
                .min((free * MSS) as f64);
            let Advertisement::Window(window) = Oracle::new(Params::default(), &ctx()).window(Time::ZERO, &view) else {
                panic!("no codes")
            };
            prop_assert!((window.0 as f64 - expected).abs() <= 1.0 + 1e-9 * expected, "{} {}", window.0, expected);
        }
    }

    /// Returns the window at `now` on a link of 8 Mbit/s per second since the start and a base RTT of 40 ms.
    fn window(oracle: &mut Oracle, now: Time) -> u64 {
        let mut view = view(None);
        let rate = BitRate((8e6 * now.as_secs()) as u64);
        view.device.link = Some(DeviceLink { rate, base_rtt: Span::from_millis(40) });
        oracle.on_segment(&crate::tests_support::arrival(now, now, MSS), &view);
        let Advertisement::Window(window) = oracle.window(now, &view) else { panic!("no codes") };
        window.0
    }

    #[test]
    fn an_old_rate_is_that_of_the_past() {
        let params = Params { age: Span::from_millis(500), ..Params::default() };
        let mut oracle = Oracle::new(params, &ctx());
        let last = (100..=300).map(|n| window(&mut oracle, Time(n * 10_000_000))).last().unwrap();
        // 2.5 MB/s * 42 ms + 2 segments; former rates are kept every 10 ms.
        assert!((last as f64 - 107_000.0).abs() <= 420.0, "{last}");
    }

    #[test]
    fn the_error_has_the_given_standard_deviation() {
        let params = Params { error: 0.5, ..Params::default() };
        let oracle = Oracle::new(params, &ctx());
        let logs: Vec<f64> = (0..10_000).map(|n| libm::log(oracle.error(Time(n * 100_000_000)))).collect();
        let mean = logs.iter().sum::<f64>() / 1e4;
        let variance = logs.iter().map(|log| (log - mean) * (log - mean)).sum::<f64>() / 1e4;
        assert!(mean.abs() < 0.02 && (variance - 0.25).abs() < 0.02, "{mean} {variance}");
        assert_eq!(oracle.error(Time(0)), oracle.error(Time(99_999_999)));
    }

    #[test]
    fn with_jitter_the_window_has_room_for_the_variation_of_the_rtt() {
        let params = Params { base: Base::Measured, jitter: true, ..Params::default() };
        let mut oracle = Oracle::new(params, &ctx());
        // A mean of 50 ms above a minimum of 40 ms.
        for (ms, rtt_ms) in [(1000, 40), (1001, 60), (1100, 50)] {
            oracle.add_rtt(Time(ms * 1_000_000), Span::from_millis(rtt_ms));
        }
        // 1.1 MB/s * (40 + 2 + 10) ms + 2 segments.
        let last = window(&mut oracle, Time(1_100_000_000));
        assert!((last as f64 - 59_200.0).abs() <= 2.0, "{last}");
    }
}
