//! The carriers of a network.

use crate::Prbs;
use airwnd_catalog::{Choice, Params};
use airwnd_units::{Dbm, Hertz};

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

/// Maximum number of component carriers of a UE.
// A choice: UEs with more are rare; TS 36.300 §5.5 allows up to 32, five of them since Release 10.
pub const MAX_CARRIERS: usize = 4;

/// Carrier, shared by all cells: the primary one, with carrier aggregation.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "TS 36.101 §5; TS 38.101-1 and TS 38.101-2 §5; ns-3 lte-enb-net-device.cc", check)]
pub struct Carrier {
    /// Channel bandwidth of the downlink and of the uplink.
    #[param(basic, default = Bandwidth::Mhz10, unit = "word", source = "ARWA 2019 Table 1")]
    pub bandwidth: Bandwidth,
    /// Carrier frequency of the downlink.
    #[param(basic, default = Hertz(2.12e9), range = Hertz(1e8)..=Hertz(71e9))]
    #[param(unit = "Hz", source = "EARFCN 100, ns-3 default")]
    pub downlink_frequency: Hertz,
    /// Carrier frequency of the uplink; `none`: `downlink_frequency` in TDD, 1930 MHz in FDD, which NR has up to 3 GHz only.
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
    #[param(basic, default = None, unit = "word", source = "TS 36.101 §5.6A; TS 38.101-1 §5.3A")]
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
        let (count, max) = (self.secondary.len(), MAX_CARRIERS - 1);
        if count > max {
            return Err(("secondary", format!("{count} secondary carriers; at most {max} are allowed")));
        }
        Ok(())
    }

    /// The carrier frequency of the uplink, in TDD or FDD.
    pub fn uplink(&self, is_tdd: bool) -> Hertz {
        self.uplink_frequency.unwrap_or(if is_tdd { self.downlink_frequency } else { UPLINK_FREQUENCY })
    }
}
