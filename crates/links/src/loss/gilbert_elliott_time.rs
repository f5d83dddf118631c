//! Bursty loss, continuous in time.

use super::{Loss, Passing};
use airwnd_catalog::Params;
use airwnd_kernel::Stream;
use airwnd_units::{Span, Time};

/// Gilbert-Elliott in time: bursty loss by a channel with good and bad periods of exponential duration.
///
/// The channel is bad for bad / (good + bad) of the time, independently of the traffic. The share of evenly spaced
/// packets that is lost is
///
/// ```math
/// \frac{\mathrm{good} \cdot \mathrm{loss\_in\_good} + \mathrm{bad} \cdot \mathrm{loss\_in\_bad}}
/// {\mathrm{good} + \mathrm{bad}}
/// ```
///
/// The run starts in the good state.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "Gilbert 1960 and Elliott 1963, in continuous time")]
pub struct Params {
    /// Mean duration of the good state.
    #[param(basic, default = Span::from_secs(1), range = Span::from_micros(10)..=Span::from_secs(86_400))]
    #[param(unit = "time", source = "airwnd: a bad period each second")]
    pub good: Span,
    /// Mean duration of the bad state.
    #[param(basic, default = Span::from_millis(10), range = Span::from_micros(10)..=Span::from_secs(86_400))]
    #[param(unit = "time", source = "airwnd: 1 % of the time")]
    pub bad: Span,
    /// Probability that a packet is lost in the good state.
    #[param(default = 0.0, range = 0.0..=1.0, unit = "1", source = "Gilbert 1960: k = 1")]
    pub loss_in_good: f64,
    /// Probability that a packet is lost in the bad state.
    #[param(default = 1.0, range = 0.0..=1.0, unit = "1", source = "airwnd: every packet of a burst is lost")]
    pub loss_in_bad: f64,
}

/// Mean cycles without a packet after which the state is drawn instead of followed: by then it does not depend on the
/// state before.
const FORGOTTEN: u64 = 1000;

/// State of the channel.
pub struct GilbertElliottTime {
    params: Params,
    periods: Stream,
    losses: Stream,
    /// Number of periods that have ended: every second period is bad.
    ended: u64,
    /// End of the current period.
    until: Time,
}

impl GilbertElliottTime {
    /// Creates a channel in the good state, with separate streams for periods and losses.
    pub fn new(params: Params, stream: Stream, _start: Time) -> Self {
        let (periods, losses) = (stream.child(0), stream.child(1));
        let mut channel = GilbertElliottTime { params, periods, losses, ended: 0, until: Time::ZERO };
        channel.until += channel.period();
        channel
    }

    /// Number of the present period.
    #[cfg(test)]
    pub(super) fn ended(&self) -> u64 {
        self.ended
    }

    /// Draws the state at a time long after the end of the present period, and the rest of its period, which is
    /// exponential as the whole is.
    fn skip_to(&mut self, at: Time) {
        let (good, bad) = (self.params.good.0 as f64, self.params.bad.0 as f64);
        let is_bad = self.periods.at(self.ended + 1) < bad / (good + bad);
        self.ended += 2 + u64::from(is_bad != self.is_bad());
        self.until = at + self.period();
    }

    fn is_bad(&self) -> bool {
        self.ended % 2 == 1
    }

    /// Returns the duration of the current period.
    fn period(&self) -> Span {
        let mean = if self.is_bad() { self.params.bad } else { self.params.good };
        let draw = -libm::log1p(-self.periods.at(self.ended));
        Span((mean.0 as f64 * draw) as u64)
    }
}

impl Loss for GilbertElliottTime {
    fn loses(&mut self, packet: Passing) -> bool {
        let cycle = self.params.good + self.params.bad;
        if packet.at.0.saturating_sub(self.until.0) / FORGOTTEN > cycle.0 {
            self.skip_to(packet.at);
        }
        while self.until <= packet.at {
            self.ended += 1;
            self.until += self.period();
        }
        let loss = if self.is_bad() { self.params.loss_in_bad } else { self.params.loss_in_good };
        self.losses.at(packet.number) < loss
    }
}
