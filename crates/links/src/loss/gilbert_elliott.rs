//! Losses in bursts, counted in packets.

use super::{Loss, Passing};
use airwnd_catalog::Params;
use airwnd_kernel::Stream;
use airwnd_units::Time;

/// Gilbert-Elliott: a two-state Markov chain that takes a step with each packet.
///
/// With p from good to bad and r from bad to good, the chain is bad for p / (p + r) of the packets, in spells
/// of 1 / r = 1 / (1 - p_BB) packets on average; the share of packets lost is
/// (r loss_in_good + p loss_in_bad) / (p + r). The first packet meets the good state.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "Gilbert, Bell System Technical Journal 39(5), 1960; Elliott, ibid. 42(5), 1963")]
pub struct Params {
    /// Probability that the good state ends with a packet.
    #[param(default = 0.01, range = 0.0..=1.0, unit = "1", source = "airwnd: bursts 100 packets apart")]
    pub good_to_bad: f64,
    /// Probability that the bad state ends with a packet.
    #[param(default = 0.25, range = 0.0..=1.0, unit = "1", source = "airwnd: bursts of 4 packets")]
    pub bad_to_good: f64,
    /// Probability that a packet is lost in the good state.
    #[param(default = 0.0, range = 0.0..=1.0, unit = "1", source = "Gilbert 1960: k = 1")]
    pub loss_in_good: f64,
    /// Probability that a packet is lost in the bad state.
    #[param(default = 1.0, range = 0.0..=1.0, unit = "1", source = "airwnd: a burst is one of losses")]
    pub loss_in_bad: f64,
}

/// A chain that steps with the packets.
pub struct GilbertElliott {
    params: Params,
    steps: Stream,
    losses: Stream,
    bad: bool,
}

impl GilbertElliott {
    /// A chain in its good state; its steps and the losses have a stream each.
    pub fn new(params: Params, stream: Stream, _start: Time) -> Self {
        GilbertElliott { params, steps: stream.child(0), losses: stream.child(1), bad: false }
    }
}

impl Loss for GilbertElliott {
    fn loses(&mut self, packet: Passing) -> bool {
        let params = &self.params;
        let (loss, leave) = if self.bad {
            (params.loss_in_bad, params.bad_to_good)
        } else {
            (params.loss_in_good, params.good_to_bad)
        };
        self.bad ^= self.steps.at(packet.number) < leave;
        self.losses.at(packet.number) < loss
    }
}
