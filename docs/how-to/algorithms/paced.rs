//! A receive window for a given rate.

use super::{Advertisement, ReceiverContext, RecvView, RwndController};
use airwnd_catalog::Params;
use airwnd_units::{BitRate, Bytes, Time};

/// Paced: limits the sender to a given rate; rwnd is the rate times the minimum RTT.
///
/// rwnd is at least two segments, and the free buffer before the first RTT sample:
///
/// ```math
/// \mathrm{rwnd} = \mathrm{rate} \cdot \mathit{RTT}_{\min}
/// ```
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "Little, Operations Research 9(3), 1961: L = lambda W")]
pub struct Params {
    /// Rate that the window allows.
    #[param(basic, default = BitRate(1_000_000), range = BitRate(1000)..=BitRate(100_000_000_000))]
    #[param(unit = "bit/s", source = "the user's contract")]
    pub rate: BitRate,
}

/// The state of a paced window.
#[derive(Clone, Debug)]
pub struct Paced {
    params: Params,
}

impl Paced {
    /// Creates the controller of a new connection.
    pub fn new(params: Params, _: &ReceiverContext) -> Paced {
        Paced { params }
    }
}

impl RwndController for Paced {
    fn window(&self, _: Time, view: &RecvView) -> Advertisement {
        let window = view.min_rtt.map_or(view.free, |rtt| {
            Bytes((self.params.rate.0 as f64 * rtt.as_secs() / 8.0) as u64).max(view.mss * 2)
        });
        Advertisement::Window(window.min(view.free))
    }
}
