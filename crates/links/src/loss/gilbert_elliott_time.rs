//! Losses in bursts, measured in time.

use super::{Loss, Passing};
use airwnd_catalog::Params;
use airwnd_kernel::Stream;
use airwnd_units::{Span, Time};

/// Gilbert-Elliott in time: a channel that is good and bad in turn, for exponentially distributed spells.
///
/// It is bad for bad / (good + bad) of the time, whoever sends; the share of evenly spaced packets that is
/// lost is (good loss_in_good + bad loss_in_bad) / (good + bad). The run begins in the good state.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "Gilbert 1960 and Elliott 1963, in continuous time")]
pub struct Params {
    /// Mean duration of the good state.
    #[param(default = Span::from_secs(1), range = Span::from_micros(10)..=Span::from_secs(86_400))]
    #[param(unit = "time", source = "airwnd: a bad spell each second")]
    pub good: Span,
    /// Mean duration of the bad state.
    #[param(default = Span::from_millis(10), range = Span::from_micros(10)..=Span::from_secs(86_400))]
    #[param(unit = "time", source = "airwnd: 1 % of the time")]
    pub bad: Span,
    /// Probability that a packet is lost in the good state.
    #[param(default = 0.0, range = 0.0..=1.0, unit = "1", source = "Gilbert 1960: k = 1")]
    pub loss_in_good: f64,
    /// Probability that a packet is lost in the bad state.
    #[param(default = 1.0, range = 0.0..=1.0, unit = "1", source = "airwnd: a burst is one of losses")]
    pub loss_in_bad: f64,
}

/// A channel that changes with time.
pub struct GilbertElliottTime {
    params: Params,
    spells: Stream,
    losses: Stream,
    /// How many spells have ended: the channel is bad in every second one.
    ended: u64,
    /// When the present spell ends.
    until: Time,
}

impl GilbertElliottTime {
    /// A channel in its good state; its spells and the losses have a stream each.
    pub fn new(params: Params, stream: Stream, _start: Time) -> Self {
        let (spells, losses) = (stream.child(0), stream.child(1));
        let mut channel = GilbertElliottTime { params, spells, losses, ended: 0, until: Time::ZERO };
        channel.until += channel.spell();
        channel
    }

    fn is_bad(&self) -> bool {
        self.ended % 2 == 1
    }

    /// The duration of the present spell.
    fn spell(&self) -> Span {
        let mean = if self.is_bad() { self.params.bad } else { self.params.good };
        let draw = -libm::log1p(-self.spells.at(self.ended));
        Span((mean.0 as f64 * draw) as u64)
    }
}

impl Loss for GilbertElliottTime {
    fn loses(&mut self, packet: Passing) -> bool {
        while self.until <= packet.at {
            self.ended += 1;
            self.until += self.spell();
        }
        let loss = if self.is_bad() { self.params.loss_in_bad } else { self.params.loss_in_good };
        self.losses.at(packet.number) < loss
    }
}
