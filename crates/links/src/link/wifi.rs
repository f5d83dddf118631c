//! A Wi-Fi channel: an access point and its stations, who contend for one medium.
//!
//! IEEE 802.11's distributed coordination function: [`Medium`] is what happens on the air, [`backoff`] whose turn it is,
//! [`phy`] how long frames take.

mod backoff;
mod medium;
mod phy;

use airwnd_catalog::{Choice, Params};
use airwnd_units::{BitRate, Bytes};

pub use medium::{Exit, Figures, Medium, Passed};

/// The physical layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Phy {
    /// 802.11 and 802.11b: 1, 2, 5.5 and 11 Mbit/s.
    #[word = "dsss"]
    Dsss,
    /// 802.11a: 6 to 54 Mbit/s in 20 MHz.
    #[word = "ofdm"]
    Ofdm,
}

/// The preamble of 802.11b.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Preamble {
    /// 192 us with header.
    #[word = "long"]
    Long,
    /// 96 us with header.
    #[word = "short"]
    Short,
}

/// What the losses of the link befall.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Errors {
    /// Each attempt: DCF sends again, and gives up after its retries.
    #[word = "attempts"]
    Attempts,
    /// Each packet, once: what link-layer recovery leaves over.
    #[word = "packets"]
    Packets,
}

/// Wi-Fi: an access point and its UEs share a channel by IEEE 802.11's distributed coordination function.
///
/// The access point and each UE have a queue of their own. A sender waits until the channel has been idle for
/// DIFS (EIFS after a frame that could not be read) and a random number of slots, uniform in 0..=CW, has passed; other
/// frames stop the count. Senders whose counts end together collide. A frame without ACK is sent again with CW' = min(2
/// CW + 1, CWmax). A packet of n bytes is a frame of n + 36 (header 24, LLC 8, FCS 4).
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "IEEE 802.11-2012 §9.3", check)]
pub struct Params {
    /// Physical layer.
    #[param(default = Phy::Dsss, unit = "word", source = "IEEE 802.11-2012 §17 (DSSS), §18 (OFDM)")]
    pub phy: Phy,
    /// Rate of data frames: 1, 2, 5.5 or 11 Mbit/s with "dsss", 6, 9, 12, 18, 24, 36, 48 or 54 Mbit/s with "ofdm";
    /// none: the highest.
    #[param(default = None, range = BitRate(1_000_000)..=BitRate(54_000_000))]
    #[param(unit = "bit/s", source = "IEEE 802.11-2012 §17.4, §18.3")]
    pub rate: Option<BitRate>,
    /// Rate of ACK, RTS and CTS frames; none: the lowest.
    #[param(default = None, range = BitRate(1_000_000)..=BitRate(54_000_000))]
    #[param(unit = "bit/s", source = "IEEE 802.11-2012 §9.7.6")]
    pub basic_rate: Option<BitRate>,
    /// Preamble of "dsss"; short with rates above 1 Mbit/s only.
    #[param(default = Preamble::Long, unit = "word", source = "IEEE 802.11-2012 §17.2.2")]
    pub preamble: Preamble,
    /// Contention window of a first attempt; none: 31 with "dsss", 15 with "ofdm".
    #[param(default = None, range = 1..=32_767)]
    #[param(unit = "slots", source = "IEEE 802.11-2012 Table 17-9, Table 18-17")]
    pub cw_min: Option<u64>,
    /// Greatest contention window.
    #[param(default = 1023, range = 1..=32_767)]
    #[param(unit = "slots", source = "IEEE 802.11-2012 Table 17-9, Table 18-17")]
    pub cw_max: u64,
    /// Attempts to send a frame without RTS, or an RTS, before the packet is given up.
    #[param(default = 7, range = 1..=255, unit = "1", source = "IEEE 802.11-2012 §C.3, dot11ShortRetryLimit")]
    pub short_retries: u64,
    /// Attempts to send a frame behind an RTS before the packet is given up.
    #[param(default = 4, range = 1..=255, unit = "1", source = "IEEE 802.11-2012 §C.3, dot11LongRetryLimit")]
    pub long_retries: u64,
    /// Frames larger than this are announced by RTS and CTS; none: no frame.
    #[param(default = None, range = Bytes(0)..=Bytes(65_536), unit = "B", source = "IEEE 802.11-2012 §9.3.1")]
    pub rts_threshold: Option<Bytes>,
    /// What `loss` and `loss_up` befall: each attempt, or each packet once.
    #[param(default = Errors::Attempts, unit = "word", source = "IEEE 802.11-2012 §9.3.2.8")]
    pub errors: Errors,
}

impl Params {
    /// The rate of data frames.
    pub fn rate(&self) -> BitRate {
        self.rate.unwrap_or(*self.phy.rates().last().expect("every physical layer has rates"))
    }

    /// The rate of control frames.
    pub fn basic_rate(&self) -> BitRate {
        self.basic_rate.unwrap_or(self.phy.rates()[0])
    }

    /// The contention window of a first attempt.
    pub fn cw_min(&self) -> u64 {
        self.cw_min.unwrap_or(match self.phy {
            Phy::Dsss => 31,
            Phy::Ofdm => 15,
        })
    }

    /// What no single value shows: the parameter at fault, and what is wrong with it.
    ///
    /// # Errors
    /// A rate that the physical layer does not have, windows or rates out of order.
    fn check(&self) -> Result<(), (&'static str, String)> {
        let rates = self.phy.rates();
        let known: Vec<String> = rates.iter().map(|rate| format!("\"{rate}\"")).collect();
        for (key, rate) in [("rate", self.rate()), ("basic_rate", self.basic_rate())] {
            if !rates.contains(&rate) {
                let message =
                    format!("\"{}\" has no rate {rate}; allowed: {}", self.phy.word(), known.join(", "));
                return Err((key, message));
            }
        }
        if self.basic_rate() > self.rate() {
            let message = format!("{} exceeds the rate of data, {}", self.basic_rate(), self.rate());
            return Err(("basic_rate", message));
        }
        if self.preamble == Preamble::Short {
            if self.phy == Phy::Ofdm {
                return Err(("preamble", "only \"dsss\" has a short one; allowed: \"long\"".into()));
            }
            if self.basic_rate() == rates[0] {
                let message = "frames at 1Mbps have the long one: raise basic_rate, or use \"long\"".into();
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

    fn complaint(toml: &str) -> Option<(&'static str, String)> {
        let text = format!("x = {toml}");
        let node = Node::from_toml(&text, "test").unwrap();
        Params::read(node.nearest("x")).unwrap().check().err()
    }

    #[test]
    fn a_physical_layer_has_its_rates() {
        assert_eq!(complaint("{}"), None);
        assert_eq!(complaint("{phy = \"ofdm\", rate = \"54Mbps\", basic_rate = \"24Mbps\"}"), None);
        let (key, message) = complaint("{rate = \"3Mbps\"}").unwrap();
        assert_eq!(key, "rate");
        assert_eq!(
            message,
            "\"dsss\" has no rate 3Mbps; allowed: \"1Mbps\", \"2Mbps\", \"5500kbps\", \"11Mbps\""
        );
        assert_eq!(complaint("{phy = \"ofdm\", basic_rate = \"1Mbps\"}").unwrap().0, "basic_rate");
        assert_eq!(complaint("{rate = \"1Mbps\", basic_rate = \"2Mbps\"}").unwrap().0, "basic_rate");
    }

    #[test]
    fn the_short_preamble_is_not_for_all() {
        assert_eq!(complaint("{preamble = \"short\"}").unwrap().0, "preamble");
        assert_eq!(complaint("{preamble = \"short\", basic_rate = \"2Mbps\"}"), None);
        assert_eq!(complaint("{preamble = \"short\", phy = \"ofdm\"}").unwrap().0, "preamble");
    }

    #[test]
    fn windows_are_in_order() {
        assert_eq!(complaint("{cw_max = 30}").unwrap().0, "cw_max");
        assert_eq!(complaint("{cw_max = 31}"), None);
    }
}
