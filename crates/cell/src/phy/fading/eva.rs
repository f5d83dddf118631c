//! The extended vehicular A channel.

use super::{Fading, Pace, Tap};
use airwnd_catalog::params;
use airwnd_units::{Hertz, Speed};

/// Excess delay in nanoseconds and relative power in decibels (TS 36.104 Table B.2-2).
const TAPS: [Tap; 9] = [
    Tap::new(0, 0.0),
    Tap::new(30, -1.5),
    Tap::new(150, -1.4),
    Tap::new(310, -3.6),
    Tap::new(370, -0.6),
    Tap::new(710, -9.1),
    Tap::new(1090, -7.0),
    Tap::new(1730, -12.0),
    Tap::new(2510, -16.9),
];

params! {
    /// EVA: the extended vehicular A channel of LTE's tests, nine taps within 2.5 us.
    ///
    /// A spread of 357 ns (root mean square): a few resource-block groups fade alike.
    pub struct Params ("TS 36.104 Annex B.2, Table B.2-2") {
        /// Speed that the fading goes with; none: each terminal's own, and a walk (3 km/h) if it never moves.
        pub speed: Option<Speed> = None, unit "m/s", range Speed(0.0)..=Speed(200.0), source "ns-3 fading_trace_generator.m: 3 and 60 km/h";
        /// Greatest Doppler shift of the downlink's carrier, in place of a speed.
        pub doppler: Option<Hertz> = None, unit "Hz", range Hertz(0.0)..=Hertz(1500.0), source "TS 36.104 Table B.2-4: 5, 70 and 300 Hz";
        /// Whether the signals of other cells and of their terminals fade, too. Costs as much again for each
        /// cell that disturbs.
        pub interference: bool = true, unit "1", source "ns-3 TraceFadingLossModel fades every pair of nodes";
    }
}

/// The extended vehicular A channel.
#[derive(Clone, Debug)]
pub struct Eva {
    params: Params,
}

impl Eva {
    /// A channel with these parameters.
    pub fn new(params: Params) -> Eva {
        Eva { params }
    }
}

impl Fading for Eva {
    fn taps(&self) -> &[Tap] {
        &TAPS
    }
    fn pace(&self) -> Pace {
        Pace::of(self.params.speed, self.params.doppler)
    }
    fn fades_interference(&self) -> bool {
        self.params.interference
    }
}
