//! The carriers of a network.

use crate::access::{self, Access};
use crate::phy::Prbs;
use airwnd_catalog::{Choice, Params};
use airwnd_kernel::Stream;
use airwnd_units::{Dbm, Hertz};
use std::sync::Arc;

/// Channel bandwidths (TS 36.101 Table 5.6-1; TS 38.101-1 and TS 38.101-2 Table 5.3.5-1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Bandwidth {
    /// LTE only: 6 PRBs.
    #[word = "1.4MHz"]
    Mhz1p4,
    /// 15 PRBs in LTE.
    #[word = "3MHz"]
    Mhz3,
    /// 25 PRBs in LTE.
    #[word = "5MHz"]
    Mhz5,
    /// NR only.
    #[word = "7MHz"]
    Mhz7,
    /// 50 PRBs in LTE.
    #[word = "10MHz"]
    Mhz10,
    /// 75 PRBs in LTE.
    #[word = "15MHz"]
    Mhz15,
    /// 100 PRBs in LTE.
    #[word = "20MHz"]
    Mhz20,
    /// NR only.
    #[word = "25MHz"]
    Mhz25,
    /// NR only.
    #[word = "30MHz"]
    Mhz30,
    /// NR only.
    #[word = "35MHz"]
    Mhz35,
    /// NR only.
    #[word = "40MHz"]
    Mhz40,
    /// NR only.
    #[word = "45MHz"]
    Mhz45,
    /// NR only.
    #[word = "50MHz"]
    Mhz50,
    /// NR only.
    #[word = "60MHz"]
    Mhz60,
    /// NR only.
    #[word = "70MHz"]
    Mhz70,
    /// NR only.
    #[word = "80MHz"]
    Mhz80,
    /// NR only.
    #[word = "90MHz"]
    Mhz90,
    /// NR only.
    #[word = "100MHz"]
    Mhz100,
    /// NR only.
    #[word = "200MHz"]
    Mhz200,
    /// NR only.
    #[word = "400MHz"]
    Mhz400,
}

impl Bandwidth {
    /// LTE's transmission bandwidth in PRBs; `None` if LTE does not have it.
    pub fn lte_prbs(self) -> Option<Prbs> {
        Some(Prbs(match self {
            Bandwidth::Mhz1p4 => 6,
            Bandwidth::Mhz3 => 15,
            Bandwidth::Mhz5 => 25,
            Bandwidth::Mhz10 => 50,
            Bandwidth::Mhz15 => 75,
            Bandwidth::Mhz20 => 100,
            _ => return None,
        }))
    }

    /// The channel bandwidth in MHz; `None` for 1.4 MHz.
    pub fn megahertz(self) -> Option<u16> {
        Some(match self {
            Bandwidth::Mhz1p4 => return None,
            Bandwidth::Mhz3 => 3,
            Bandwidth::Mhz5 => 5,
            Bandwidth::Mhz7 => 7,
            Bandwidth::Mhz10 => 10,
            Bandwidth::Mhz15 => 15,
            Bandwidth::Mhz20 => 20,
            Bandwidth::Mhz25 => 25,
            Bandwidth::Mhz30 => 30,
            Bandwidth::Mhz35 => 35,
            Bandwidth::Mhz40 => 40,
            Bandwidth::Mhz45 => 45,
            Bandwidth::Mhz50 => 50,
            Bandwidth::Mhz60 => 60,
            Bandwidth::Mhz70 => 70,
            Bandwidth::Mhz80 => 80,
            Bandwidth::Mhz90 => 90,
            Bandwidth::Mhz100 => 100,
            Bandwidth::Mhz200 => 200,
            Bandwidth::Mhz400 => 400,
        })
    }
}

/// Most component carriers of a UE.
// A choice: UEs with more are rare; TS 36.300 §5.5 allows up to 32, five of them since Release 10.
pub const MOST_CARRIERS: usize = 4;

/// Carrier, shared by all cells: the primary one, with carrier aggregation.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "TS 36.101 §5; TS 38.101-1 and TS 38.101-2 §5; ns-3 lte-enb-net-device.cc", check)]
pub struct Carrier {
    /// Channel bandwidth of the downlink and of the uplink.
    #[param(default = Bandwidth::Mhz10, unit = "word", source = "ARWA 2019 Table 1")]
    pub bandwidth: Bandwidth,
    /// Carrier frequency of the downlink.
    #[param(default = Hertz(2.12e9), range = Hertz(1e8)..=Hertz(71e9))]
    #[param(unit = "Hz", source = "EARFCN 100, ns-3 default")]
    pub downlink_frequency: Hertz,
    /// Carrier frequency of the uplink; `none`: `downlink_frequency` in TDD, 1930 MHz in FDD.
    #[param(default = None, range = Hertz(1e8)..=Hertz(71e9))]
    #[param(unit = "Hz", source = "TS 38.104 §5.2; in FDD EARFCN 18100, ns-3 default")]
    pub uplink_frequency: Option<Hertz>,
    /// Secondary component carriers of every cell, at most three, for carrier aggregation.
    #[param(default = Vec::new(), unit = "1", source = "TS 36.300 §5.5; a choice: one carrier")]
    pub secondary: Vec<SecondaryCarrier>,
}

/// A secondary component carrier of every cell, for the downlink: its PRBs add to those of the primary carrier.
///
/// It is sent from the antennas of the primary carrier, with path loss by its own frequency, the same shadowing and
/// fading of its own. It has its own control channels, channel reports, scheduler and HARQ processes; RLC divides a
/// bearer's data among the carriers.
//= exception carriers-in-the-downlink
//= exception carriers-scheduled-apart
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "TS 36.300 §5.5 and §7.5; TS 38.300 §5.4.1 and §6.7")]
pub struct SecondaryCarrier {
    /// Channel bandwidth; `none`: that of the primary carrier.
    #[param(default = None, unit = "word", source = "TS 36.101 §5.6A; TS 38.101-1 §5.3A")]
    pub bandwidth: Option<Bandwidth>,
    /// Carrier frequency.
    #[param(range = Hertz(1e8)..=Hertz(71e9), unit = "Hz", source = "the scenario")]
    pub downlink_frequency: Hertz,
    /// Transmit power of each sector over this carrier; `none`: as over the primary one, `site.power`.
    #[param(default = None, range = Dbm(-50.0)..=Dbm(80.0), unit = "dBm", source = "a choice")]
    pub power: Option<Dbm>,
}

/// Uplink frequency by default in FDD: EARFCN 18100 (TS 36.101 §5.7.3).
const UPLINK_FREQUENCY: Hertz = Hertz(1.93e9);

impl Carrier {
    fn check(&self) -> Result<(), (&'static str, String)> {
        let (count, most) = (self.secondary.len(), MOST_CARRIERS - 1);
        if count > most {
            return Err(("secondary", format!("{count} secondary carriers; at most {most} are allowed")));
        }
        Ok(())
    }

    /// The carrier frequency of the uplink, in TDD or FDD.
    pub(crate) fn uplink(&self, is_tdd: bool) -> Hertz {
        self.uplink_frequency.unwrap_or(if is_tdd { self.downlink_frequency } else { UPLINK_FREQUENCY })
    }

    /// Its component carriers with this access, the primary one first.
    ///
    /// # Errors
    /// The key at fault and a message, if the access does not have a carrier, or if two carriers overlap.
    pub fn components(&self, access: &access::Spec) -> Result<Vec<ComponentCarrier>, (String, String)> {
        let primary = access.on(self).map_err(|(key, message)| (key.to_string(), message))?;
        let mut components = vec![ComponentCarrier {
            number: 0,
            access: Arc::new(primary),
            downlink_frequency: self.downlink_frequency,
            uplink_frequency: access.uplink_frequency(self),
            power: None,
        }];
        for (index, secondary) in self.secondary.iter().enumerate() {
            let within = |(key, message)| (format!("secondary[{index}].{key}"), message);
            let carrier = Carrier {
                bandwidth: secondary.bandwidth.unwrap_or(self.bandwidth),
                downlink_frequency: secondary.downlink_frequency,
                uplink_frequency: None,
                secondary: Vec::new(),
            };
            let component = ComponentCarrier {
                number: index as u8 + 1,
                access: Arc::new(access.on(&carrier).map_err(within)?),
                downlink_frequency: carrier.downlink_frequency,
                uplink_frequency: access.uplink_frequency(&carrier),
                power: secondary.power,
            };
            if let Some(other) = components.iter().find(|other| component.overlaps(other)) {
                let message = format!(
                    "{} overlaps the carrier at {}; their centres are at least {} apart",
                    component.downlink_frequency,
                    other.downlink_frequency,
                    component.least_distance(other)
                );
                return Err(within(("downlink_frequency", message)));
            }
            components.push(component);
        }
        Ok(components)
    }
}

/// A component carrier: the primary one of a network, or a secondary one, of which only the downlink is used.
#[derive(Clone, Debug)]
pub struct ComponentCarrier {
    /// Its number; that of the primary carrier is zero.
    pub(crate) number: u8,
    pub(crate) access: Arc<Access>,
    pub(crate) downlink_frequency: Hertz,
    pub(crate) uplink_frequency: Hertz,
    /// Transmit power of each sector; `None`: that of the site.
    pub(crate) power: Option<Dbm>,
}

impl ComponentCarrier {
    /// The random stream of something that each carrier has, from that of the primary carrier. Its children are
    /// numbered from zero, so that the last numbers are free.
    pub(crate) fn stream(&self, primary: Stream) -> Stream {
        match self.number {
            0 => primary,
            number => primary.child(u64::MAX - u64::from(number)),
        }
    }

    /// Least distance to another carrier: their PRBs do not overlap.
    // The nominal spacing of contiguous carriers is larger by the guard bands (TS 36.101 §5.7.1A).
    fn least_distance(&self, other: &ComponentCarrier) -> Hertz {
        let width = |of: &ComponentCarrier| f64::from(of.access.prbs.0) * of.access.prb_bandwidth.0;
        Hertz((width(self) + width(other)) / 2.0)
    }

    fn overlaps(&self, other: &ComponentCarrier) -> bool {
        let distance = self.downlink_frequency.0 - other.downlink_frequency.0;
        distance.abs() < self.least_distance(other).0
    }
}
