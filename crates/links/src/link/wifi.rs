//! A Wi-Fi channel: an access point and its stations contend for one medium.
//!
//! IEEE 802.11's distributed coordination function (DCF): [`Medium`] models the exchange of frames, [`backoff`] the
//! contention, [`phy`] the durations of frames.

mod backoff;
mod medium;
mod phy;

use airwnd_catalog::{Choice, Params};
use airwnd_units::{BitRate, Bytes};

pub use medium::{Exit, Figures, Medium, Passed};

/// Physical layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Phy {
    /// 802.11 and 802.11b: 1, 2, 5.5 and 11 Mbit/s.
    #[word = "dsss"]
    Dsss,
    /// 802.11a: 6 to 54 Mbit/s in 20 MHz.
    #[word = "ofdm"]
    Ofdm,
}

/// Preamble of 802.11b.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Preamble {
    /// 192 us, with header.
    #[word = "long"]
    Long,
    /// 96 us, with header.
    #[word = "short"]
    Short,
}

/// Scope of the link's loss model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Errors {
    /// Each attempt is subject to loss: DCF retransmits, and drops the packet after its retries.
    #[word = "attempts"]
    Attempts,
    /// Each packet is subject to loss once: the residual loss after link-layer recovery.
    #[word = "packets"]
    Packets,
}

/// Wi-Fi: an access point and its UEs share a channel by IEEE 802.11's distributed coordination function (DCF).
///
/// The access point and each UE have a separate queue. A sender waits until the channel has been idle for DIFS (EIFS
/// after a frame that could not be decoded), then for a random number of slots, uniform in 0..=CW. Other frames suspend
/// the countdown. Senders whose countdowns end together collide. A frame without ACK is sent again with a larger
/// contention window:
///
/// ```math
/// \mathrm{CW} \leftarrow \min(2 \, \mathrm{CW} + 1, \mathrm{CW}_{\max})
/// ```
///
/// A packet of n bytes is a frame of n + 36 bytes (header 24, LLC 8, FCS 4).
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "IEEE 802.11-2012 §9.3", check)]
pub struct Params {
    /// Physical layer.
    #[param(basic, default = Phy::Dsss, unit = "word", source = "IEEE 802.11-2012 §17 (DSSS), §18 (OFDM)")]
    pub phy: Phy,
    /// Rate of data frames: 1, 2, 5.5 or 11 Mbit/s with "dsss", 6, 9, 12, 18, 24, 36, 48 or 54 Mbit/s with "ofdm";
    /// `none`: the maximum.
    #[param(basic, default = None, range = BitRate(1_000_000)..=BitRate(54_000_000))]
    #[param(unit = "bit/s", source = "IEEE 802.11-2012 §17.4, §18.3")]
    pub rate: Option<BitRate>,
    /// Rate of ACK, RTS and CTS frames; `none`: the minimum.
    #[param(default = None, range = BitRate(1_000_000)..=BitRate(54_000_000))]
    #[param(unit = "bit/s", source = "IEEE 802.11-2012 §9.7.6")]
    pub basic_rate: Option<BitRate>,
    /// Preamble of "dsss"; short only with rates above 1 Mbit/s.
    #[param(default = Preamble::Long, unit = "word", source = "IEEE 802.11-2012 §17.2.2")]
    pub preamble: Preamble,
    /// Contention window of a first attempt; `none`: 31 with "dsss", 15 with "ofdm".
    #[param(default = None, range = 1..=32_767)]
    #[param(unit = "slots", source = "IEEE 802.11-2012 Table 17-9, Table 18-17")]
    pub cw_min: Option<u64>,
    /// Maximum contention window.
    #[param(default = 1023, range = 1..=32_767)]
    #[param(unit = "slots", source = "IEEE 802.11-2012 Table 17-9, Table 18-17")]
    pub cw_max: u64,
    /// Maximum number of attempts to send a frame without RTS, or an RTS, before the packet is dropped.
    #[param(default = 7, range = 1..=255, unit = "1", source = "IEEE 802.11-2012 §C.3, dot11ShortRetryLimit")]
    pub short_retries: u64,
    /// Maximum number of attempts to send a frame after an RTS before the packet is dropped.
    #[param(default = 4, range = 1..=255, unit = "1", source = "IEEE 802.11-2012 §C.3, dot11LongRetryLimit")]
    pub long_retries: u64,
    /// Frame size above which RTS and CTS precede the frame; `none`: never.
    #[param(default = None, range = Bytes(0)..=Bytes(65_536), unit = "B", source = "IEEE 802.11-2012 §9.3.1")]
    pub rts_threshold: Option<Bytes>,
    /// Scope of `loss` and `loss_up`: each attempt, or each packet once.
    #[param(expert, default = Errors::Attempts, unit = "word", source = "IEEE 802.11-2012 §9.3.2.8")]
    pub errors: Errors,
}

impl Params {
    /// Returns the rate of data frames.
    pub fn rate(&self) -> BitRate {
        self.rate.unwrap_or(*self.phy.rates().last().expect("every physical layer has rates"))
    }

    /// Returns the rate of control frames.
    pub fn basic_rate(&self) -> BitRate {
        self.basic_rate.unwrap_or(self.phy.rates()[0])
    }

    /// Returns the contention window of a first attempt.
    pub fn cw_min(&self) -> u64 {
        self.cw_min.unwrap_or(match self.phy {
            Phy::Dsss => 31,
            Phy::Ofdm => 15,
        })
    }

    /// Checks constraints between parameters; the error is the offending parameter and a message.
    ///
    /// # Errors
    /// A rate that the physical layer does not have, or contention windows or rates out of order.
    fn check(&self) -> Result<(), (&'static str, String)> {
        let rates = self.phy.rates();
        let known: Vec<String> = rates.iter().map(|rate| format!("\"{rate}\"")).collect();
        for (key, rate) in [("rate", self.rate()), ("basic_rate", self.basic_rate())] {
            if !rates.contains(&rate) {
                let others = [Phy::Dsss, Phy::Ofdm].into_iter().filter(|phy| phy.rates().contains(&rate));
                let other: String =
                    others.map(|phy| format!(", or {rate} with phy = \"{}\"", phy.word())).collect();
                let (phy, known) = (self.phy.word(), known.join(", "));
                return Err((key, format!("\"{phy}\" has no rate {rate}; allowed: {known}{other}")));
            }
        }
        if self.basic_rate() > self.rate() {
            let message = format!("{} exceeds the rate of data, {}", self.basic_rate(), self.rate());
            return Err(("basic_rate", message));
        }
        if self.preamble == Preamble::Short {
            if self.phy == Phy::Ofdm {
                return Err(("preamble", "only \"dsss\" has a short preamble; allowed: \"long\"".into()));
            }
            if self.basic_rate() == rates[0] {
                let message =
                    "frames at 1Mbps have the long preamble: raise basic_rate, or use \"long\"".into();
                return Err(("preamble", message));
            }
        }
        if self.cw_min() > self.cw_max {
            return Err(("cw_max", format!("{} is below cw_min, {}", self.cw_max, self.cw_min())));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airwnd_catalog::{Node, Param};

    fn error(toml: &str) -> Option<(&'static str, String)> {
        let text = format!("x = {toml}");
        let node = Node::from_toml(&text, "test").unwrap();
        Params::read(node.nearest("x")).unwrap().check().err()
    }

    #[test]
    fn a_physical_layer_has_its_rates() {
        assert_eq!(error("{}"), None);
        assert_eq!(error("{phy = \"ofdm\", rate = \"54Mbps\", basic_rate = \"24Mbps\"}"), None);
        let (key, message) = error("{rate = \"3Mbps\"}").unwrap();
        assert_eq!(key, "rate");
        assert_eq!(
            message,
            "\"dsss\" has no rate 3Mbps; allowed: \"1Mbps\", \"2Mbps\", \"5500kbps\", \"11Mbps\""
        );
        let (key, message) = error("{phy = \"ofdm\", basic_rate = \"1Mbps\"}").unwrap();
        assert_eq!(key, "basic_rate");
        assert!(message.ends_with("\"54Mbps\", or 1Mbps with phy = \"dsss\""), "{message}");
        assert_eq!(error("{rate = \"1Mbps\", basic_rate = \"2Mbps\"}").unwrap().0, "basic_rate");
    }

    #[test]
    fn the_short_preamble_requires_dsss_above_1_mbps() {
        assert_eq!(error("{preamble = \"short\"}").unwrap().0, "preamble");
        assert_eq!(error("{preamble = \"short\", basic_rate = \"2Mbps\"}"), None);
        assert_eq!(error("{preamble = \"short\", phy = \"ofdm\"}").unwrap().0, "preamble");
    }

    #[test]
    fn windows_are_in_order() {
        assert_eq!(error("{cw_max = 30}").unwrap().0, "cw_max");
        assert_eq!(error("{cw_max = 31}"), None);
    }
}
