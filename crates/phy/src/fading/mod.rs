//! Small-scale fading: multipath propagation varies a link's gain around its mean, over frequency and over fractions of
//! a wavelength of motion.

pub mod delay_line;
pub mod trace;

use airwnd_catalog::family;
use airwnd_units::{Db, Hertz, Span, Speed};

/// Declares a multipath profile of a standard: its taps and the parameters common to all profiles. Taps are pairs of
/// delay and power in decibels. Delays are in nanoseconds; after `scaled`, they are relative to the RMS delay spread, which
/// is a parameter, and the first tap after `line_of_sight` does not fade.
macro_rules! profile {
    (
        $(#[doc = $doc:literal])+
        $name:ident ($source:literal) [$($tap:expr),+]
    ) => {
        channel! {
            $(#[doc = $doc])+
            $name ($source) {} |_: &Params| $crate::fading::fixed(&[$($tap),+])
        }
    };
    (
        $(#[doc = $doc:literal])+
        $name:ident ($source:literal) scaled $({line_of_sight $power:literal})? [$($tap:expr),+]
    ) => {
        channel! {
            $(#[doc = $doc])+
            $name ($source) {
                /// RMS delay spread.
                #[param(basic, default = airwnd_units::Span::from_nanos(100))]
                #[param(range = airwnd_units::Span::from_nanos(10)..=airwnd_units::Span::from_nanos(1000))]
                #[param(unit = "time", source = "TR 38.901 Table 7.7.3-1: nominal; 10 ns to 1 us")]
                pub delay_spread: airwnd_units::Span,
            } |params: &Params| {
                let line_of_sight = [$($crate::fading::Tap::line_of_sight($power))?];
                $crate::fading::scaled(params.delay_spread, &line_of_sight, &[$($tap),+])
            }
        }
    };
}

/// Declares a multipath channel with parameters of its own, if any, and those common to all.
macro_rules! channel {
    (
        $(#[doc = $doc:literal])+
        $name:ident ($source:literal) { $($own:tt)* } $taps:expr
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, Debug, PartialEq, airwnd_catalog::Params)]
        #[params(source = $source, check)]
        pub struct Params {
            $($own)*
            /// Speed for the Doppler spectrum; `none`: each UE's own speed, and a walking speed (3 km/h) while it is at
            /// rest.
            #[param(basic, default = None, range = airwnd_units::Speed(0.0)..=airwnd_units::Speed(200.0))]
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
                $crate::fading::check_pace(self.speed, self.doppler)
            }
        }

        $(#[doc = $doc])+
        #[derive(Clone, Debug)]
        pub struct $name {
            params: Params,
            taps: Vec<$crate::fading::Tap>,
        }

        impl $name {
            /// A channel with these parameters.
            pub fn new(params: Params) -> $name {
                let taps: fn(&Params) -> Vec<$crate::fading::Tap> = $taps;
                $name { taps: taps(&params), params }
            }
        }

        impl $crate::fading::Fading for $name {
            fn taps(&self) -> &[$crate::fading::Tap] {
                &self.taps
            }
            fn pace(&self) -> $crate::fading::Pace {
                $crate::fading::Pace::of(self.params.speed, self.params.doppler)
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
    TdlA(tdl_a::Params),
    TdlB(tdl_b::Params),
    TdlC(tdl_c::Params),
    TdlD(tdl_d::Params),
    TdlE(tdl_e::Params),
}

/// A multipath channel as a tapped delay line: delays, powers and rate of change of its taps.
///
/// Every tap fades independently with a Rayleigh distribution and Clarke's Doppler spectrum, except one on a line of
/// sight.
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
    /// Whether it is a single path, whose power does not fade.
    pub is_line_of_sight: bool,
}

impl Tap {
    /// A tap that fades, in the units of the standards' tables.
    const fn new(delay_ns: u64, power_db: f64) -> Tap {
        Tap { delay: Span::from_nanos(delay_ns), power: Db(power_db), is_line_of_sight: false }
    }

    /// The path on the line of sight, which arrives first.
    //= exception line-of-sight-from-anywhere
    const fn line_of_sight(power_db: f64) -> Tap {
        Tap { is_line_of_sight: true, ..Tap::new(0, power_db) }
    }
}

/// Taps of a profile in nanoseconds and decibels.
fn fixed(taps: &[(u64, f64)]) -> Vec<Tap> {
    taps.iter().map(|(delay, power)| Tap::new(*delay, *power)).collect()
}

/// Taps of a profile whose delays are relative to the RMS delay spread, after a path on the line of sight, if any.
//= TR 38.901 §7.7.3
fn scaled(spread: Span, line_of_sight: &[Tap], taps: &[(f64, f64)]) -> Vec<Tap> {
    let nanos = |delay: f64| libm::round(delay * spread.0 as f64) as u64;
    let taps = taps.iter().map(|(delay, power)| Tap::new(nanos(*delay), *power));
    line_of_sight.iter().copied().chain(taps).collect()
}

/// Rate of change of fading.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// That of a UE with this speed.
    Speed(Speed),
    /// With this maximum Doppler shift of the downlink's carrier.
    Doppler(Hertz),
    /// The speed of each UE, and [`MIN_SPEED`] while it is at rest.
    Own,
}

/// Assumed speed of the surroundings of a UE at rest (ns-3's slowest traces are of 3 km/h).
//= exception fading-at-rest
pub const MIN_SPEED: Speed = Speed(3.0 / 3.6);

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
        // root mean square of the delays around their mean, weighted by power: 43, 357 and 991 ns; that of the tapped
        // delay lines is the parameter, but for their table's rounding
        let delay_spread = Span::from_nanos(1000);
        for (spec, expected) in [
            (Spec::Epa(epa::Params::default()), 43.0),
            (Spec::Eva(eva::Params::default()), 357.0),
            (Spec::Etu(etu::Params::default()), 991.0),
            (Spec::TdlA(tdl_a::Params { delay_spread, ..Default::default() }), 1000.0),
            (Spec::TdlB(tdl_b::Params { delay_spread, ..Default::default() }), 1000.0),
            (Spec::TdlC(tdl_c::Params { delay_spread, ..Default::default() }), 1000.0),
            (Spec::TdlD(tdl_d::Params { delay_spread, ..Default::default() }), 994.0),
            (Spec::TdlE(tdl_e::Params { delay_spread, ..Default::default() }), 1000.0),
        ] {
            let fading = spec.build();
            let taps: Vec<(f64, f64)> =
                fading.taps().iter().map(|tap| (tap.power.linear(), tap.delay.0 as f64)).collect();
            let mean = |value: &dyn Fn(f64) -> f64| {
                taps.iter().map(|(power, delay)| power * value(*delay)).sum::<f64>()
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
