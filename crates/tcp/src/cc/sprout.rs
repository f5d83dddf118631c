//! Sprout: window from a stochastic forecast of the link's deliveries.

use super::parts::forecaster::{Forecaster, LinkModel};
use super::parts::window::Window;
use super::{Ack, Congestion, CongestionControl, SenderContext};
use airwnd_catalog::{Choice, Params};
use airwnd_units::{Bytes, Span, Time};

/// Interpretation of a tick's count when the link could have delivered more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum PartialTicks {
    /// The count is a lower bound of the link's deliveries.
    #[word = "at-least"]
    AtLeast,
    /// The count is exact, and a count of zero is ignored. A window that was once small can then confirm itself.
    #[word = "exact"]
    Exact,
}

/// Sprout: forecasts the link's deliveries from packet arrivals and sets cwnd to a low percentile of the forecast.
///
/// The link's rate follows a Brownian motion, with an outage state at rate zero; packet counts are Poisson. Each tick's
/// count of segments updates the belief about the rate. The count is exact if the next segment could have arrived
/// within the tick. Otherwise the sender left the link idle, and the count is a lower bound. The window is a low
/// percentile of the deliveries in the ticks after the next one, at least two segments. Losses are ignored. A timeout
/// sets the window to one segment until the next forecast.
///
/// Differences from the original: the forecast runs at the sender, on the arrivals that ACKs report, and the window
/// changes only with ACKs. In the original the receiver sends forecasts back, and the sender continues with the last
/// one while none arrives.
///
/// Rates above `max_rate` are not forecast: 1000 segments of 1448 B per second are 11.6 Mbit/s.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "Winstein, Sivaraman, Balakrishnan: Stochastic Forecasts Achieve High Throughput and Low \
              Delay over Cellular Networks, NSDI 2013")]
pub struct Params {
    /// Tick length.
    #[param(default = Span::from_millis(20), range = Span::from_millis(5)..=Span::from_millis(40))]
    #[param(unit = "time", source = "Winstein et al. 2013, section 3; keithw/sprout@c838669 TICK_LENGTH")]
    pub tick: Span,
    /// Number of ticks covered by the window, after the next one.
    #[param(default = 5, range = 1..=8)]
    #[param(
        unit = "1",
        source = "Winstein et al. 2013, section 3 (100 ms); keithw/sprout@c838669 TARGET_DELAY_TICKS"
    )]
    pub lookahead: u32,
    /// Number of rate bins, without that of an outage.
    #[param(expert, default = 256, range = 8..=512)]
    #[param(unit = "1", source = "Winstein et al. 2013, section 3; keithw/sprout@c838669 NUM_BINS")]
    pub bins: u32,
    /// Maximum rate.
    #[param(default = 1000.0, range = 10.0..=4000.0)]
    #[param(
        unit = "segments/s",
        source = "Winstein et al. 2013, section 3; keithw/sprout@c838669 MAX_ARRIVAL_RATE"
    )]
    pub max_rate: f64,
    /// Standard deviation of the rate after one second (sigma).
    #[param(default = 200.0, range = 1.0..=4000.0)]
    #[param(
        unit = "segments/s/sqrt(s)",
        source = "Winstein et al. 2013, section 3; keithw/sprout@c838669 BROWNIAN_MOTION_RATE"
    )]
    pub volatility: f64,
    /// Rate at which outages end (lambda_z).
    #[param(default = 1.0, range = 0.001..=100.0)]
    #[param(
        unit = "1/s",
        source = "Winstein et al. 2013, section 3; keithw/sprout@c838669 OUTAGE_ESCAPE_RATE"
    )]
    pub escape_rate: f64,
    /// Interpretation of a tick's count when the link could have delivered more.
    #[param(expert, default = PartialTicks::AtLeast)]
    #[param(unit = "word", source = "keithw/sprout@c838669 Receiver::advance_to (exact)")]
    pub partial_ticks: PartialTicks,
    /// Percentile of the forecast: probability that fewer segments are delivered.
    #[param(basic, default = 0.05, range = 0.001..=0.999)]
    #[param(
        unit = "1",
        source = "Winstein et al. 2013, section 3; keithw/sprout@c838669 Receiver::forecast"
    )]
    pub percentile: f64,
}

impl Params {
    fn link_model(&self) -> LinkModel {
        LinkModel {
            tick: self.tick,
            lookahead: self.lookahead,
            bins: self.bins,
            max_rate: self.max_rate,
            volatility: self.volatility,
            escape_rate: self.escape_rate,
            percentile: self.percentile,
        }
    }
}

/// Maximum number of silent ticks that are evaluated: eight without a segment rule out any rate worth a window.
const LONGEST_SILENCE: u64 = 8;
/// Minimum window in segments, to probe the link: a single one would wait for a delayed ACK.
const MIN: f64 = 2.0;
/// Upper bound on the delay of an ACK for a segment that no other follows (RFC 1122 §4.2.3.2).
const DELAYED_ACK: Span = Span::from_millis(500);

/// State of Sprout.
#[derive(Clone, Debug)]
pub struct Sprout {
    params: Params,
    window: Window,
    /// Created with the first ACK: its tables take milliseconds, which a sender without data need not spend.
    forecaster: Option<Box<Forecaster>>,
    tick_began: Time,
    /// Number of segments that arrived in this tick.
    arrived: f64,
}

impl Sprout {
    /// Creates the controller of a new connection.
    pub fn new(params: Params, ctx: &SenderContext) -> Sprout {
        Sprout { params, window: Window::new(ctx), forecaster: None, tick_began: Time::ZERO, arrived: 0.0 }
    }

    //= exception sprout-at-the-sender
    fn close_ticks(&mut self, ack: &Ack) {
        let Some(forecaster) = &mut self.forecaster else { return };
        let ticks = (ack.now - self.tick_began).0 / self.params.tick.0;
        if ticks == 0 {
            return;
        }
        let (rtt, min_rtt) = (ack.rtt.unwrap_or_default(), ack.min_rtt.unwrap_or_default());
        let lone = self.window.count(ack.prior_in_flight) <= 1.0;
        let on_its_way = min_rtt + if lone { DELAYED_ACK } else { Span::ZERO };
        let could_have_come = Time(ack.now.0.saturating_sub(rtt.0)) + on_its_way.min(rtt);
        forecaster.evolve();
        let end = self.tick_began + self.params.tick;
        let arrived = whole(self.arrived);
        //= exception sprout-partial-ticks
        if end > could_have_come || (arrived > 0 && self.params.partial_ticks == PartialTicks::Exact) {
            forecaster.observe(arrived);
        } else {
            forecaster.observe_at_least(arrived);
        }
        self.tick_began += self.params.tick * ticks;
        self.arrived = 0.0;
        for silent in (0..(ticks - 1).min(LONGEST_SILENCE)).rev() {
            forecaster.evolve();
            if self.tick_began - self.params.tick * silent > could_have_come {
                forecaster.observe(0);
            }
        }
        self.window.set(f64::from(forecaster.deliveries()).max(MIN));
    }
}

/// Rounds to whole segments; a positive fraction counts as at least one.
fn whole(segments: f64) -> u32 {
    if segments > 0.0 { libm::floor(segments + 0.5).max(1.0) as u32 } else { 0 }
}

impl CongestionControl for Sprout {
    fn on_ack(&mut self, _: &Ack) {}

    fn on_delivery(&mut self, ack: &Ack) {
        if self.forecaster.is_none() {
            self.forecaster = Some(Box::new(Forecaster::new(&self.params.link_model())));
            self.tick_began = ack.now;
        }
        self.close_ticks(ack);
        self.arrived += self.window.count(ack.acked);
    }

    fn on_congestion(&mut self, event: &Congestion) {
        if event.signal.is_timeout() {
            self.window.set(1.0);
        }
    }

    fn cwnd(&self) -> Bytes {
        self.window.cwnd()
    }

    fn ssthresh(&self) -> Bytes {
        self.window.cwnd()
    }

    fn set_cwnd(&mut self, cwnd: Bytes) {
        self.window.set_cwnd(cwnd);
    }

    fn governs_recovery(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Signal;
    use crate::cc::tests_support::{ack, congestion, ctx};

    /// Returns an ACK on a path of 50 ms with `queue_ms` of queueing delay.
    fn at(us: u64, queue_ms: u64) -> Ack {
        let rtt = Some(Span::from_millis(50 + queue_ms));
        let min_rtt = Some(Span::from_millis(50));
        Ack { now: Time(us * 1000), rtt, min_rtt, prior_in_flight: Bytes(2000), ..ack(1000) }
    }

    /// Returns a controller after five seconds at 500 segments per second.
    fn settled() -> Sprout {
        let mut sprout = Sprout::new(Params::default(), &ctx(1000, 10));
        for segment in 0..2500 {
            sprout.on_delivery(&at(100_000 + 2000 * segment, 20));
        }
        sprout
    }

    #[test]
    fn the_window_is_the_delivery_of_100_ms_less_a_margin() {
        // 50 segments are expected; more than half of them are certain enough for the percentile
        let window = settled().cwnd().0;
        assert!((25_000..45_000).contains(&window), "{window}");
    }

    #[test]
    fn silence_of_the_link_counts_and_idleness_of_the_sender_does_not() {
        let mut late = settled();
        let mut idle = settled();
        let mut lone = settled();
        // 120 ms without a segment; the next one was sent 110 ms before it arrived, or 50 ms, or was the only one in
        // flight
        late.on_delivery(&at(5_218_000, 60));
        idle.on_delivery(&at(5_218_000, 0));
        lone.on_delivery(&Ack { prior_in_flight: Bytes(1000), ..at(5_218_000, 60) });
        assert!(2 * late.cwnd().0 < idle.cwnd().0, "{} {}", late.cwnd(), idle.cwnd());
        assert_eq!(lone.cwnd(), idle.cwnd());
    }

    #[test]
    fn losses_are_ignored_and_a_timeout_leaves_one_segment() {
        let mut sprout = settled();
        let before = sprout.cwnd();
        sprout.on_congestion(&congestion(Signal::Loss, before.0));
        assert_eq!(sprout.cwnd(), before);
        sprout.on_congestion(&congestion(Signal::Timeout, before.0));
        assert_eq!(sprout.cwnd(), Bytes(1000));
        sprout.on_delivery(&at(5_140_000, 20));
        assert!(sprout.cwnd() > Bytes(10_000), "the next forecast");
    }
}
