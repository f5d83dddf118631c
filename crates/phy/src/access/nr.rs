//! NR.

use super::timing::{Slot, Timing};
use super::{Access, ControlRegion};
use crate::carrier::Carrier;
use crate::mimo;
use crate::nr::carrier::{FrequencyRange, channel_bandwidths, transmission_bandwidth};
use crate::nr::ldpc::Combining;
use crate::nr::slots::{Dmrs, Numerology, SYMBOLS, decoding_symbols, min_offset, preparation_symbols};
use crate::nr::tables::Table;
use crate::nr::tdd::{Configuration, Invalid, Pattern, SlotUse, periods_ms};
use crate::nr::transport_block::{Overhead, size, size_in_lena};
use crate::{Cqi, Mcs, Prbs, Scheme};
use airwnd_catalog::{Choice, Error, Node, Param, Params, serde_json};
use airwnd_units::{Db, Hertz, SlotClock, Span};

/// Subcarriers of a PRB.
const SUBCARRIERS: f64 = 12.0;
/// Lowest carrier frequency of FR2 (TS 38.101-2 §5.1).
const FR2: Hertz = Hertz(24.25e9);
/// Nominal RBG sizes P of configuration 1 with the largest carrier of each (TS 38.214 Table 5.1.2.2.1-1).
const RBG_PRBS: [(u16, u16); 4] = [(36, 2), (72, 4), (144, 8), (275, 16)];
/// Resource elements of one PRB that a symbol of DMRS can take, with both CDM groups of type 1 (TS 38.211 §7.4.1.1).
const DMRS_OF_SYMBOL: u8 = 12;

/// Upper ends in bytes of the levels 1 to 30 in a short BSR; level 31 is beyond (TS 38.321 Table 6.1.3.1-1).
pub const BUFFER_LEVELS: [u64; 30] = [
    10, 14, 20, 28, 38, 53, 74, 102, 142, 198, 276, 384, 535, 745, 1038, 1446, 2014, 2806, 3909, 5446, 7587,
    10570, 14726, 20516, 28581, 39818, 55474, 77284, 107_669, 150_000,
];

/// MCS tables with the CQI table of the same modulations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum McsTable {
    /// Up to 64QAM.
    #[word = "64qam"]
    Qam64,
    /// Up to 256QAM.
    #[word = "256qam"]
    Qam256,
    /// Up to 64QAM, with lower code rates.
    #[word = "64qam-low-se"]
    LowEfficiency,
}

/// Bytes of the MAC subheader in 5G-LENA's downlink blocks.
const LENA_SUBHEADER: u32 = 3;

/// The slots of one TDD pattern or two: letters `D`, `S` and `U`, with a space between two patterns where it is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Letters(String);

impl Letters {
    /// The first pattern and the second, if a space separates them.
    fn parts(&self) -> (&str, Option<&str>) {
        self.0.split_once(' ').map_or((&self.0, None), |(first, second)| (first, Some(second)))
    }

    /// Places at which a second pattern can begin: first behind the uplink of a first one.
    fn borders(&self) -> impl Iterator<Item = usize> + '_ {
        let letters = self.0.as_bytes();
        let begins = move |place: &usize| letters[*place - 1] != b'D' && letters[*place] == b'D';
        (1..letters.len()).filter(begins).chain((1..letters.len()).filter(move |place| !begins(place)))
    }
}

/// Length of the longest patterns: both together take at most 20 ms, in slots of 125 us, and a space is between them.
const LONGEST: usize = 161;

impl Param for Letters {
    fn read(node: &Node) -> Result<Self, Error> {
        let letters = String::read(node)?;
        if letters.len() > LONGEST {
            let message =
                format!("patterns have at most {LONGEST} letters and spaces, found {}", letters.len());
            return Err(node.error(message));
        }
        let is_pattern = |part: &str| !part.is_empty() && !part.contains(|letter| !"DSU".contains(letter));
        if letters.split(' ').count() > 2 || !letters.split(' ').all(is_pattern) {
            return Err(node.error(format!(
                "expected slots `D`, `S` and `U`, as in \"DDDSU\", of one pattern or two, found \"{letters}\""
            )));
        }
        Ok(Letters(letters))
    }
    fn to_json(&self) -> serde_json::Value {
        self.0.to_json()
    }
    fn schema() -> serde_json::Value {
        serde_json::json!({"type": "string", "pattern": "^[DSU]+( [DSU]+)?$", "maxLength": LONGEST, "examples": ["DDDSU", "DDDSUDDSUU"]})
    }
}

/// Bits of HARQ retransmissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Redundancy {
    /// Every transmission brings new coded bits.
    #[word = "incremental"]
    Incremental,
    /// Every transmission repeats the same bits.
    #[word = "chase"]
    Chase,
}

/// Sizes of transport blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum BlockSizes {
    /// Those of TS 38.214 §5.1.3.2.
    #[word = "standard"]
    Standard,
    /// 5G-LENA's, for comparisons: 11 of 12 subcarriers in each symbol, code rates in hundredths, less 3 B for each code
    /// block and, in the downlink, 3 B of a MAC subheader; `dmrs` and `overhead` do not change them.
    #[word = "5g-lena"]
    Lena,
}

/// MCS of a UE's first blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum FirstBlocks {
    /// By channel reports and sounding signals, as of all others.
    #[word = "adapted"]
    Adapted,
    /// 5G-LENA's, for comparisons: the cell learns a UE's channel by its blocks. In each direction they have MCS 0 until
    /// the first is acknowledged or received, and again after a second of slots without one.
    #[word = "5g-lena"]
    Lena,
}

/// Quirks of 5G-LENA.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "5G-LENA")]
pub struct Quirks {
    /// Sizes of transport blocks.
    #[param(default = BlockSizes::Standard, unit = "word")]
    #[param(source = "5G-LENA NrAmc::CalculateTbSize, NrEesmErrorModel::GetPayloadSize")]
    pub block_sizes: BlockSizes,
    /// MCS of a UE's first blocks.
    #[param(default = FirstBlocks::Adapted, unit = "word")]
    #[param(source = "5G-LENA NrMacSchedulerNs3::StartingMcsDl, StartingMcsUl: 0")]
    pub first_blocks: FirstBlocks,
}

/// NR on one carrier: slots of 1 ms / 2^μ, TDD or FDD, LDPC codes, asynchronous HARQ.
///
/// A setting or a result in TTIs elsewhere counts slots. Block errors are those of NR's LDPC code, simulated by airwnd:
/// `radio.error_model` applies to LTE only, except `no-errors`.
///
/// The gNB decides `scheduling_delay` slots ahead. Data is granted in slots with PDCCH; a UE sends on the PUSCH in whole
/// uplink slots only, HARQ-ACK and scheduling requests in every slot with uplink symbols. From the end of a reception on,
/// the gNB needs `processing` slots before a decision can react.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "TS 38.211 to TS 38.214", check)]
pub struct Params {
    /// Numerology μ: subcarrier spacing of 15 kHz x 2^μ.
    #[param(basic, default = 0, range = 0..=3, unit = "1", source = "TS 38.211 Table 4.2-1")]
    pub numerology: u8,
    /// TDD pattern by slots: `D` downlink, `S` with both, `U` uplink, in this order; of several `S` the first has the
    /// downlink symbols and the last the uplink symbols. Two patterns alternate (`"DDDSUDDSUU"`, `pattern1` and `pattern2`
    /// of TS 38.331); a space separates them where they could be one (`"DS SU"`). `none`: FDD. A TDD carrier has one
    /// frequency: `carrier.uplink_frequency` follows the downlink's.
    #[param(basic)]
    #[param(default = None, unit = "text", source = "TS 38.213 §11.1; TS 38.331 §6.3.2, TDD-UL-DL-Pattern")]
    pub pattern: Option<Letters>,
    /// Downlink symbols at the start of slot `S`.
    #[param(default = 10, range = 0..=13, unit = "1", source = "TS 38.331 §6.3.2, nrofDownlinkSymbols")]
    pub special_downlink: u8,
    /// Uplink symbols at the end of slot `S`.
    #[param(default = 2, range = 0..=13, unit = "1", source = "TS 38.331 §6.3.2, nrofUplinkSymbols")]
    pub special_uplink: u8,
    /// Downlink symbols at the start of slot `S` of the second pattern; `none`: as of the first.
    #[param(expert)]
    #[param(default = None, range = 0..=13, unit = "1", source = "TS 38.331 §6.3.2, nrofDownlinkSymbols")]
    pub second_special_downlink: Option<u8>,
    /// Uplink symbols at the end of slot `S` of the second pattern; `none`: as of the first.
    #[param(expert)]
    #[param(default = None, range = 0..=13, unit = "1", source = "TS 38.331 §6.3.2, nrofUplinkSymbols")]
    pub second_special_uplink: Option<u8>,
    /// MCS and CQI table, of downlink and uplink.
    #[param(basic, default = McsTable::Qam256)]
    #[param(unit = "word", source = "TS 38.214 Tables 5.1.3.1-1 to -3 and 5.2.2.1-2 to -4")]
    pub mcs_table: McsTable,
    /// Symbols of the PDCCH at the start of each slot with downlink.
    #[param(default = 1, range = 1..=3, unit = "1", source = "TS 38.211 §7.3.2.2")]
    pub control_symbols: u8,
    /// Symbols of PUCCH and SRS at the end of each uplink slot.
    #[param(default = 1, range = 0..=6, unit = "1", source = "TS 38.211 §6.3.2.1 and §6.4.1.4.3")]
    pub uplink_control_symbols: u8,
    /// Resource elements of a PRB and slot that DMRS take: one symbol with both CDM groups by default.
    #[param(expert, default = 12, range = 0..=48, unit = "1", source = "TS 38.214 §5.1.3.2, N_DMRS")]
    pub dmrs: u8,
    /// Other resource elements of a PRB and slot that are not counted, for CSI-RS and the like: 0, 6, 12 or 18.
    #[param(expert, default = 0, range = 0..=18, unit = "1", source = "TS 38.331 §6.3.2, xOverhead")]
    pub overhead: u8,
    /// Minimum slots from a PDSCH to its HARQ-ACK; `none`: the least that the UE can do.
    #[param(default = None, range = 0..=15, unit = "1", source = "TS 38.213 §9.2.3")]
    pub k1: Option<u8>,
    /// Minimum slots from an uplink grant to its PUSCH; `none`: the least that the UE can do.
    #[param(default = None, range = 0..=32, unit = "1", source = "TS 38.214 §6.1.2.1")]
    pub k2: Option<u8>,
    /// Slots from a scheduling decision to its PDCCH and PDSCH.
    #[param(default = 2, range = 1..=8, unit = "1", source = "5G-LENA NrGnbPhy, L1L2CtrlLatency; as in LTE")]
    pub scheduling_delay: u8,
    /// Slots from the end of a reception at the gNB to the decision that can react.
    #[param(default = 1, range = 0..=8, unit = "1")]
    #[param(source = "5G-LENA's delays; as for LTE's scheduling requests")]
    pub processing: u8,
    /// Time after the end of a block at which its data leave the receiver. HARQ feedback has its own delays.
    #[param(expert, default = Span::ZERO, range = Span::ZERO..=Span::from_millis(1), unit = "time")]
    #[param(source = "a choice: at the end of the block; 5G-LENA NrPhy::TbDecodeLatency: 0.1 ms")]
    pub decoding_time: Span,
    /// Slots that a UE needs to prepare a scheduling request.
    #[param(expert, default = 1, range = 0..=8, unit = "1", source = "5G-LENA's delays")]
    pub request_preparation: u8,
    /// HARQ processes of a UE and direction.
    #[param(default = 16, range = 1..=16, unit = "1", source = "TS 38.214 §5.1 and §6.1")]
    pub harq_processes: u8,
    /// Bits of HARQ retransmissions.
    #[param(default = Redundancy::Incremental, unit = "word", source = "TS 38.212 §5.4.2.1")]
    pub redundancy: Redundancy,
    /// Single-user MIMO in the downlink; `none`: one antenna at each end.
    #[param(basic, default = None, unit = "1", source = "a choice: one layer")]
    pub mimo: Option<mimo::Params>,
    /// Receiver loss before decoding, for example due to channel estimation; the simulated receiver has none.
    #[param(default = Db(0.0), range = Db(-10.0)..=Db(20.0))]
    #[param(unit = "dB", source = "perfect channel estimation; 5G-LENA's thresholds are about 3 dB higher")]
    pub receiver_loss: Db,
    /// Behaviour of other simulators.
    #[param(quirks)]
    pub quirks: Quirks,
}

impl Params {
    fn check(&self) -> Result<(), (&'static str, String)> {
        if ![0, 6, 12, 18].contains(&self.overhead) {
            return Err(("overhead", format!("an overhead is 0, 6, 12 or 18, not {}", self.overhead)));
        }
        self.duplex()?;
        let min = self.min_k1(SYMBOLS);
        if let Some(k1) = self.k1.filter(|k1| *k1 < min) {
            return Err(("k1", format!("a UE needs {} to decode a PDSCH, found {k1}", slots_of(min))));
        }
        let min = self.min_k2();
        if let Some(k2) = self.k2.filter(|k2| *k2 < min) {
            return Err(("k2", format!("a UE needs {} to prepare a PUSCH, found {k2}", slots_of(min))));
        }
        Ok(())
    }

    /// The numerology μ.
    fn spacing(&self) -> Numerology {
        Numerology::new(self.numerology).expect("the numerology is in its range")
    }

    /// Symbols of directions by slot, over one period of the patterns.
    pub(super) fn duplex(&self) -> Result<Vec<SlotUse>, (&'static str, String)> {
        let Some(letters) = &self.pattern else {
            if self.second_special_downlink.or(self.second_special_uplink).is_some() {
                let message = "there is no second pattern: radio.access.pattern is none".to_string();
                return Err(("second_special_downlink", message));
            }
            return Ok(vec![SlotUse { downlink: SYMBOLS, uplink: SYMBOLS }]);
        };
        let configuration = self.configuration(letters).map_err(|invalid| self.explain(letters, invalid))?;
        let text = &letters.0;
        if configuration.second().is_none()
            && self.second_special_downlink.or(self.second_special_uplink).is_some()
        {
            let message = format!("`{text}` is one pattern; a space separates two, as in \"DDDSU DDSUU\"");
            return Err(("second_special_downlink", message));
        }
        let slots: Vec<SlotUse> = (0..configuration.slots()).map(|slot| configuration.slot(slot)).collect();
        //= exception pusch-in-whole-slots
        if !slots.iter().any(|slot| slot.uplink == SYMBOLS) {
            return Err(("pattern", format!("`{text}` has no uplink slot `U`, which user data needs")));
        }
        if !slots.iter().any(|slot| self.carries_data(slot.downlink)) {
            return Err(("pattern", format!("`{text}` leaves no downlink beside PDCCH and DMRS for data")));
        }
        Ok(slots)
    }

    /// The patterns that letters stand for: one, or the first two that RRC can configure.
    fn configuration(&self, letters: &Letters) -> Result<Configuration, Invalid> {
        let second = [
            self.second_special_downlink.unwrap_or(self.special_downlink),
            self.second_special_uplink.unwrap_or(self.special_uplink),
        ];
        let configured = |first: &str, other: Option<&str>| {
            let special = [self.special_downlink, self.special_uplink];
            let parse = |letters: &str, [down, up]: [u8; 2]| Pattern::parse(letters, down, up);
            let first = parse(first, special)?;
            let other = other.map(|other| parse(other, second)).transpose()?;
            Configuration::new(self.spacing(), first, other)
        };
        let (first, other) = letters.parts();
        let single = configured(first, other);
        if other.is_some() || single.is_ok() {
            return single;
        }
        let mut best = single;
        for border in letters.borders() {
            let pair = configured(&first[..border], Some(&first[border..]));
            // The reason of the pair that is nearest to a valid one: its letters are in order.
            match (&best, &pair) {
                (_, Ok(_)) => return pair,
                (Err(Invalid::Letters), Err(_)) => best = pair,
                _ => {}
            }
        }
        best
    }

    /// The key at fault and a message.
    fn explain(&self, letters: &Letters, invalid: Invalid) -> (&'static str, String) {
        let text = &letters.0;
        match invalid {
            Invalid::Letters => (
                "pattern",
                format!("`{text}` is not one pattern or two, each of slots `D`, then `S`, then `U`"),
            ),
            Invalid::Symbols => {
                let is_first = self.special_downlink + self.special_uplink > SYMBOLS;
                let [key, down, up] = if is_first {
                    ["special_downlink", "special_downlink", "special_uplink"]
                } else {
                    ["second_special_downlink", "second_special_downlink", "second_special_uplink"]
                };
                let first = [self.special_downlink, self.special_uplink];
                let second = [
                    self.second_special_downlink.unwrap_or(first[0]),
                    self.second_special_uplink.unwrap_or(first[1]),
                ];
                let symbols: u8 = if is_first { first } else { second }.iter().sum();
                (key, format!("{symbols} downlink and uplink symbols ({down}, {up}) in a slot of {SYMBOLS}"))
            }
            Invalid::NoDownlink => ("pattern", format!("`{text}` has no downlink")),
            Invalid::NoUplink => ("pattern", format!("`{text}` has no uplink")),
            Invalid::Period => {
                let millis = |letters: &str| (self.spacing().slot().0 * letters.len() as u64) as f64 / 1e6;
                let takes = match letters.parts() {
                    (first, Some(second)) => format!("takes {} and {} ms", millis(first), millis(second)),
                    (all, None) => format!("takes {} ms", millis(all)),
                };
                let message = format!(
                    "`{text}` {takes}; with numerology {} a pattern takes {} ms, and one alone or two together must divide 20 ms",
                    self.numerology,
                    periods_ms(self.spacing())
                );
                ("pattern", message)
            }
        }
    }

    /// Symbols of the PDSCH in a slot with this many downlink symbols.
    fn data_symbols(&self, downlink: u8) -> u8 {
        downlink.saturating_sub(self.control_symbols)
    }

    /// Whether a slot with this many downlink symbols has resource elements for data.
    fn carries_data(&self, downlink: u8) -> bool {
        let (symbols, other) = (self.data_symbols(downlink), self.overhead);
        Overhead { symbols, dmrs: self.dmrs, other }.resource_elements() > 0
    }

    /// The numbers of downlink symbols of special slots that carry data: with whole slots, the kinds of the downlink.
    fn special_kinds(&self, slots: &[SlotUse]) -> Vec<u8> {
        let mut kinds: Vec<u8> = slots.iter().map(|slot| slot.downlink).collect();
        kinds.retain(|symbols| *symbols < SYMBOLS && self.carries_data(*symbols));
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    /// Slots that the UE needs from a PDSCH that ends after `end` symbols to its HARQ-ACK in the last symbol of a slot.
    fn min_k1(&self, end: u8) -> u8 {
        let dmrs = if self.dmrs > DMRS_OF_SYMBOL { Dmrs::Additional } else { Dmrs::FrontLoaded };
        min_offset(decoding_symbols(self.spacing(), dmrs), end, SYMBOLS - 1)
    }

    /// Slots that the UE needs from a grant to its PUSCH.
    fn min_k2(&self) -> u8 {
        min_offset(preparation_symbols(self.spacing()), self.control_symbols, 0)
    }

    /// The control region with this many symbols of PDCCH, by default all that the slots have.
    pub(super) fn control_region(&self, prbs: Prbs, symbols: Option<u8>) -> Result<ControlRegion, String> {
        let symbols = symbols.unwrap_or(self.control_symbols);
        if symbols > self.control_symbols {
            return Err(format!(
                "found {symbols}, but radio.access.control_symbols = {} leaves the other symbols to data",
                self.control_symbols
            ));
        }
        Ok(ControlRegion::nr(prbs, symbols, SlotClock::of_numerology(self.numerology)))
    }

    /// The combining of transmissions.
    pub fn combining(&self) -> Combining {
        match self.redundancy {
            Redundancy::Incremental => Combining::IncrementalRedundancy,
            Redundancy::Chase => Combining::Chase,
        }
    }

    /// Builds the access on a carrier.
    ///
    /// # Errors
    /// The key of the carrier at fault, and a message.
    pub(super) fn access(&self, carrier: &Carrier) -> Result<Access, (&'static str, String)> {
        let numerology = self.spacing();
        let Carrier { bandwidth, downlink_frequency, .. } = *carrier;
        let uplink_frequency = carrier.uplink(self.pattern.is_some());
        let range = if downlink_frequency >= FR2 { FrequencyRange::Fr2 } else { FrequencyRange::Fr1 };
        let prbs = bandwidth.megahertz().and_then(|mhz| transmission_bandwidth(range, mhz, numerology));
        let Some(prbs) = prbs else {
            let place = if range == FrequencyRange::Fr1 { "FR1" } else { "FR2" };
            let allowed: Vec<String> =
                channel_bandwidths(range, numerology).map(|mhz| format!("{mhz}MHz")).collect();
            let allowed = match allowed.is_empty() {
                true => format!("{place} does not have this numerology"),
                false => format!("allowed: {}", allowed.join(", ")),
            };
            let message = format!(
                "NR has no carrier of {} with numerology {} ({} kHz) in {place}; {allowed}",
                bandwidth.word(),
                self.numerology,
                numerology.kilohertz()
            );
            return Err(("bandwidth", message));
        };
        if self.pattern.is_some() && uplink_frequency != downlink_frequency {
            let message = format!(
                "a TDD carrier has one frequency: {uplink_frequency} is not the downlink's {downlink_frequency}; \
                 omit the key"
            );
            return Err(("uplink_frequency", message));
        }
        Ok(self.on(prbs))
    }

    /// The access on this many PRBs.
    pub fn on(&self, prbs: Prbs) -> Access {
        let numerology = self.spacing();
        let table = match self.mcs_table {
            McsTable::Qam64 => Table::Qam64,
            McsTable::Qam256 => Table::Qam256,
            McsTable::LowEfficiency => Table::LowEfficiency,
        };
        let slots = self.duplex().expect("the pattern was checked");
        let mcss: Vec<Mcs> = (0..=table.highest().0).map(Mcs).collect();
        let rows: Vec<_> = mcss.iter().map(|mcs| table.mcs(*mcs).expect("up to the highest")).collect();
        let sizes = |symbols: u8, rank: u8| -> Vec<u32> {
            let overhead = Overhead { symbols, dmrs: self.dmrs, other: self.overhead };
            let bits = |scheme, prbs| match self.quirks.block_sizes {
                BlockSizes::Standard => size(scheme, overhead, prbs, rank),
                BlockSizes::Lena => size_in_lena(scheme, symbols, prbs, rank),
            };
            let row = |scheme| (0..=prbs.0).map(move |prbs| bits(scheme, Prbs(prbs)) / 8);
            rows.iter().copied().flat_map(row).collect()
        };
        let special = self.special_kinds(&slots);
        let rbg_prbs = RBG_PRBS.iter().find(|(max, _)| prbs.0 <= *max).map_or(16, |(_, size)| *size);
        let kinds = |rank: u8| {
            let symbols = std::iter::once(SYMBOLS).chain(special.iter().copied());
            let mut kinds: Vec<_> = symbols.map(|symbols| sizes(self.data_symbols(symbols), rank)).collect();
            if self.quirks.block_sizes == BlockSizes::Lena {
                kinds.iter_mut().flatten().for_each(|size| *size = size.saturating_sub(LENA_SUBHEADER));
            }
            kinds
        };
        let mcs_by_cqi = std::array::from_fn(|cqi| table.mcs_of(Cqi(cqi as u8)));
        let best = |fastest: &Mcs| {
            let within = (0..).map(Cqi).zip(mcs_by_cqi).skip(1).take_while(|(_, mcs)| mcs <= fastest);
            within.last().map_or(Cqi::OUT_OF_RANGE, |(cqi, _)| cqi)
        };
        Access {
            timing: timing(self, &slots),
            clock: SlotClock::of_numerology(self.numerology),
            prbs,
            rbg_prbs: Prbs(rbg_prbs),
            rbgs: prbs.0.div_ceil(rbg_prbs) as u8,
            prb_bandwidth: Hertz(SUBCARRIERS * 1e3 * f64::from(numerology.kilohertz())),
            precodes_uplink: false,
            learns_by_blocks: self.quirks.first_blocks == FirstBlocks::Lena,
            buffer_levels: &BUFFER_LEVELS,
            schemes: rows
                .iter()
                .map(|row| Scheme { modulation: row.modulation, rate: row.rate.ratio() })
                .collect(),
            cqi_efficiencies: std::array::from_fn(|cqi| {
                table.cqi(Cqi(cqi as u8)).map_or(0.0, |scheme| scheme.efficiency())
            }),
            mcs_by_cqi,
            cqi_by_mcs: mcss.iter().map(best).collect(),
            mcss,
            layers: self.mimo.as_ref().map_or(Vec::new(), mimo::Params::gains),
            downlink: (1..=self.mimo.as_ref().map_or(1, mimo::Params::max_layers)).map(kinds).collect(),
            uplink: sizes(SYMBOLS - self.uplink_control_symbols, 1),
            other_uplink: None,
        }
    }
}

/// A number of slots, for messages.
fn slots_of(slots: u8) -> String {
    if slots == 1 { "1 slot".into() } else { format!("{slots} slots") }
}

/// Slots from the grants that each slot decides to their PUSCH: the grant of an uplink slot is in the last slot with PDCCH
/// that leaves the UE enough time.
fn grants(params: &Params, slots: &[SlotUse], k2: u64) -> Vec<Vec<u64>> {
    let length = slots.len() as u64;
    let at = |slot: u64| slots[(slot % length) as usize];
    let ahead = u64::from(params.scheduling_delay);
    let mut grants = vec![Vec::new(); slots.len()];
    for slot in (0..length).filter(|slot| at(*slot).uplink == SYMBOLS) {
        // as many periods later, so that no difference is negative
        let slot = slot + (k2 + ahead + 2) * length;
        let to_air = (k2..k2 + length).find(|back| at(slot - back).downlink >= params.control_symbols);
        let to_air = to_air.expect("each period has a PDCCH");
        let decision = slot - to_air - ahead;
        grants[(decision % length) as usize].push(to_air);
    }
    grants
}

/// Delays with the directions of a pattern's slots.
fn timing(params: &Params, slots: &[SlotUse]) -> Timing {
    let length = slots.len() as u64;
    let at = |slot: u64| slots[(slot % length) as usize];
    let has_data = |slot: u64| params.carries_data(at(slot).downlink);
    let has_uplink = |slot: u64| at(slot).uplink > 0;
    let ahead = u64::from(params.scheduling_delay);
    let reacts = 1 + u64::from(params.processing);
    let k2 = u64::from(params.k2.unwrap_or(params.min_k2()));
    // The smallest offset from `min` on with a slot that fits: every period has one.
    let next = |slot: u64, min: u64, fits: &dyn Fn(u64) -> bool| {
        (min..min + length).find(|offset| fits(slot + offset)).expect("each period has such a slot")
    };
    let decides = |slot: u64| has_data(slot + ahead);
    let special = params.special_kinds(slots);
    let kind =
        |downlink: u8| special.iter().position(|symbols| *symbols == downlink).map_or(0, |place| place + 1);
    let grants = grants(params, slots, k2);
    let grants_at = |slot: u64| &grants[(slot % length) as usize];
    let plan: Vec<Slot> = (0..length)
        .map(|slot| {
            let min = params.k1.unwrap_or(params.min_k1(at(slot).downlink));
            let answered = next(slot, min.into(), &has_uplink) + reacts;
            let feedback = next(slot, answered, &decides);
            Slot {
                sends: has_data(slot),
                downlink: decides(slot).then(|| kind(at(slot + ahead).downlink) as u8),
                feedback,
                // The gNB finds no HARQ-ACK where it expects one.
                silence: feedback,
                grants: grants_at(slot).clone(),
                again: next(slot, reacts, &|slot| !grants_at(slot).is_empty()),
                request: next(slot, params.request_preparation.into(), &has_uplink) + reacts,
                unmeasured: (0..length)
                    .find(|back| has_data(slot + length - 1 - back))
                    .expect("each period has downlink data"),
            }
        })
        .collect();
    let max = |figure: &dyn Fn(&Slot) -> u64| plan.iter().map(figure).max().unwrap_or(0);
    let to_air = max(&|slot| slot.grants.iter().copied().max().unwrap_or(0));
    let (feedback, again) = (ahead + max(&|slot| slot.feedback), to_air + max(&|slot| slot.again));
    let longest = [feedback, again, to_air + reacts, max(&|slot| slot.request), k2 + reacts];
    let slot = params.spacing().slot().0;
    let symbols = |count: u8| Span(slot * u64::from(count) / u64::from(SYMBOLS));
    Timing {
        decision_to_air: ahead,
        decision_to_grant: ahead,
        // As long as a UE needs for a PUSCH: ideal reports take no resources, but time.
        report_to_decision: k2 + reacts,
        block_to_decision: reacts,
        uplink_duration: symbols(SYMBOLS - params.uplink_control_symbols),
        decoding: params.decoding_time,
        control_region: symbols(params.control_symbols),
        processes: params.harq_processes,
        round_trip: None,
        depth: (longest.into_iter().max().unwrap_or(0) as usize + 1).next_power_of_two(),
        plan,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airwnd_catalog::Value;
    use airwnd_kernel::Direction;
    use airwnd_units::{Bytes, Tti};

    fn params(pattern: Option<&str>, numerology: u8) -> Params {
        Params {
            numerology,
            pattern: pattern.map(|letters| Letters(letters.to_owned())),
            ..Params::default()
        }
    }

    #[test]
    fn sizes_are_those_of_the_standard_for_every_kind_of_slot() {
        // TS 38.214 §5.1.3.2 by hand: 273 x 132 x 8 x 948 / 1024, as in the tests of transport_block
        let access = Params { control_symbols: 2, ..params(Some("DDDSU"), 1) }.on(Prbs(273));
        let block = |prbs| access.block(Direction::Down, Mcs(27), Prbs(prbs));
        assert_eq!(block(273), Bytes((264 * 1025 - 24) / 8));
        let special = access.block_in(1, 1, Mcs(27), Prbs(273));
        let table = Table::Qam256.mcs(Mcs(27)).unwrap();
        let overhead = Overhead { symbols: 8, dmrs: 12, other: 0 };
        assert_eq!(special, Bytes((size(table, overhead, Prbs(273), 1) / 8).into()));
        assert_eq!((access.rbgs, access.rbg_prbs), (18, Prbs(16)));
        assert_eq!(access.prbs_of(18), Prbs(273));
    }

    #[test]
    fn long_patterns_are_refused_before_their_borders_are_tried() {
        let read = |slots| Letters::read(&Node::new(Value::Text("D".repeat(slots)), "scenario"));
        assert!(read(LONGEST).is_ok());
        let message = read(LONGEST + 1).unwrap_err().to_string();
        assert!(message.ends_with("patterns have at most 161 letters and spaces, found 162"), "{message}");
    }

    #[test]
    fn a_cqi_is_reported_if_its_own_rate_is_decodable() {
        for (mcs_table, table) in [
            (McsTable::Qam64, Table::Qam64),
            (McsTable::Qam256, Table::Qam256),
            (McsTable::LowEfficiency, Table::LowEfficiency),
        ] {
            let access = Params { mcs_table, ..params(None, 0) }.on(Prbs(52));
            for mcs in access.schemes() {
                let cqi = access.cqi_of(mcs);
                assert!(cqi > Cqi::OUT_OF_RANGE && access.mcs_of(cqi) <= mcs, "{table:?} {mcs:?}");
                assert!(cqi == Cqi::MAX || access.mcs_of(Cqi(cqi.0 + 1)) > mcs, "{table:?} {mcs:?}");
            }
        }
    }

    /// Follows every consequence through the pattern: it is due when a decision can be made, and no transmission is in a
    /// slot of the other direction or earlier than the UE can.
    #[test]
    fn consequences_fall_into_slots_that_can_carry_them() {
        let patterns = [
            None,
            Some("DDDSU"),
            Some("DDDDDDDSUU"),
            Some("DSUUU"),
            Some("DU"),
            Some("DDSUU"),
            Some("DDDSUDDSUU"),
            Some("DDDSUUDDDD"),
            Some("DSUUUDDDDD"),
            Some("DDSSSSSSUU"),
        ];
        let mut checked = 0;
        for (pattern, numerology) in patterns.into_iter().flat_map(|p| (0..4).map(move |n| (p, n))) {
            let params = params(pattern, numerology);
            let Ok(slots) = params.duplex() else { continue };
            checked += 1;
            let timing = timing(&params, &slots);
            let at = |slot: u64| slots[(slot % slots.len() as u64) as usize];
            let mut granted = vec![0; slots.len()];
            for tti in (0..slots.len() as u64).map(|slot| slot + 1000 * slots.len() as u64) {
                let plan = timing.slot(Tti(tti));
                let air = tti + timing.decision_to_air;
                assert_eq!(plan.downlink.is_some(), at(air).downlink > 1, "{pattern:?} {tti}");
                assert!(plan.feedback < timing.depth as u64 && plan.again < timing.depth as u64);
                if at(tti).downlink > 1 {
                    let decision = timing.slot(Tti(tti + plan.feedback));
                    assert!(decision.downlink.is_some(), "{pattern:?} {tti}");
                    // HARQ-ACK on air before the slots that the gNB needs
                    let ack = tti + plan.feedback - 1 - u64::from(params.processing);
                    let min = u64::from(params.min_k1(at(tti).downlink));
                    assert!((tti + min..=ack).any(|slot| at(slot).uplink > 0), "{pattern:?} {tti}");
                    let measured = timing.measurable(Tti(tti + 1));
                    assert_eq!(measured, Tti(tti + 1));
                }
                assert!(at(timing.measurable(Tti(tti)).0 - 1).downlink > 1, "{pattern:?} {tti}");
                let grant = tti + timing.decision_to_grant;
                for to_air in &plan.grants {
                    assert!(at(grant).downlink > 0 && at(grant + to_air).uplink == SYMBOLS);
                    assert!(*to_air >= u64::from(params.min_k2()));
                    granted[((grant + to_air) % slots.len() as u64) as usize] += 1;
                }
                if at(tti).uplink == SYMBOLS {
                    assert!(!timing.slot(Tti(tti + plan.again)).grants.is_empty(), "{pattern:?} {tti}");
                }
                let sent = tti + plan.request - 1 - u64::from(params.processing);
                let prepared = tti + u64::from(params.request_preparation);
                assert!(at(sent).uplink > 0 && (prepared..sent).all(|slot| at(slot).uplink == 0));
            }
            let once: Vec<i32> = slots.iter().map(|slot| i32::from(slot.uplink == SYMBOLS)).collect();
            assert_eq!(granted, once, "every uplink slot is granted once: {pattern:?} {numerology}");
        }
        assert!(checked >= 25, "{checked}");
    }

    /// Directions of the slots of letters, with 10 and 2 symbols in special slots of the first pattern, 6 and 4 in the second's.
    fn uses(letters: &str, numerology: u8) -> Result<Vec<SlotUse>, (&'static str, String)> {
        let second = |count: u8| letters.contains(' ').then_some(count);
        let other = Params {
            second_special_downlink: second(6),
            second_special_uplink: second(4),
            ..params(Some(letters), numerology)
        };
        other.duplex()
    }

    /// Each pair of periods of TS 38.331 with each place of the special slots: the slots are those of pattern1 and pattern2.
    #[test]
    fn every_pair_of_patterns_is_configured() {
        let mut pairs = 0;
        for numerology in 0..4 {
            let spacing = Numerology::new(numerology).unwrap();
            let slots = |micros: u64| {
                (micros * 1000).is_multiple_of(spacing.slot().0).then_some(micros * 1000 / spacing.slot().0)
            };
            let lengths: Vec<usize> = [500, 625, 1000, 1250, 2000, 2500, 3000, 4000, 5000, 10_000]
                .into_iter()
                .filter_map(|micros| slots(micros).map(|count| count as usize))
                .collect();
            for (one, two) in lengths.iter().flat_map(|one| lengths.iter().map(move |two| (*one, *two))) {
                for (up, other_up) in [(1, 0), (1, 1), (one, 1), (0, two)] {
                    let pattern = |length: usize, up: usize| {
                        let up = up.min(length);
                        let special = usize::from(length > up);
                        "D".repeat(length - up - special) + &"S".repeat(special) + &"U".repeat(up)
                    };
                    let (first, second) = (pattern(one, up), pattern(two, other_up));
                    let parse = |letters: &str, down, up| Pattern::parse(letters, down, up).unwrap();
                    let expected =
                        Configuration::new(spacing, parse(&first, 10, 2), Some(parse(&second, 6, 4)));
                    let found = uses(&format!("{first} {second}"), numerology);
                    match expected {
                        Ok(expected) => {
                            let all = (0..(one + two) as u64).map(|slot| expected.slot(slot));
                            let all: Vec<SlotUse> = all.collect();
                            if all.iter().any(|slot| slot.uplink == SYMBOLS) {
                                pairs += 1;
                                assert_eq!(found.as_ref().unwrap(), &all, "{first} {second}");
                            }
                        }
                        Err(_) => assert!(found.is_err(), "{first} {second}"),
                    }
                }
            }
        }
        assert!(pairs > 100, "{pairs}");
    }

    #[test]
    fn a_second_pattern_begins_behind_the_uplink_of_the_first() {
        let plain = |letters: &str| -> String {
            let slots = params(Some(letters), 1).duplex().unwrap();
            let letter = |slot: &SlotUse| match (slot.downlink, slot.uplink) {
                (SYMBOLS, 0) => 'D',
                (0, SYMBOLS) => 'U',
                (10, 2) => 'S',
                (10, 0) => 'd',
                (0, 2) => 'u',
                (0, 0) => '-',
                other => panic!("{other:?}"),
            };
            slots.iter().map(letter).collect()
        };
        for letters in ["DDDSUDDSUU", "DDDSUUDDDD", "DSUUUDDDDD", "DDDSU", "DDDDSUUUUU", "DDDSDDDSUU"] {
            assert_eq!(plain(letters), letters);
        }
        assert_eq!(plain("DDDSU DDSUU"), "DDDSUDDSUU");
        // Flexible slots between the symbols of a special slot that is longer than a slot.
        assert_eq!(plain("DDSSSSSSUU"), "DDd----uUU");
        assert_eq!(plain("DDDDS SUUUU"), "DDDDSSUUUU");
        assert_eq!(plain("DDDDSSUUUU"), "DDDDduUUUU");
        let error = |letters: &str| params(Some(letters), 1).duplex().unwrap_err();
        for (letters, key, message) in [
            (
                "DUDUDU",
                "pattern",
                "`DUDUDU` is not one pattern or two, each of slots `D`, then `S`, then `U`",
            ),
            (
                "DDDSUDDSU",
                "pattern",
                "takes 4.5 ms; with numerology 1 a pattern takes 0.5, 1, 2, 2.5, 3, 4, 5 or 10 ms",
            ),
            ("DDDSU DDS", "pattern", "takes 2.5 and 1.5 ms"),
            ("DDDSU DDDDDDSU", "pattern", "must divide 20 ms"),
            ("DDDDD DDDDS", "pattern", "has no uplink slot `U`"),
        ] {
            let found = error(letters);
            assert!(found.0 == key && found.1.contains(message), "{letters}: {found:?}");
        }
        let alone = Params { second_special_uplink: Some(3), ..params(Some("DDDSU"), 1) };
        assert!(alone.duplex().unwrap_err().1.contains("`DDDSU` is one pattern"));
        let many = Params { second_special_uplink: Some(9), ..params(Some("DDDSUDDSUU"), 1) };
        let (key, message) = many.duplex().unwrap_err();
        assert_eq!(
            (key, message.starts_with("19 downlink and uplink symbols")),
            ("second_special_downlink", true)
        );
    }

    /// Special slots with different numbers of downlink symbols have blocks of their own.
    #[test]
    fn each_kind_of_special_slot_has_its_block_sizes() {
        let params = Params { second_special_downlink: Some(5), ..params(Some("DDDSUDDSUU"), 1) };
        let access = params.on(Prbs(106));
        let slots = params.duplex().unwrap();
        for (air, slot) in slots.iter().enumerate() {
            let decision = Tti((air + slots.len()) as u64 - access.timing.decision_to_air);
            let kind = access.timing.slot(decision).downlink;
            assert_eq!(kind.is_some(), slot.downlink > 0);
            let Some(kind) = kind else { continue };
            let overhead = Overhead { symbols: slot.downlink - 1, dmrs: 12, other: 0 };
            let scheme = Table::Qam256.mcs(Mcs(20)).unwrap();
            let expected = size(scheme, overhead, Prbs(106), 1) / 8;
            assert_eq!(access.block_in(1, kind, Mcs(20), Prbs(106)), Bytes(expected.into()), "slot {air}");
        }
        assert!((access.timing.kinds().sum::<f64>() - 0.7).abs() < 1e-12);
    }

    #[test]
    fn a_ue_gets_the_time_of_its_capability() {
        // N_2 of 10, 12, 23 and 36 symbols after one symbol of PDCCH; N_1 of 8, 10, 17 and 20 until symbol 13
        let min = |numerology| {
            let params = params(None, numerology);
            (params.min_k2(), params.min_k1(SYMBOLS))
        };
        assert_eq!([0, 1, 2, 3].map(min), [(1, 1), (1, 1), (2, 2), (3, 2)]);
        let early = Params { k2: Some(2), ..params(None, 3) };
        assert_eq!(early.check().unwrap_err().0, "k2");
        assert_eq!(Params { k2: Some(3), ..params(None, 3) }.check(), Ok(()));
        assert_eq!(Params { k1: Some(0), ..params(None, 0) }.check().unwrap_err().0, "k1");
    }
}
