//! Bursty loss, stepped per packet.

use super::{Loss, Passing};
use airwnd_catalog::Params;
use airwnd_kernel::Stream;
use airwnd_units::Time;

/// Gilbert-Elliott: bursty loss by a two-state Markov chain that steps once per packet.
///
/// With probability p from good to bad and r from bad to good, the chain is bad for p / (p + r) of the packets, in
/// bursts of 1 / r = 1 / (1 - p_BB) packets on average. The share of lost packets is
///
/// ```math
/// \frac{r \, \mathrm{loss\_in\_good} + p \, \mathrm{loss\_in\_bad}}{p + r}
/// ```
///
/// The first packet meets the good state.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "Gilbert: Capacity of a Burst-Noise Channel, Bell System Technical Journal 39(5), 1960; \
              Elliott: Estimates of Error Rates for Codes on Burst-Noise Channels, ibid. 42(5), 1963")]
pub struct Params {
    /// Probability that the good state ends with a packet.
    #[param(basic)]
    #[param(default = 0.01, range = 0.0..=1.0, unit = "1", source = "airwnd: bursts 100 packets apart")]
    pub good_to_bad: f64,
    /// Probability that the bad state ends with a packet.
    #[param(basic, default = 0.25, range = 0.0..=1.0, unit = "1", source = "airwnd: bursts of 4 packets")]
    pub bad_to_good: f64,
    /// Probability that a packet is lost in the good state.
    #[param(default = 0.0, range = 0.0..=1.0, unit = "1", source = "Gilbert 1960: k = 1")]
    pub loss_in_good: f64,
    /// Probability that a packet is lost in the bad state.
    #[param(default = 1.0, range = 0.0..=1.0, unit = "1", source = "airwnd: every packet of a burst is lost")]
    pub loss_in_bad: f64,
}

/// State of the chain.
pub struct GilbertElliott {
    params: Params,
    steps: Stream,
    losses: Stream,
    bad: bool,
}

impl GilbertElliott {
    /// Creates a chain in the good state, with separate streams for steps and losses.
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
