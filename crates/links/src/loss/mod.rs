//! Loss models of links.
//!
//! Input of a model: a packet's number, size and arrival time, but not its contents. Random draws are indexed by the
//! packet's number on its link, so the fate or size of other packets does not shift them.

use airwnd_catalog::family;
use airwnd_kernel::Stream;
use airwnd_units::{Bytes, Time};

/// Loss on a link: selection of the packets that are lost.
#[family(name = "loss", build = fn(stream: Stream, start: Time) -> Box<dyn Loss>)]
#[derive(Clone, Debug, PartialEq)]
pub enum Spec {
    NoLoss(none::Params),
    PacketError(packet_error::Params),
    BitError(bit_error::Params),
    GilbertElliott(gilbert_elliott::Params),
    GilbertElliottTime(gilbert_elliott_time::Params),
    Scripted(scripted::Params),
}

/// A packet on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passing {
    /// Number of packets that entered the link before; packets dropped by its queue do not count.
    pub number: u64,
    /// Size on the wire.
    pub size: Bytes,
    /// Time of arrival at the end of the link.
    pub at: Time,
}

/// A loss model.
pub trait Loss: Send {
    /// Returns whether this packet is lost. Called once per packet, in the order of their numbers.
    fn loses(&mut self, packet: Passing) -> bool;
}

#[cfg(test)]
mod tests {
    use super::*;
    use airwnd_catalog::{Node, Param};
    use airwnd_units::Span;

    const COUNT: u64 = 200_000;

    fn model(toml: &str, seed: u64) -> Box<dyn Loss> {
        let text = format!("x = {toml}");
        let node = Node::from_toml(&text, "test").unwrap();
        Spec::read(node.nearest("x")).unwrap().build(Stream::new(seed, "test"), Time::ZERO)
    }

    /// Returns the losses of packets of this size, one per millisecond.
    fn losses(toml: &str, seed: u64, size: u64) -> Vec<bool> {
        let mut model = model(toml, seed);
        let packet =
            |number| Passing { number, size: Bytes(size), at: Time::ZERO + Span::from_millis(1) * number };
        (0..COUNT).map(|number| model.loses(packet(number))).collect()
    }

    fn rate(losses: &[bool]) -> f64 {
        losses.iter().filter(|lost| **lost).count() as f64 / losses.len() as f64
    }

    fn mean_burst(losses: &[bool]) -> f64 {
        let bursts = losses.split(|lost| !lost).filter(|burst| !burst.is_empty());
        let lengths: Vec<usize> = bursts.map(<[bool]>::len).collect();
        lengths.iter().sum::<usize>() as f64 / lengths.len() as f64
    }

    /// Four standard deviations of a share of independent packets.
    fn bound(p: f64) -> f64 {
        4.0 * (p * (1.0 - p) / COUNT as f64).sqrt()
    }

    #[test]
    fn packets_are_lost_at_the_configured_rate() {
        for p in [0.0, 0.001, 0.05, 0.5, 1.0] {
            let lost = losses(&format!("{{kind = \"packet-error\", rate = {p:?}}}"), 1, 1500);
            assert!((rate(&lost) - p).abs() <= bound(p), "{p}: {}", rate(&lost));
        }
        assert_eq!(rate(&losses("\"none\"", 1, 1500)), 0.0);
    }

    /// 1 - (1 - p)^bits
    #[test]
    fn a_larger_packet_has_more_bit_errors() {
        for (p, size) in [(1e-6_f64, 40), (1e-6, 1500), (1e-5, 1500), (1e-3, 1500), (1.0, 40), (0.0, 1500)] {
            let lost = rate(&losses(&format!("{{kind = \"bit-error\", rate = {p:?}}}"), 1, size));
            let expected = 1.0 - (1.0 - p).powi(8 * size as i32);
            assert!((lost - expected).abs() <= bound(expected) + 1e-12, "{p} {size}: {lost} {expected}");
        }
    }

    /// With loss in the bad state only: pi_B = p / (p + r), bursts of 1 / r = 1 / (1 - p_BB). The variance of the
    /// share is that of independent packets times (2 - p - r) / (p + r), that of a burst's length (1 - r) / r^2.
    #[test]
    fn bursts_have_the_chain_s_length_and_share() {
        for (p, r) in [(0.01_f64, 0.25_f64), (0.1, 0.5), (0.002, 0.05), (0.3, 1.0)] {
            let chain = format!("{{kind = \"gilbert-elliott\", good_to_bad = {p:?}, bad_to_good = {r:?}}}");
            let lost = losses(&chain, 1, 1500);
            let share = p / (p + r);
            let spread = f64::sqrt((2.0 - p - r) / (p + r));
            assert!((rate(&lost) - share).abs() < bound(share) * spread, "{p} {r}: {}", rate(&lost));
            let bursts = COUNT as f64 * share * r;
            let allowed = 4.0 * ((1.0 - r) / (r * r) / bursts).sqrt() + 1e-9;
            assert!((mean_burst(&lost) - 1.0 / r).abs() < allowed, "{p} {r}: {}", mean_burst(&lost));
        }
    }

    /// pi_G loss_G + pi_B loss_B, here (0.25 x 0.01 + 0.05 x 0.6) / 0.3
    #[test]
    fn both_states_may_lose() {
        let chain = "{kind = \"gilbert-elliott\", good_to_bad = 0.05, bad_to_good = 0.25, \
                     loss_in_good = 0.01, loss_in_bad = 0.6}";
        let lost = rate(&losses(chain, 1, 1500));
        assert!((lost - 0.325 / 3.0).abs() < 0.005, "{lost}");
    }

    /// The share of time in the bad state is bad / (good + bad), also for packets each millisecond. A state lasts for
    /// many packets: 200 s have some 180 cycles of 1.1 s, so the measured share is accurate to 30 %.
    #[test]
    fn sojourns_have_their_means() {
        let chain = "{kind = \"gilbert-elliott-time\", good = \"1s\", bad = \"100ms\"}";
        let lost: Vec<bool> = (1..=10).flat_map(|seed| losses(chain, seed, 1500)).collect();
        assert!((rate(&lost) / (1.0 / 11.0) - 1.0).abs() < 0.1, "{}", rate(&lost));
        assert!((mean_burst(&lost) / 100.0 - 1.0).abs() < 0.1, "{}", mean_burst(&lost));
    }

    /// The state depends on time only: twice the packets meet the same bad periods.
    #[test]
    fn sojourns_do_not_count_packets() {
        let bad = |step: u64| {
            let mut model = model("{kind = \"gilbert-elliott-time\", good = \"1s\", bad = \"100ms\"}", 1);
            let instants = (0..20_000u64).step_by(step as usize).enumerate();
            instants
                .map(|(number, ms)| {
                    let at = Time::ZERO + Span::from_millis(ms);
                    (ms, model.loses(Passing { number: number as u64, size: Bytes(40), at }))
                })
                .filter(|(ms, lost)| *lost && ms % 2 == 0)
                .map(|(ms, _)| ms)
                .collect::<Vec<_>>()
        };
        assert!(!bad(1).is_empty());
        assert_eq!(bad(1), bad(2));
    }

    /// A packet on a slow link lasts for hours; millions of periods are not followed one by one.
    #[test]
    fn long_gaps_are_skipped_and_keep_the_share() {
        let params = gilbert_elliott_time::Params {
            good: Span::from_micros(741),
            bad: Span::from_micros(1700),
            loss_in_good: 0.0,
            loss_in_bad: 1.0,
        };
        let mut channel =
            gilbert_elliott_time::GilbertElliottTime::new(params, Stream::new(1, "loss"), Time::ZERO);
        let lost: Vec<bool> = (1..=COUNT)
            .map(|hour| {
                let at = Time::ZERO + Span::from_secs(3600 * hour);
                channel.loses(Passing { number: hour, size: Bytes(1500), at })
            })
            .collect();
        let share = 1700.0 / 2441.0;
        assert!((rate(&lost) - share).abs() < bound(share), "{}", rate(&lost));
        // Independent of the hour before.
        let mean = 1.0 / (1.0 - share);
        assert!((mean_burst(&lost) / mean - 1.0).abs() < 0.05, "{}", mean_burst(&lost));
        assert!(channel.ended() <= 4 * COUNT);
    }

    #[test]
    fn a_script_loses_the_listed_packets() {
        let lost =
            losses("{kind = \"scripted\", packets = [0, 3, 4], instants = [\"9500us\", \"20ms\"]}", 1, 40);
        let numbers: Vec<usize> = (0..lost.len()).filter(|number| lost[*number]).collect();
        assert_eq!(numbers, [0, 3, 4, 10, 20]);
    }

    #[test]
    fn each_instant_loses_one_packet() {
        // All three instants are due when packet 1 arrives: it and the next two packets are lost.
        let lost = losses("{kind = \"scripted\", instants = [\"100us\", \"200us\", \"300us\"]}", 1, 40);
        assert_eq!(lost.iter().position(|lost| *lost), Some(1));
        assert_eq!(lost[..5], [false, true, true, true, false]);
    }

    #[test]
    fn draws_depend_on_seed_and_number_only() {
        for kind in [
            "{kind = \"packet-error\", rate = 0.1}",
            "{kind = \"gilbert-elliott\", good_to_bad = 0.1, bad_to_good = 0.3}",
        ] {
            assert_eq!(losses(kind, 1, 1500), losses(kind, 1, 40));
            assert_ne!(losses(kind, 1, 1500), losses(kind, 2, 1500));
        }
    }
}
