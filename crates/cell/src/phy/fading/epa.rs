//! The extended pedestrian A channel.

use super::{Fading, Pace, Tap};
use airwnd_catalog::params;
use airwnd_units::{Hertz, Speed};

/// Excess delay in nanoseconds and relative power in decibels (TS 36.104 Table B.2-1).
const TAPS: [Tap; 7] = [
    Tap::new(0, 0.0),
    Tap::new(30, -1.0),
    Tap::new(70, -2.0),
    Tap::new(90, -3.0),
    Tap::new(110, -8.0),
    Tap::new(190, -17.2),
    Tap::new(410, -20.8),
];

params! {
    /// EPA: the extended pedestrian A channel of LTE's tests, seven taps within 410 ns.
    ///
    /// A spread of 43 ns (root mean square): several megahertz fade alike.
    pub struct Params ("TS 36.104 Annex B.2, Table B.2-1") {
        /// Speed that the fading goes with; none: each terminal's own, and a walk (3 km/h) if it never moves.
        pub speed: Option<Speed> = None, unit "m/s", range Speed(0.0)..=Speed(200.0), source "ns-3 fading_trace_generator.m: 3 and 60 km/h";
        /// Greatest Doppler shift of the downlink's carrier, in place of a speed.
        pub doppler: Option<Hertz> = None, unit "Hz", range Hertz(0.0)..=Hertz(1500.0), source "TS 36.104 Table B.2-4: 5, 70 and 300 Hz";
        /// Whether the signals of other cells and of their terminals fade, too. Costs as much again for each
        /// cell that disturbs.
        pub interference: bool = true, unit "1", source "ns-3 TraceFadingLossModel fades every pair of nodes";
    }
}

/// The extended pedestrian A channel.
#[derive(Clone, Debug)]
pub struct Epa {
    params: Params,
}

impl Epa {
    /// A channel with these parameters.
    pub fn new(params: Params) -> Epa {
        Epa { params }
    }
}

impl Fading for Epa {
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
