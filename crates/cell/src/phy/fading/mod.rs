//! Small-scale fading: multipath propagation varies a link's gain around its mean, over frequency and over fractions of
//! a wavelength of motion.

pub mod delay_line;
pub mod trace;

use airwnd_catalog::family;
use airwnd_units::{Db, Hertz, Span, Speed};

/// Declares a multipath profile of the standard: its taps, in nanoseconds and decibels, and the parameters common to
/// all profiles.
macro_rules! profile {
    (
        $(#[doc = $doc:literal])+
        $name:ident ($source:literal) [$(($delay_ns:literal, $power_db:literal)),+]
    ) => {
        const TAPS: &[$crate::phy::fading::Tap] = &[$($crate::phy::fading::Tap::new($delay_ns, $power_db)),+];

        $(#[doc = $doc])+
        #[derive(Clone, Debug, PartialEq, airwnd_catalog::Params)]
        #[params(source = $source, check)]
        pub struct Params {
            /// Speed for the Doppler spectrum; `none`: each UE's own speed, and a walking speed (3 km/h) if it never
            /// moves.
            #[param(default = None, range = airwnd_units::Speed(0.0)..=airwnd_units::Speed(200.0))]
            #[param(unit = "m/s", source = "ns-3 fading_trace_generator.m: 3 and 60 km/h")]
            pub speed: Option<airwnd_units::Speed>,
            /// Maximum Doppler shift of the downlink's carrier, instead of a speed.
            #[param(default = None, range = airwnd_units::Hertz(0.0)..=airwnd_units::Hertz(1500.0))]
            #[param(unit = "Hz", source = "TS 36.104 Table B.2-4: 5, 70 and 300 Hz")]
            pub doppler: Option<airwnd_units::Hertz>,
            /// Whether the signals of interfering cells and UEs fade, too. Costs as much computation again for each
            /// interfering cell.
            #[param(default = true)]
            #[param(unit = "1", source = "ns-3 TraceFadingLossModel fades every pair of nodes")]
            pub interference: bool,
        }

        impl Params {
            fn check(&self) -> Result<(), (&'static str, String)> {
                $crate::phy::fading::check_pace(self.speed, self.doppler)
            }
        }

        $(#[doc = $doc])+
        #[derive(Clone, Debug)]
        pub struct $name {
            params: Params,
        }

        impl $name {
            /// A channel with these parameters.
            pub fn new(params: Params) -> $name {
                $name { params }
            }
        }

        impl $crate::phy::fading::Fading for $name {
            fn taps(&self) -> &[$crate::phy::fading::Tap] {
                TAPS
            }
            fn pace(&self) -> $crate::phy::fading::Pace {
                $crate::phy::fading::Pace::of(self.params.speed, self.params.doppler)
            }
            fn fades_interference(&self) -> bool {
                self.params.interference
            }
        }
    };
}

/// Small-scale fading: variation of a link's gain around its mean, over time and frequency.
#[family(name = "fading", build = fn() -> Box<dyn Fading>)]
#[derive(Clone, Debug, PartialEq)]
pub enum Spec {
    NoFading(none::Params),
    Epa(epa::Params),
    Eva(eva::Params),
    Etu(etu::Params),
}

/// A multipath channel as a tapped delay line: delays, powers and rate of change of its taps.
///
/// Every tap fades independently with a Rayleigh distribution and Clarke's Doppler spectrum.
pub trait Fading: Send + Sync {
    /// The resolvable paths; a channel without taps is constant.
    fn taps(&self) -> &[Tap];
    /// The rate of change of the taps.
    fn pace(&self) -> Pace;
    /// Whether interfering signals fade, too.
    fn fades_interference(&self) -> bool;
}

/// A path, or several with the same delay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tap {
    /// Delay relative to the first tap.
    pub delay: Span,
    /// Mean power relative to other taps; the sum of all taps is normalised to one.
    pub power: Db,
}

impl Tap {
    /// A tap in the units of the standard's tables.
    const fn new(delay_ns: u64, power_db: f64) -> Tap {
        Tap { delay: Span::from_nanos(delay_ns), power: Db(power_db) }
    }
}

/// Rate of change of fading.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// That of a UE with this speed.
    Speed(Speed),
    /// With this maximum Doppler shift of the downlink's carrier.
    Doppler(Hertz),
    /// The speed of each UE, and [`LEAST_SPEED`] for UEs that never move.
    Own,
}

/// Assumed speed of the surroundings of a UE that never moves (ns-3's slowest traces are of 3 km/h).
//= exception fading-at-rest
pub const LEAST_SPEED: Speed = Speed(3.0 / 3.6);

impl Pace {
    /// The pace from two parameters, of which at most one is set.
    fn of(speed: Option<Speed>, doppler: Option<Hertz>) -> Pace {
        match (speed, doppler) {
            (Some(speed), _) => Pace::Speed(speed),
            (None, Some(doppler)) => Pace::Doppler(doppler),
            (None, None) => Pace::Own,
        }
    }
}

/// Checks that speed and Doppler shift are not both set.
fn check_pace(speed: Option<Speed>, doppler: Option<Hertz>) -> Result<(), (&'static str, String)> {
    match (speed, doppler) {
        (Some(speed), Some(_)) => {
            Err(("doppler", format!("`speed` = {speed} already sets it; give one of the two")))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airwnd_catalog::{Fault, Param};

    #[test]
    fn profiles_have_their_known_delay_spreads() {
        // root mean square of the delays around their mean, weighted by power: 43, 357 and 991 ns
        for (spec, expected) in [
            (Spec::Epa(epa::Params::default()), 43.0),
            (Spec::Eva(eva::Params::default()), 357.0),
            (Spec::Etu(etu::Params::default()), 991.0),
        ] {
            let fading = spec.build();
            let taps: Vec<(f64, f64)> =
                fading.taps().iter().map(|tap| (tap.power.linear(), tap.delay.0 as f64)).collect();
            let mean = |of: &dyn Fn(f64) -> f64| {
                taps.iter().map(|(power, delay)| power * of(*delay)).sum::<f64>()
                    / taps.iter().map(|(power, _)| power).sum::<f64>()
            };
            let middle = mean(&|delay| delay);
            let spread = libm::sqrt(mean(&|delay| (delay - middle) * (delay - middle)));
            assert!((spread - expected).abs() < 0.5, "{}: {spread}", spec.kind());
        }
        assert!(Spec::NoFading(none::Params {}).build().taps().is_empty());
    }

    #[test]
    fn the_pace_is_a_speed_or_a_shift_but_not_both() {
        let eva = |speed, doppler| Spec::Eva(eva::Params { speed, doppler, interference: true });
        let (speed, doppler) = (Speed(10.0), Hertz(70.0));
        for (spec, pace) in [
            (eva(None, None), Pace::Own),
            (eva(Some(speed), None), Pace::Speed(speed)),
            (eva(None, Some(doppler)), Pace::Doppler(doppler)),
        ] {
            assert_eq!((spec.build().pace(), spec.check_values()), (pace, Ok(())));
        }
        let fault = eva(Some(speed), Some(doppler)).check_values().unwrap_err();
        assert_eq!(fault, Fault::new("doppler", "`speed` = 10m/s already sets it; give one of the two"));
    }
}
