//! QoS class identifiers.

use airwnd_units::Span;

/// A QoS class identifier: a scalar that refers to the forwarding treatment of a bearer's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Qci(u8);

/// Characteristics of an identifier.
struct Characteristics {
    guaranteed: bool,
    priority: u8,
    budget_ms: u64,
}

/// The identifiers 1 to 9.
//= TS 23.203 Table 6.1.7-A
const TABLE: [Characteristics; 9] = [
    Characteristics { guaranteed: true, priority: 2, budget_ms: 100 },
    Characteristics { guaranteed: true, priority: 4, budget_ms: 150 },
    Characteristics { guaranteed: true, priority: 3, budget_ms: 50 },
    Characteristics { guaranteed: true, priority: 5, budget_ms: 300 },
    Characteristics { guaranteed: false, priority: 1, budget_ms: 100 },
    Characteristics { guaranteed: false, priority: 6, budget_ms: 300 },
    Characteristics { guaranteed: false, priority: 7, budget_ms: 100 },
    Characteristics { guaranteed: false, priority: 8, budget_ms: 300 },
    Characteristics { guaranteed: false, priority: 9, budget_ms: 300 },
];

/// Delay between the eNB and the gateway that enforces policy, in ms.
//= TS 23.203 Table 6.1.7-A note 1
const BEYOND_RADIO_MS: u64 = 20;

impl Qci {
    /// Downloads and web pages of ordinary subscribers: class of the default bearer.
    pub const BEST_EFFORT: Qci = Qci(9);
    /// Buffered streaming at a guaranteed rate.
    pub const GUARANTEED: Qci = Qci(4);

    /// The identifier with a number, 1 to 9.
    pub fn new(number: u8) -> Option<Qci> {
        (1..=TABLE.len() as u8).contains(&number).then_some(Qci(number))
    }

    fn characteristics(self) -> &'static Characteristics {
        &TABLE[usize::from(self.0) - 1]
    }

    /// Whether its bearers have a guaranteed bit rate.
    pub fn is_guaranteed(self) -> bool {
        self.characteristics().guaranteed
    }

    /// Priority level; 1 is the highest.
    pub fn priority(self) -> u8 {
        self.characteristics().priority
    }

    /// Packet delay budget from the eNB to the UE, to be met by 98 % of the packets.
    pub fn delay_budget(self) -> Span {
        Span::from_millis(self.characteristics().budget_ms - BEYOND_RADIO_MS)
    }

    /// Whether its packets are useless when late: voice, live video, games and signalling, in contrast to buffered
    /// streaming and downloads, whose budget is 300 ms.
    pub fn is_real_time(self) -> bool {
        self.characteristics().budget_ms < 300
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_by_service() {
        let all: Vec<Qci> = (1..=9).map(|number| Qci::new(number).unwrap()).collect();
        let numbers = |test: fn(Qci) -> bool| -> Vec<u8> {
            all.iter().filter(|qci| test(**qci)).map(|qci| qci.0).collect()
        };
        assert_eq!(numbers(Qci::is_guaranteed), [1, 2, 3, 4]);
        assert_eq!(numbers(Qci::is_real_time), [1, 2, 3, 5, 7]);
        // every priority level once
        let mut levels: Vec<u8> = all.iter().map(|qci| qci.priority()).collect();
        levels.sort_unstable();
        assert_eq!(levels, [1, 2, 3, 4, 5, 6, 7, 8, 9]);
        // voice: 100 ms minus the 20 ms beyond the eNB
        assert_eq!(Qci::new(1).unwrap().delay_budget(), Span::from_millis(80));
        assert_eq!((Qci::new(0), Qci::new(10)), (None, None));
    }
}
