//! Low priority by one-way delays.

pub use super::newreno::Growth;
use super::parts::window::{Window, keeps_window};
use super::{Ack, Congestion, CongestionControl, SenderContext};
use airwnd_catalog::{Choice, Params};
use airwnd_units::{Span, Time};

/// What becomes of the least and the greatest delay when congestion is indicated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Extremes {
    /// They are those of the whole connection, as in the paper.
    #[word = "kept"]
    Kept,
    /// They begin anew at the smoothed delay and twice that, the greatest is the second greatest, and slow start
    /// goes on, as in Linux.
    #[word = "renewed"]
    Renewed,
}

/// TCP-LP: NewReno that gives way as soon as one-way delays rise.
///
/// d is the one-way delay by timestamps, smoothed with 1/8 for a new sample; congestion is indicated where
/// d > dmin + threshold (dmax - dmin). An indication halves cwnd; one within `inference` round trips of the last
/// leaves one segment. cwnd does not grow in that time. After an indication there is no slow start. A loss halves the
/// flight. Without timestamps it is NewReno. The delay of a segment whose ACK waits, as that of one alone does, is long
/// by that time: with `extremes = "kept"` and delayed ACKs it stays at one segment once it is there.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "Kuzmanovic and Knightly, IEEE/ACM ToN 14(4), 2006")]
pub struct Params {
    /// Part of the range of delays that is no congestion (delta).
    #[param(default = 0.15, range = 0.0..=1.0)]
    #[param(unit = "1", source = "Kuzmanovic and Knightly 2006 (delta); Linux tcp_lp (15 %)")]
    pub threshold: f64,
    /// Part of a new sample in the smoothed delay (gamma).
    #[param(default = 0.125, range = 0.001..=1.0)]
    #[param(unit = "1", source = "Kuzmanovic and Knightly 2006 (gamma = 1/8); Linux tcp_lp")]
    pub smoothing: f64,
    /// How long it watches without growing after an indication, in round trips.
    #[param(default = 3.0, range = 0.0..=1000.0)]
    #[param(unit = "round trips", source = "Linux tcp_lp; ns-3.44 TcpLp")]
    pub inference: f64,
    /// What becomes of the least and the greatest delay when congestion is indicated.
    #[param(default = Extremes::Renewed)]
    #[param(
        unit = "word",
        source = "Kuzmanovic and Knightly 2006 (kept); Linux tcp_lp, ns-3.44 TcpLp (renewed)"
    )]
    pub extremes: Extremes,
    /// Unit in which ACKs are counted for window growth.
    #[param(default = Growth::PerAck, unit = "word", source = "RFC 5681 §3.1 eq. 2 and 3")]
    pub growth: Growth,
}

/// State of TCP-LP.
#[derive(Clone, Debug)]
pub struct Lp {
    params: Params,
    window: Window,
    delays: Option<Delays>,
    rtt: Span,
    last_indication: Option<Time>,
}

/// One-way delays in seconds.
#[derive(Clone, Copy, Debug)]
struct Delays {
    smoothed: f64,
    least: f64,
    greatest: f64,
    /// The greatest of all where `greatest` is the second.
    outlier: f64,
}

impl Lp {
    /// Creates the controller of a new connection.
    pub fn new(params: Params, ctx: &SenderContext) -> Lp {
        Lp { params, window: Window::new(ctx), delays: None, rtt: Span(0), last_indication: None }
    }

    fn is_congested(&self) -> bool {
        self.delays.is_some_and(|delays| {
            let range = (delays.greatest - delays.least).max(0.0);
            delays.smoothed > delays.least + self.params.threshold * range
        })
    }

    fn renew(&mut self) {
        if let Some(delays) = &mut self.delays {
            let twice = 2.0 * delays.smoothed;
            *delays = Delays { least: delays.smoothed, greatest: twice, outlier: twice, ..*delays };
        }
    }
}

impl Delays {
    fn add(&mut self, delay: f64, Params { smoothing, extremes, .. }: &Params) {
        self.smoothed += smoothing * (delay - self.smoothed);
        self.least = self.least.min(delay);
        if *extremes == Extremes::Kept {
            self.greatest = self.greatest.max(delay);
        } else if delay > self.outlier {
            (self.greatest, self.outlier) = (self.outlier, delay);
        } else {
            self.greatest = self.greatest.max(delay);
        }
    }
}

impl CongestionControl for Lp {
    fn on_delivery(&mut self, ack: &Ack) {
        self.rtt = ack.rtt.unwrap_or(self.rtt);
        let Some(delay) = ack.one_way_delay.map(Span::as_secs) else { return };
        match &mut self.delays {
            Some(delays) => delays.add(delay, &self.params),
            None => {
                self.delays = Some(Delays { smoothed: delay, least: delay, greatest: delay, outlier: delay })
            }
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        let is_renewed = self.params.extremes == Extremes::Renewed;
        let inference = Span((self.params.inference * self.rtt.0 as f64) as u64);
        let watches = self.last_indication.is_some_and(|last| ack.now - last < inference);
        let congested = self.is_congested();
        if congested {
            self.window.set(if watches { 1.0 } else { self.window.segments() / 2.0 });
            self.last_indication = Some(ack.now);
            if is_renewed {
                self.renew();
            } else {
                self.window.set_threshold(self.window.segments());
            }
        }
        let grows = if is_renewed { !watches || self.window.in_slow_start() } else { !watches && !congested };
        if grows {
            self.window.grow_as_reno(ack.acked, self.params.growth);
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.window.reduce(event, self.window.count(event.in_flight) / 2.0);
    }

    keeps_window!(window);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Signal;
    use crate::cc::tests_support::{ack, congestion, ctx};

    fn told(lp: &mut Lp, ms: u64, delay_ms: u64) -> u64 {
        let rtt = Some(Span::from_millis(100));
        let one_way_delay = Some(Span::from_millis(delay_ms));
        let ack = Ack { now: Time(ms * 1_000_000), rtt, one_way_delay, ..ack(1000) };
        lp.on_delivery(&ack);
        lp.on_ack(&ack);
        lp.cwnd().0
    }

    fn unsmoothed(extremes: Extremes) -> Lp {
        let params = Params { smoothing: 1.0, extremes, ..Params::default() };
        let mut lp = Lp::new(params, &ctx(1000, 40));
        lp.on_congestion(&congestion(Signal::Loss, 40_000));
        // dmin = 50 ms, dmax = 150 ms
        assert_eq!([told(&mut lp, 0, 150), told(&mut lp, 100, 50)], [20_050, 20_099]);
        lp
    }

    #[test]
    fn the_first_indication_halves_and_a_second_one_soon_after_leaves_a_segment() {
        let mut lp = unsmoothed(Extremes::Kept);
        // the threshold is 50 + 0.15 x 100 = 65 ms
        assert_eq!(told(&mut lp, 200, 64), 20_149);
        assert_eq!(told(&mut lp, 300, 66), 10_074);
        assert_eq!(told(&mut lp, 400, 60), 10_074);
        assert_eq!(told(&mut lp, 500, 66), 1000);
    }

    #[test]
    fn it_grows_again_after_three_round_trips_without_indication() {
        let mut lp = unsmoothed(Extremes::Kept);
        assert_eq!(told(&mut lp, 200, 66), 10_049);
        assert_eq!([told(&mut lp, 499, 60), told(&mut lp, 500, 60)], [10_049, 10_149]);
    }

    #[test]
    fn renewed_extremes_take_the_queue_for_the_path() {
        let mut lp = unsmoothed(Extremes::Renewed);
        // 20.1 / 2 and one of slow start
        assert_eq!(told(&mut lp, 200, 100), 11_049);
        // the threshold is now 100 + 0.15 x 100 ms
        assert_eq!([told(&mut lp, 600, 114), told(&mut lp, 700, 116)], [12_049, 7024]);
    }
}
