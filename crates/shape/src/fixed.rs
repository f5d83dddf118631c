//! Rates that the user knows.

use crate::Control;
use airwnd_catalog::Params;
use airwnd_units::{BitRate, Bytes, Time};

/// Fixed: constant rates, such as 95 % of those of the link.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "Linux tc-cake(8), bandwidth")]
pub struct Params {
    /// Rate of the downlink; `none`: no limit.
    #[param(basic, default = None, range = BitRate(1000)..=BitRate(1_000_000_000_000))]
    #[param(unit = "bit/s", source = "the scenario")]
    pub rate: Option<BitRate>,
    /// Rate of the uplink; `none`: no limit.
    #[param(basic, default = None, range = BitRate(1000)..=BitRate(1_000_000_000_000))]
    #[param(unit = "bit/s", source = "the scenario")]
    pub rate_up: Option<BitRate>,
}

/// Constant rates.
pub struct Fixed {
    rates: [Option<BitRate>; 2],
}

impl Fixed {
    /// Rates of the downlink and the uplink.
    pub fn new(params: Params) -> Fixed {
        Fixed { rates: [params.rate, params.rate_up] }
    }
}

impl Control for Fixed {
    fn tick(&mut self, _: Time, _: Bytes, _: Bytes) -> [Option<BitRate>; 2] {
        self.rates
    }

    fn set_rates(&mut self, rates: [Option<BitRate>; 2]) -> bool {
        self.rates = rates;
        true
    }
}
