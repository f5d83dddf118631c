//! Sleep of UEs: discontinuous reception, and release to RRC idle or inactive.

use crate::support::{Access, Network, Packets};
use airwnd_cell::mac::drx;
use airwnd_cell::{RanSetup, RlcMode, rrc};
use airwnd_phy::amc::{self, block_error_target};
use airwnd_phy::{Bandwidth, fading};
use airwnd_units::{Span, Speed};

const ACCESSES: [Access; 3] = [Access::Lte, Access::Nr, Access::Aggregated];

fn ms(milliseconds: u64) -> Span {
    Span::from_millis(milliseconds)
}

/// DRX without short cycles.
fn long() -> drx::Params {
    drx::Params { short_cycle: None, ..Default::default() }
}

/// A UE, and another one without packets.
fn cell(access: Access, drx: Option<drx::Params>) -> Network {
    Network::steady(access).ues(2, 200.0).with(|setup| setup.mac.drx = drx)
}

/// A packet waits until the next on-duration. In the long run it arrives in the sleeping part S - D of a cycle S and waits
/// (S - D) / 2 there: (S - D)^2 / 2S on average. With 998.4 ms between packets the phases differ.
#[test]
fn a_downlink_packet_waits_for_the_next_on_duration() {
    for access in ACCESSES {
        let mean =
            |drx| cell(access, drx).send([Packets::down(0).of(108, 998.4)]).run(300).flows[0].mean_ms();
        let without = mean(None);
        for (cycle, on_duration) in [(320, 10), (160, 40), (40, 2)] {
            let found = mean(Some(drx::Params { cycle: ms(cycle), on_duration: ms(on_duration), ..long() }))
                - without;
            let asleep = (cycle - on_duration) as f64;
            let expected = asleep * asleep / (2.0 * cycle as f64);
            assert!((found / expected - 1.0).abs() < 0.1, "{cycle} {on_duration}: {found} {expected}");
        }
    }
}

/// A UE without data is awake in its on-durations: 10 of 320 ms, and in the 200 ms after the start.
#[test]
fn a_ue_without_data_sleeps() {
    for access in ACCESSES {
        let awake = |drx, inactivity: Option<Span>| {
            let rrc = inactivity.map(|inactivity| rrc::Params { inactivity, ..Default::default() });
            let network = cell(access, drx).with(|setup| setup.rrc = rrc);
            network.send([Packets::down(0).of(108, 1000.0)]).run(60).awake(1)
        };
        assert_eq!(awake(None, None), 1.0);
        let expected = 10.0 / 320.0 + 0.2 / 60.0;
        let found = awake(Some(long()), None);
        assert!((found - expected).abs() < 0.001, "{found} {expected}");
        // Four short cycles more, and 1 ms in a slot behind a TTI.
        let found = awake(Some(drx::Params { cycle: ms(320), ..Default::default() }), None);
        assert!((found - expected - 3.5 * 0.01 / 60.0).abs() < 0.001, "{found}");
        // Connected for the first second only.
        let found = awake(None, Some(Span::from_secs(1)));
        assert!((found - 1.0 / 60.5).abs() < 0.001, "{found}");
        let found = awake(Some(long()), Some(Span::from_secs(1)));
        assert!((found - (0.2 + 3.0 * 0.01) / 60.5).abs() < 0.0005, "{found}");
    }
}

/// Packets that follow one another within the inactivity timer are never delayed.
#[test]
fn a_ue_with_steady_data_stays_awake() {
    for access in ACCESSES {
        let run = |drx| cell(access, drx).send([Packets::down(0).of(108, 100.0).starting_at_ms(1.0)]).run(60);
        let (with, without) = (run(Some(long())), run(None));
        assert_eq!(with.flows, without.flows);
        assert_eq!(with.awake(0), 1.0);
    }
}

/// The scheduling request wakes the UE. Its link adaptation follows from fewer soundings.
#[test]
fn an_uplink_packet_is_not_delayed_by_drx() {
    for access in ACCESSES {
        let run = |drx| cell(access, drx).send([Packets::up(0).of(108, 1000.0)]).run(60);
        let (with, without) = (run(Some(long())), run(None));
        assert!((with.flows[0].mean_ms() - without.flows[0].mean_ms()).abs() < 1.0);
        assert!(with.awake(0) < 0.3);
    }
}

/// Blocks are retransmitted to a UE with the shortest timers: each retransmission is awaited.
#[test]
fn retransmissions_are_served() {
    let lossy = |setup: &mut RanSetup| {
        setup.radio.fading = fading::Spec::Epa(Default::default());
        // A lost assignment costs a cycle, too.
        setup.radio.control_errors = false;
        setup.rlc.mode = RlcMode::Am;
        setup.mac.olla = None;
        let target = block_error_target::Params { target: 0.5 };
        setup.radio.amc = amc::Spec::BlockErrorTarget(target);
    };
    let short = drx::Params { inactivity: ms(0), cycle: ms(40), on_duration: ms(1), ..long() };
    // One cycle of 40 ms more than without DRX, and not another one for a retransmission. In NR, where the poll in the
    // first segment of an SDU is not answered, the UE sleeps before the second one: at times that is two cycles.
    for (access, more) in [(Access::Lte, 55.0), (Access::Nr, 80.0), (Access::Aggregated, 55.0)] {
        let run = |drx: Option<drx::Params>| {
            let network = Network::steady(access).ues(1, 900.0).with(lossy);
            network.with(|setup| setup.mac.drx = drx).send([Packets::down(0).of(108, 99.8)]).run(60)
        };
        let (with, without) = (run(Some(short.clone())), run(None));
        assert!(with.bler(0) > 0.02, "{}", with.bler(0));
        let [with, without] = [with, without].map(|outcome| outcome.flows[0].percentile_ms(99));
        assert!(with < without + more, "{with} {without}");
    }
}

/// A released UE needs `promotion` in the uplink. In the downlink it waits for its paging occasion before that, half a
/// cycle on average.
#[test]
fn a_released_ue_is_promoted() {
    let released = rrc::Params { inactivity: Span::from_secs(5), promotion: ms(100), paging_cycle: ms(1024) };
    for access in ACCESSES {
        let extra = |packets: Packets| {
            let run = |rrc| {
                cell(access, None).with(|setup| setup.rrc = rrc).send([packets.of(108, 10_000.0)]).run(3000)
            };
            let (with, without) = (run(Some(released.clone())), run(None));
            (with.flows[0].mean_ms() - without.flows[0].mean_ms(), with.awake(0))
        };
        let (uplink, awake) = extra(Packets::up(0));
        assert!((uplink - 100.0).abs() < 15.0, "{uplink}");
        assert!((awake - 5.1 / 10.0).abs() < 0.01, "{awake}");
        let (downlink, _) = extra(Packets::down(0));
        assert!((downlink - 100.0 - 512.0).abs() < 40.0, "{downlink}");
    }
}

/// A channel that has changed since the last report before a pause: more blocks fail than with a current report.
#[test]
fn the_first_block_after_a_pause_relies_on_an_old_report() {
    let bler = |drx| {
        let changing = |setup: &mut RanSetup| {
            let walk = fading::epa::Params { speed: Some(Speed(3.0 / 3.6)), ..Default::default() };
            setup.radio.fading = fading::Spec::Epa(walk);
            setup.carrier.bandwidth = Bandwidth::Mhz1p4;
            setup.mac.olla = None;
            setup.mac.drx = drx;
        };
        let network = Network::steady(Access::Lte).ues(1, 1000.0).with(changing);
        network.send([Packets::down(0).of(128, 998.75)]).run(300).bler(0)
    };
    let (with, without) = (bler(Some(drx::Params { cycle: ms(2560), ..long() })), bler(None));
    assert!(with > 2.0 * without, "{with} {without}");
}
