//! TCP-LP: low priority by one-way delay.

pub use super::newreno::Growth;
use super::parts::window::{Window, keeps_window};
use super::{Ack, Congestion, CongestionControl, SenderContext};
use airwnd_catalog::{Choice, Params};
use airwnd_units::{Span, Time};

/// Handling of the minimum and maximum delay at a congestion indication.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Extremes {
    /// Extremes of the whole connection, as in the paper.
    #[word = "kept"]
    Kept,
    /// Reset to the smoothed delay and twice that, as in Linux. The maximum is the second largest sample, and slow
    /// start continues.
    #[word = "renewed"]
    Renewed,
}

/// TCP-LP: background transport; NewReno that reduces cwnd early, when the smoothed one-way delay exceeds a threshold.
///
/// The one-way delay d, from timestamps, is smoothed with weight 1/8 for a new sample. Congestion is indicated when
///
/// ```math
/// d > d_{\min} + \mathrm{threshold} \cdot (d_{\max} - d_{\min})
/// ```
///
/// An indication halves cwnd and starts an inference phase of `inference` RTTs, in which cwnd does not grow. An
/// indication within that phase reduces cwnd to one segment. With `extremes = "kept"` there is no slow start after an
/// indication. A congestion event halves the bytes in flight. Without timestamps it is NewReno.
///
/// The delay of a segment includes the wait of a delayed ACK, which a single segment in flight always meets. With
/// `extremes = "kept"` and delayed ACKs, cwnd therefore stays at one segment once it has reached it.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "Kuzmanovic, Knightly: TCP-LP: Low-Priority Service via End-Point Congestion Control, \
              IEEE/ACM ToN 14(4), 2006")]
pub struct Params {
    /// Congestion threshold as a fraction of the range of delays (delta).
    #[param(basic, default = 0.15, range = 0.0..=1.0)]
    #[param(unit = "1", source = "Kuzmanovic and Knightly 2006 (delta); Linux tcp_lp (15 %)")]
    pub threshold: f64,
    /// Weight of a new sample in the smoothed delay (gamma).
    #[param(default = 0.125, range = 0.001..=1.0)]
    #[param(unit = "1", source = "Kuzmanovic and Knightly 2006 (gamma = 1/8); Linux tcp_lp")]
    pub smoothing: f64,
    /// Length of the inference phase after an indication, in which cwnd does not grow.
    #[param(default = 3.0, range = 0.0..=1000.0)]
    #[param(unit = "round trips", source = "Linux tcp_lp; ns-3.44 TcpLp")]
    pub inference: f64,
    /// Handling of the minimum and maximum delay at a congestion indication.
    #[param(expert, default = Extremes::Renewed)]
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
    min: f64,
    greatest: f64,
    /// Maximum of all samples where `greatest` is the second largest.
    outlier: f64,
}

impl Lp {
    /// Creates the controller of a new connection.
    pub fn new(params: Params, ctx: &SenderContext) -> Lp {
        Lp { params, window: Window::new(ctx), delays: None, rtt: Span(0), last_indication: None }
    }

    fn is_congested(&self) -> bool {
        self.delays.is_some_and(|delays| {
            let range = (delays.greatest - delays.min).max(0.0);
            delays.smoothed > delays.min + self.params.threshold * range
        })
    }

    fn renew(&mut self) {
        if let Some(delays) = &mut self.delays {
            let twice = 2.0 * delays.smoothed;
            *delays = Delays { min: delays.smoothed, greatest: twice, outlier: twice, ..*delays };
        }
    }
}

impl Delays {
    fn add(&mut self, delay: f64, Params { smoothing, extremes, .. }: &Params) {
        self.smoothed += smoothing * (delay - self.smoothed);
        self.min = self.min.min(delay);
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
                self.delays = Some(Delays { smoothed: delay, min: delay, greatest: delay, outlier: delay })
            }
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        let is_renewed = self.params.extremes == Extremes::Renewed;
        let inference = Span((self.params.inference * self.rtt.0 as f64) as u64);
        let inferring = self.last_indication.is_some_and(|last| ack.now - last < inference);
        let congested = self.is_congested();
        if congested {
            self.window.set(if inferring { 1.0 } else { self.window.segments() / 2.0 });
            self.last_indication = Some(ack.now);
            if is_renewed {
                self.renew();
            } else {
                self.window.set_threshold(self.window.segments());
            }
        }
        let grows =
            if is_renewed { !inferring || self.window.in_slow_start() } else { !inferring && !congested };
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

    fn cwnd_after(lp: &mut Lp, ms: u64, delay_ms: u64) -> u64 {
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
        assert_eq!([cwnd_after(&mut lp, 0, 150), cwnd_after(&mut lp, 100, 50)], [20_050, 20_099]);
        lp
    }

    #[test]
    fn a_second_indication_within_the_inference_phase_leaves_one_segment() {
        let mut lp = unsmoothed(Extremes::Kept);
        // the threshold is 50 + 0.15 x 100 = 65 ms
        assert_eq!(cwnd_after(&mut lp, 200, 64), 20_149);
        assert_eq!(cwnd_after(&mut lp, 300, 66), 10_074);
        assert_eq!(cwnd_after(&mut lp, 400, 60), 10_074);
        assert_eq!(cwnd_after(&mut lp, 500, 66), 1000);
    }

    #[test]
    fn growth_resumes_after_three_rtts_without_indication() {
        let mut lp = unsmoothed(Extremes::Kept);
        assert_eq!(cwnd_after(&mut lp, 200, 66), 10_049);
        assert_eq!([cwnd_after(&mut lp, 499, 60), cwnd_after(&mut lp, 500, 60)], [10_049, 10_149]);
    }

    #[test]
    fn renewed_extremes_count_the_queue_as_path_delay() {
        let mut lp = unsmoothed(Extremes::Renewed);
        // 20.1 / 2, plus one segment of slow start
        assert_eq!(cwnd_after(&mut lp, 200, 100), 11_049);
        // the threshold is now 100 + 0.15 x 100 ms
        assert_eq!([cwnd_after(&mut lp, 600, 114), cwnd_after(&mut lp, 700, 116)], [12_049, 7024]);
    }
}
