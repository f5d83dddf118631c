//! Durations of frames and interframe spaces.

use super::{Params, Phy, Preamble};
use airwnd_units::{BitRate, Bytes, Span};

/// Header 24, LLC and SNAP 8, frame check sequence 4.
//= IEEE 802.11-2012 §8.2.3, §8.2.4; RFC 1042
pub(super) const FRAMING: Bytes = Bytes(36);
//= IEEE 802.11-2012 §8.3.1.2
const RTS: Bytes = Bytes(20);
//= IEEE 802.11-2012 §8.3.1.3, §8.3.1.4
const ACK: Bytes = Bytes(14);

const DSSS: [BitRate; 4] = [BitRate(1_000_000), BitRate(2_000_000), BitRate(5_500_000), BitRate(11_000_000)];
const OFDM: [BitRate; 8] = [
    BitRate(6_000_000),
    BitRate(9_000_000),
    BitRate(12_000_000),
    BitRate(18_000_000),
    BitRate(24_000_000),
    BitRate(36_000_000),
    BitRate(48_000_000),
    BitRate(54_000_000),
];

impl Phy {
    /// Returns the rates in ascending order.
    pub fn rates(self) -> &'static [BitRate] {
        match self {
            Phy::Dsss => &DSSS,
            Phy::Ofdm => &OFDM,
        }
    }
}

/// Durations on a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Timing {
    phy: Phy,
    preamble: Preamble,
    rate: BitRate,
    pub slot: Span,
    pub sifs: Span,
    pub difs: Span,
    pub eifs: Span,
    pub rts: Span,
    /// Duration of an ACK, equal to that of a CTS.
    pub ack: Span,
    /// Time from the end of a frame until its sender declares it lost.
    pub timeout: Span,
}

impl Timing {
    pub fn new(params: &Params) -> Timing {
        let (phy, preamble) = (params.phy, params.preamble);
        let basic = params.basic_rate();
        //= IEEE 802.11-2012 Table 17-9, Table 18-17
        let (slot, sifs, rx_start) = match phy {
            Phy::Dsss => (20, 10, preamble_and_header(preamble)),
            Phy::Ofdm => (9, 16, Span::from_micros(25)),
        };
        let (slot, sifs) = (Span::from_micros(slot), Span::from_micros(sifs));
        let ack = duration(phy, preamble, basic, ACK);
        //= IEEE 802.11-2012 §9.3.7
        let difs = sifs + slot * 2;
        let eifs = sifs + ack + difs;
        //= IEEE 802.11-2012 §9.3.2.8
        let timeout = sifs + slot + rx_start;
        let rts = duration(phy, preamble, basic, RTS);
        Timing { phy, preamble, rate: params.rate(), slot, sifs, difs, eifs, rts, ack, timeout }
    }

    /// Returns the duration of a data frame of this size.
    pub fn data(&self, frame: Bytes) -> Span {
        duration(self.phy, self.preamble, self.rate, frame)
    }
}

//= IEEE 802.11-2012 §17.2.2.2, §17.2.2.3
fn preamble_and_header(preamble: Preamble) -> Span {
    Span::from_micros(match preamble {
        Preamble::Long => 192,
        Preamble::Short => 96,
    })
}

fn duration(phy: Phy, preamble: Preamble, rate: BitRate, frame: Bytes) -> Span {
    match phy {
        //= IEEE 802.11-2012 §17.3.4
        Phy::Dsss => {
            let payload = rate.transmission_time(frame).0.div_ceil(1000);
            preamble_and_header(preamble) + Span::from_micros(payload)
        }
        //= IEEE 802.11-2012 §18.4.3: preamble 16, SIGNAL 4, symbols of 4; SERVICE 16 bit, tail 6 bit
        Phy::Ofdm => {
            let bits_per_symbol = rate.0 * 4 / 1_000_000;
            Span::from_micros(20 + 4 * (16 + frame.bits() + 6).div_ceil(bits_per_symbol))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_of_the_long_preamble() {
        let timing = Timing::new(&Params { rate: Some(BitRate(1_000_000)), ..Params::default() });
        // 192 us and 8 us per byte
        assert_eq!(timing.ack, Span::from_micros(192 + 8 * 14));
        assert_eq!(timing.rts, Span::from_micros(192 + 8 * 20));
        assert_eq!(timing.data(Bytes(1076)), Span::from_micros(192 + 8 * 1076));
        assert_eq!(timing.difs, Span::from_micros(50));
        // 364 us, as in tables of 802.11b
        assert_eq!(timing.eifs, Span::from_micros(10 + 304 + 50));
        assert_eq!(timing.timeout, Span::from_micros(10 + 20 + 192));
    }

    #[test]
    fn durations_round_up_to_microseconds() {
        // 1536 B at 11 Mbit/s: 1117.09 us
        let timing = Timing::new(&Params::default());
        assert_eq!(timing.data(Bytes(1536)), Span::from_micros(192 + 1118));
    }

    #[test]
    fn durations_of_ofdm_are_symbols() {
        let params = Params { phy: Phy::Ofdm, ..Params::default() };
        let timing = Timing::new(&params);
        // 54 Mbit/s has 216 bit per symbol: (16 + 12288 + 6) / 216 = 56.99; ACK at 6 Mbit/s: (16 + 112 + 6) / 24 = 5.6
        assert_eq!(timing.data(Bytes(1536)), Span::from_micros(20 + 4 * 57));
        assert_eq!(timing.ack, Span::from_micros(20 + 4 * 6));
        assert_eq!((timing.difs, timing.eifs), (Span::from_micros(34), Span::from_micros(16 + 44 + 34)));
    }
}
