//! Several bearers of a UE.

use crate::support::{Access, Network, Packets};
use airwnd_cell::{Bearer, BearerSetup, Qci, RlcMode};
use airwnd_kernel::Direction;
use airwnd_units::BitRate;

const ACCESSES: [Access; 2] = [Access::Lte, Access::Nr];

fn bearer(qci: u8, pbr: u64) -> BearerSetup {
    BearerSetup {
        pbr: BitRate(pbr),
        ..BearerSetup::new(Bearer::new(Qci::new(qci).unwrap(), BitRate(0), BitRate(0)))
    }
}

/// A UE with these bearers, and one with a download.
fn cell(access: Access, bearers: [BearerSetup; 2]) -> Network {
    let network = Network::steady(access).ues(2, 400.0).after_ms(1000);
    network.with(|setup| setup.ues[0].bearers = bearers.into()).send([Packets::down(1).of(1500, 0.15)])
}

/// Beside a saturated bearer of a higher priority a bearer has its prioritized bit rate, and with a rate of zero nothing.
/// Headers of RLC and MAC count: 1028 of 1028 + 2 + 2 + 3 bytes are of packets.
#[test]
fn a_bearer_of_low_priority_gets_its_prioritized_bit_rate() {
    for access in ACCESSES {
        for direction in Direction::BOTH {
            let rate = |pbr: u64| {
                let trickle = Packets::towards(direction, 0).of(1028, 2.6667);
                let flood = Packets::towards(direction, 0).of(1428, 0.09333).in_bearer(1);
                let outcome = cell(access, [bearer(9, pbr), bearer(6, 64_000)]).send([trickle, flood]).run(5);
                (outcome.kbps(1), outcome.kbps(2))
            };
            let ((none, all), (some, rest)) = (rate(0), rate(500_000));
            println!(
                "{access:?} {direction:?}: {none:.0} beside {all:.0}, {some:.0} beside {rest:.0} kbit/s"
            );
            assert!(none < 30.0, "{access:?} {direction:?}");
            let expected = 500.0 * 1028.0 / 1035.0;
            assert!(
                (some / expected - 1.0).abs() < 0.08,
                "{access:?} {direction:?}: {some} of {expected:.0} kbit/s"
            );
        }
    }
}

/// Bearers of equal priority take turns, so that two saturated ones have equal rates. In NR the turn of one of them comes more
/// often in the slot with fewer downlink symbols.
#[test]
fn bearers_of_equal_priority_take_turns() {
    for (access, tolerance) in [(Access::Lte, 0.005), (Access::Nr, 0.05)] {
        let both = [0, 1].map(|bearer| Packets::down(0).of(1428, 0.112).in_bearer(bearer));
        let network = cell(access, [bearer(9, 64_000), bearer(9, 64_000)]);
        let outcome = network.with(|setup| setup.rlc.mode = RlcMode::Am).send(both).run(5);
        let [one, two] = [outcome.kbps(1), outcome.kbps(2)];
        println!("{access:?}: {one:.0} and {two:.0} kbit/s");
        assert!((one / two - 1.0).abs() < tolerance, "{access:?}");
    }
}
