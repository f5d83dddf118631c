//! Transmission bandwidth of an NR carrier.

use super::slots::Numerology;
use crate::Prbs;

/// A frequency range of TS 38.101, with its own channel bandwidths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FrequencyRange {
    /// 410 MHz to 7.125 GHz.
    Fr1,
    /// 24.25 GHz to 71 GHz; channel bandwidths of FR2-1 only.
    Fr2,
}

/// Channel bandwidth in MHz and N_RB at 15 kHz, 30 kHz and 60 kHz; zero where the bandwidth does not exist.
//= TS 38.101-1 Table 5.3.2-1
const FR1: [(u16, [u16; 3]); 17] = [
    (3, [15, 0, 0]),
    (5, [25, 11, 0]),
    (7, [35, 0, 0]),
    (10, [52, 24, 11]),
    (15, [79, 38, 18]),
    (20, [106, 51, 24]),
    (25, [133, 65, 31]),
    (30, [160, 78, 38]),
    (35, [188, 92, 44]),
    (40, [216, 106, 51]),
    (45, [242, 119, 58]),
    (50, [270, 133, 65]),
    (60, [0, 162, 79]),
    (70, [0, 189, 93]),
    (80, [0, 217, 107]),
    (90, [0, 245, 121]),
    (100, [0, 273, 135]),
];

/// Channel bandwidth in MHz and N_RB at 60 kHz and 120 kHz; zero where the bandwidth does not exist.
//= TS 38.101-2 Table 5.3.2-1
const FR2: [(u16, [u16; 2]); 4] = [(50, [66, 32]), (100, [132, 66]), (200, [264, 132]), (400, [0, 264])];

/// The maximum transmission bandwidth N_RB of a channel bandwidth in MHz; `None` if the frequency range does not have
/// this bandwidth at this subcarrier spacing.
pub fn transmission_bandwidth(range: FrequencyRange, megahertz: u16, numerology: Numerology) -> Option<Prbs> {
    let exponent = usize::from(numerology.exponent());
    let blocks = match range {
        FrequencyRange::Fr1 => {
            FR1.iter().find(|(channel, _)| *channel == megahertz).and_then(|(_, blocks)| blocks.get(exponent))
        }
        FrequencyRange::Fr2 => FR2
            .iter()
            .find(|(channel, _)| *channel == megahertz)
            .and_then(|(_, blocks)| exponent.checked_sub(2).and_then(|column| blocks.get(column))),
    };
    blocks.filter(|blocks| **blocks > 0).map(|blocks| Prbs(*blocks))
}

/// The channel bandwidths in MHz that a frequency range has at this subcarrier spacing, in ascending order.
pub fn channel_bandwidths(range: FrequencyRange, numerology: Numerology) -> impl Iterator<Item = u16> {
    let channels: Vec<u16> = match range {
        FrequencyRange::Fr1 => FR1.iter().map(|(channel, _)| *channel).collect(),
        FrequencyRange::Fr2 => FR2.iter().map(|(channel, _)| *channel).collect(),
    };
    channels.into_iter().filter(move |channel| transmission_bandwidth(range, *channel, numerology).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Minimum guard bands in kHz (TS 38.101-1 and TS 38.101-2 Table 5.3.3-1), in the order of the tables above.
    const GUARD_FR1: [[f64; 17]; 3] = [
        [
            142.5, 242.5, 342.5, 312.5, 382.5, 452.5, 522.5, 592.5, 572.5, 552.5, 712.5, 692.5, 0.0, 0.0,
            0.0, 0.0, 0.0,
        ],
        [
            0.0, 505.0, 0.0, 665.0, 645.0, 805.0, 785.0, 945.0, 925.0, 905.0, 1065.0, 1045.0, 825.0, 965.0,
            925.0, 885.0, 845.0,
        ],
        [
            0.0, 0.0, 0.0, 1010.0, 990.0, 1330.0, 1310.0, 1290.0, 1630.0, 1610.0, 1590.0, 1570.0, 1530.0,
            1490.0, 1450.0, 1410.0, 1370.0,
        ],
    ];
    const GUARD_FR2: [[f64; 4]; 2] = [[1210.0, 2450.0, 4930.0, 0.0], [1900.0, 2420.0, 4900.0, 9860.0]];

    #[test]
    fn blocks_fill_the_channel_up_to_the_guard_bands() {
        // TS 38.101-1 §5.3.3: guard = (channel - N_RB x 12 x spacing) / 2 - spacing / 2
        let blocks = |channel: u16, spacing: f64, guard: f64| {
            (1000.0 * f64::from(channel) - 2.0 * guard - spacing) / (12.0 * spacing)
        };
        for (exponent, guards) in GUARD_FR1.iter().enumerate() {
            let numerology = Numerology::ALL[exponent];
            for ((channel, _), guard) in FR1.iter().zip(guards) {
                let expected = blocks(*channel, f64::from(numerology.kilohertz()), *guard);
                let expected = (*guard > 0.0).then_some(expected);
                let found = transmission_bandwidth(FrequencyRange::Fr1, *channel, numerology);
                assert_eq!(found.map(|blocks| f64::from(blocks.0)), expected, "{channel} MHz {numerology:?}");
            }
        }
        for (column, guards) in GUARD_FR2.iter().enumerate() {
            let numerology = Numerology::ALL[column + 2];
            for ((channel, _), guard) in FR2.iter().zip(guards) {
                let expected = blocks(*channel, f64::from(numerology.kilohertz()), *guard);
                let expected = (*guard > 0.0).then_some(expected);
                let found = transmission_bandwidth(FrequencyRange::Fr2, *channel, numerology);
                assert_eq!(found.map(|blocks| f64::from(blocks.0)), expected, "{channel} MHz {numerology:?}");
            }
        }
    }

    #[test]
    fn other_bandwidths_and_spacings_do_not_exist() {
        use FrequencyRange::{Fr1, Fr2};
        for (range, channel, exponent) in
            [(Fr1, 7, 1), (Fr1, 100, 0), (Fr1, 20, 3), (Fr2, 100, 0), (Fr2, 400, 2)]
        {
            assert_eq!(transmission_bandwidth(range, channel, Numerology::ALL[exponent]), None);
        }
    }
}
