//! Dynamic receive window adjustment.

use super::parts::round::Rounds;
use super::parts::small_windows::MAX_SHIFT;
use super::{Advertisement, Capabilities, ReceiverContext, RecvView, RwndController};
use airwnd_catalog::Params;
use airwnd_units::{Bytes, Span, Time};

/// DRWA: the window follows the bytes of a round trip, less the more the round trip has grown.
///
/// Once per round trip, when data is copied to the application,
/// `cwnd_est = alpha * cwnd_est + (1 - alpha) * copied` and `rwnd = lambda * RTTmin / RTT * cwnd_est`. Its
/// fixed point is RTT = lambda * RTTmin. RTTmin does not expire, as in the paper: a longer route is taken
/// for a queue for ever after, unless `base_history` lets it.
///
/// Where the paper is silent: before the first estimate `initial` is offered, and never less than `floor`
/// segments; the round-trip time is the receiver's mean over the last round trip, from timestamps where
/// they are exchanged. Without them it is the time in which a window arrives, so that an initial window that is
/// larger than the path makes RTTmin that of a full queue. What was offered is not taken back: a whole receive
/// buffer, offered at the beginning, would govern until as much has arrived. Without a floor the formula shrinks
/// the window to nothing where the round trip is longer than lambda * RTTmin whatever the window, as in a cell
/// that many users share.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "Jiang, Wang, Lee, Rhee: Tackling Bufferbloat in 3G/4G Networks, IMC 2012, section 4")]
pub struct Params {
    /// How far the round-trip time may grow.
    #[param(default = 3.0, range = 0.1..=100.0, unit = "1", source = "IMC 2012 §4.2")]
    pub lambda: f64,
    /// Weight of the former estimate.
    #[param(default = 0.875, range = 0.0..=0.999, unit = "1", source = "IMC 2012 §4.2")]
    pub alpha: f64,
    /// What is offered before the first estimate.
    #[param(default = Bytes(64 * 1024), range = Bytes(1024)..=Bytes(1 << 30))]
    #[param(unit = "B", source = "not given; Linux tcp_rmem (second value) less its overhead")]
    pub initial: Bytes,
    /// The least window that is offered; 0: what the formula gives.
    #[param(default = 2, range = 0..=1000)]
    #[param(
        unit = "segments",
        source = "not given; two segments keep a receiver's ACKs going (RFC 9293 §3.8.6.3)"
    )]
    pub floor: u64,
    /// How long a least round trip is remembered; none: for ever.
    #[param(default = None, range = Span::from_secs(1)..=Span::from_secs(86_400))]
    #[param(unit = "time", source = "IMC 2012 §4.2 (the least so far); RFC 6817 §2.5 lets it expire")]
    pub base_history: Option<Span>,
}

/// The state of DRWA.
#[derive(Clone, Debug)]
pub struct Drwa {
    params: Params,
    rounds: Rounds,
    cwnd_est: Option<f64>,
    window: Option<u64>,
}

impl Drwa {
    /// A receiver that knows nothing yet.
    pub fn new(params: Params, _: &ReceiverContext) -> Drwa {
        let rounds = Rounds::new(params.base_history);
        Drwa { params, rounds, cwnd_est: None, window: None }
    }
}

impl RwndController for Drwa {
    fn on_copied(&mut self, now: Time, copied: Bytes, view: &RecvView) {
        //= exception drwa-receiver-rtt
        let Some(round) = self.rounds.add(now, copied, view.rtt) else { return };
        let copied = round.bytes as f64;
        let alpha = self.params.alpha;
        let estimate = self.cwnd_est.map_or(copied, |former| alpha * former + (1.0 - alpha) * copied);
        self.cwnd_est = Some(estimate);
        self.window =
            Some((self.params.lambda * (round.least.0 as f64 / round.rtt.0 as f64) * estimate) as u64);
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { max_window_scale: MAX_SHIFT, ..Capabilities::default() }
    }

    fn window(&self, _: Time, view: &RecvView) -> Advertisement {
        //= exception drwa-floor
        view.offer(self.window.map_or(self.params.initial, Bytes), self.params.floor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests_support::{MSS, ctx, view};
    use proptest::prelude::*;

    #[test]
    fn fixed_point_is_lambda_times_the_least_round_trip() {
        // A bottleneck of 10 segments per 20 ms, of which 20 ms is propagation: RTT = W / B.
        let mut drwa = Drwa::new(Params::default(), &ctx());
        let base = Span::from_millis(20);
        let mut now = Time::ZERO;
        let mut window = 10 * MSS;
        let mut rtt = base;
        drwa.on_copied(now, Bytes::ZERO, &view(Some(rtt)));
        for _ in 0..400 {
            rtt = Span(base.0 * window / (10 * MSS)).max(base);
            now += rtt;
            drwa.on_copied(now, Bytes(window), &view(Some(rtt)));
            let Advertisement::Window(offered) = drwa.window(now, &view(None)) else { panic!("no codes") };
            window = offered.0;
        }
        assert!((rtt.as_millis() - 3.0 * base.as_millis()).abs() < 0.5, "{rtt:?}");
    }

    /// The paper's steps 1-4 in its own words and order, in floating milliseconds.
    struct Literal {
        lambda: f64,
        alpha: f64,
        rtt_min: f64,
        cwnd_est: f64,
        rwnd: f64,
        last: f64,
        data: f64,
        first: bool,
    }

    impl Literal {
        fn copy(&mut self, now: f64, bytes: f64, rtt_est: f64) {
            self.data += bytes;
            if now - self.last < rtt_est {
                return;
            }
            if self.first {
                self.cwnd_est = self.data;
                self.first = false;
            } else {
                self.cwnd_est = self.alpha * self.cwnd_est + (1.0 - self.alpha) * self.data;
            }
            if rtt_est < self.rtt_min {
                self.rtt_min = rtt_est;
            }
            self.rwnd = self.lambda * (self.rtt_min / rtt_est) * self.cwnd_est;
            self.data = 0.0;
            self.last = now;
        }
    }

    proptest! {
        #[test]
        fn agrees_with_a_literal_transcription(
            (lambda, alpha) in (0.5..10.0_f64, 0.0..0.99_f64),
            steps in prop::collection::vec((1..50_u64, 1..20_u64, 5..300_u64), 1..300),
        ) {
            let mut drwa = Drwa::new(Params { lambda, alpha, ..Params::default() }, &ctx());
            let (rtt_min, cwnd_est, rwnd, last, data) = (f64::INFINITY, 0.0, 0.0, 0.0, 0.0);
            let mut literal = Literal { lambda, alpha, rtt_min, cwnd_est, rwnd, last, data, first: true };
            drwa.on_copied(Time::ZERO, Bytes::ZERO, &view(None));
            let mut now = 0;
            for (gap, segments, rtt) in steps {
                now += gap;
                drwa.on_copied(Time(now * 1_000_000), Bytes(segments * MSS), &view(Some(Span::from_millis(rtt))));
                literal.copy(now as f64, (segments * MSS) as f64, rtt as f64);
                let window = drwa.window.unwrap_or(0) as f64;
                prop_assert!((window - literal.rwnd).abs() <= 1.0 + 1e-9 * literal.rwnd, "{} {}", window, literal.rwnd);
            }
        }
    }

    #[test]
    fn a_longer_route_is_believed_when_the_history_is_over() {
        let window = |base_history| {
            let mut drwa = Drwa::new(Params { alpha: 0.0, base_history, ..Params::default() }, &ctx());
            for second in 0..20 {
                let rtt = Span::from_millis(if second < 2 { 20 } else { 80 });
                drwa.on_copied(Time::ZERO + Span::from_secs(second), Bytes(MSS), &view(Some(rtt)));
            }
            drwa.window
        };
        // 3 * 20/80 and 3 * 80/80 of a segment
        assert_eq!(window(None), Some(750));
        assert_eq!(window(Some(Span::from_secs(5))), Some(3000));
    }
}
