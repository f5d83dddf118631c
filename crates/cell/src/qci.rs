//! QoS class identifiers.

use airwnd_units::Span;

/// A QoS class identifier (QCI of LTE, 5QI of NR): a scalar that refers to the forwarding treatment of a bearer's packets.
/// Identifiers of both have the same characteristics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Qci(&'static Characteristics);

/// Characteristics of an identifier.
#[derive(Debug, PartialEq, Eq)]
struct Characteristics {
    number: u8,
    guaranteed: bool,
    /// Priority level of a 5QI, ten times that of the QCI.
    priority: u8,
    budget_ms: u64,
    /// Part of the budget beyond the radio access: the delay between the eNB and the gateway that enforces policy.
    core_ms: u64,
}

const fn gbr(number: u8, priority: u8, budget_ms: u64, core_ms: u64) -> Characteristics {
    Characteristics { number, guaranteed: true, priority, budget_ms, core_ms }
}

const fn non_gbr(number: u8, priority: u8, budget_ms: u64, core_ms: u64) -> Characteristics {
    Characteristics { guaranteed: false, ..gbr(number, priority, budget_ms, core_ms) }
}

/// The standardized identifiers.
//= TS 23.203 Table 6.1.7-A
//= TS 23.501 Table 5.7.4-1
//= exception low-latency-core-delay
static TABLE: [Characteristics; 32] = [
    gbr(1, 20, 100, 20),
    gbr(2, 40, 150, 20),
    gbr(3, 30, 50, 20),
    gbr(4, 50, 300, 20),
    non_gbr(5, 10, 100, 20),
    non_gbr(6, 60, 300, 20),
    non_gbr(7, 70, 100, 20),
    non_gbr(8, 80, 300, 20),
    non_gbr(9, 90, 300, 20),
    non_gbr(10, 90, 1100, 20),
    gbr(65, 7, 75, 10),
    gbr(66, 20, 100, 20),
    gbr(67, 15, 100, 20),
    non_gbr(69, 5, 60, 10),
    non_gbr(70, 55, 200, 10),
    gbr(71, 56, 150, 20),
    gbr(72, 56, 300, 20),
    gbr(73, 56, 300, 20),
    gbr(74, 56, 500, 20),
    gbr(75, 25, 50, 20),
    gbr(76, 56, 500, 20),
    non_gbr(79, 65, 50, 20),
    non_gbr(80, 68, 10, 1),
    gbr(82, 19, 10, 1),
    gbr(83, 22, 10, 1),
    gbr(84, 24, 30, 1),
    gbr(85, 21, 5, 1),
    gbr(86, 18, 5, 1),
    gbr(87, 25, 5, 1),
    gbr(88, 25, 10, 1),
    gbr(89, 25, 15, 1),
    gbr(90, 25, 20, 1),
];

impl Qci {
    /// Downloads and web pages of ordinary subscribers: class of the default bearer.
    pub const BEST_EFFORT: Qci = Qci(&TABLE[8]);
    /// Buffered streaming at a guaranteed rate.
    pub const GUARANTEED: Qci = Qci(&TABLE[3]);

    /// The identifier with a number.
    pub fn new(number: u8) -> Option<Qci> {
        TABLE.iter().find(|characteristics| characteristics.number == number).map(Qci)
    }

    /// Its number.
    pub fn number(self) -> u8 {
        self.0.number
    }

    /// Numbers of the identifiers with a guaranteed bit rate, or without one, as text.
    pub fn numbers(guaranteed: bool) -> String {
        let numbers = TABLE.iter().filter(|each| each.guaranteed == guaranteed).map(|each| each.number);
        let numbers: Vec<u8> = numbers.collect();
        let runs = numbers.chunk_by(|one, next| one + 1 == *next).map(|run| match run {
            [first, .., last] => format!("{first} to {last}"),
            _ => run[0].to_string(),
        });
        runs.collect::<Vec<_>>().join(", ")
    }

    /// Whether its bearers have a guaranteed bit rate.
    pub fn is_guaranteed(self) -> bool {
        self.0.guaranteed
    }

    /// Priority level of the 5QI; the lowest number is the highest priority.
    pub fn priority(self) -> u8 {
        self.0.priority
    }

    /// Packet delay budget between the base station and the UE, to be met by 98 % of the packets.
    pub fn delay_budget(self) -> Span {
        Span::from_millis(self.0.budget_ms - self.0.core_ms)
    }

    /// Packet delay budget between the gateway that enforces policy and the UE.
    pub fn whole_delay_budget(self) -> Span {
        Span::from_millis(self.0.budget_ms)
    }

    /// Whether its packets are useless when late: voice, live video, games and signalling, in contrast to buffered
    /// streaming and downloads, whose budget is 200 ms or more.
    pub fn is_real_time(self) -> bool {
        self.0.budget_ms < 200
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(test: fn(Qci) -> bool) -> Vec<u8> {
        TABLE.iter().filter(|each| test(Qci(each))).map(|each| each.number).collect()
    }

    #[test]
    fn classes_by_service() {
        assert_eq!(Qci::numbers(false), "5 to 10, 69 to 70, 79 to 80");
        assert_eq!(Qci::numbers(true), "1 to 4, 65 to 67, 71 to 76, 82 to 90");
        assert_eq!(numbers(|qci| !qci.is_real_time()), [4, 6, 8, 9, 10, 70, 72, 73, 74, 76]);
        // voice: 100 ms minus the 20 ms beyond the eNB
        assert_eq!(Qci::new(1).unwrap().delay_budget(), Span::from_millis(80));
        assert_eq!(Qci::new(1).unwrap().whole_delay_budget(), Span::from_millis(100));
        assert_eq!(Qci::new(80).unwrap().delay_budget(), Span::from_millis(9));
        assert_eq!([0, 11, 68, 91, 255].map(Qci::new), [None; 5]);
    }

    #[test]
    fn named_classes_have_their_numbers() {
        assert_eq!((Qci::BEST_EFFORT.0.number, Qci::GUARANTEED.0.number), (9, 4));
    }

    /// QCIs 1 to 9 have the levels 1 to 9, each once; the core network takes less than half a budget.
    #[test]
    fn priorities_and_budgets_are_plausible() {
        let mut levels: Vec<u8> = (1..=9).map(|number| Qci::new(number).unwrap().priority()).collect();
        levels.sort_unstable();
        assert_eq!(levels, [10, 20, 30, 40, 50, 60, 70, 80, 90]);
        assert!(TABLE.iter().all(|each| each.budget_ms > 2 * each.core_ms));
        assert!(TABLE.windows(2).all(|pair| pair[0].number < pair[1].number));
    }
}
