//! HARQ and RLC on a channel with block errors: no duplicates, no reordering.
//!
//! One UE at 2 or 2.8 km from a 13 dBm cell has 3.5 or 0.5 dB. With link adaptation for a bit error rate of 3 % about 5
//! % or 47 % of its first transmissions fail.

use crate::support::{Network, Outcome, Packets};
use airwnd_catalog::{Node, Param};
use airwnd_cell::mac::power_control;
use airwnd_cell::{
    Bearer, BearerId, BearerSetup, BufferReports, CellSite, Crew, Qci, RadioSettings, Ran, RanSetup, Rlc,
    RlcMode, UeId, UeSite, UplinkAdaptation,
};
use airwnd_kernel::{Codepoint, Direction, Key};
use airwnd_links::aqm::Waiting;
use airwnd_phy::amc;
use airwnd_phy::{Position, fading, propagation};
use airwnd_rlc::{DropCause, am};
use airwnd_units::{BitRate, Bytes, Dbm, Metres, Span, Tti};
use std::collections::BTreeSet;
use std::sync::Arc;

fn setup(distance: f64, transmissions: u8, am: Option<am::Params>) -> RanSetup {
    let amc = Node::from_toml("kind = \"piro-ew2010\"\nber = 0.03", "test").unwrap();
    let queue = Node::from_toml("kind = \"drop-tail\"\nbuffer = \"60kB\"", "test").unwrap();
    let position = Position { x: Metres(distance), y: Metres(0.0), z: Metres(1.5) };
    let cell = CellSite { power: Dbm(13.0), ..CellSite::at(Position::new(0.0, 0.0, 30.0)) };
    RanSetup {
        radio: RadioSettings {
            propagation: propagation::Spec::Friis(Default::default()),
            shadowing: None,
            fading: fading::Spec::NoFading(Default::default()),
            amc: amc::Spec::read(&amc).unwrap(),
            ..Default::default()
        },
        mac: airwnd_cell::Mac { harq_transmissions: transmissions, olla: None, ..Default::default() },
        rlc: airwnd_cell::Rlc {
            mode: if am.is_some() { RlcMode::Am } else { RlcMode::Um },
            queue: Param::read(&queue).unwrap(),
            am: am.unwrap_or_default(),
            ..Default::default()
        },
        ..RanSetup::new(vec![cell], vec![UeSite::at(position)])
    }
}

/// Packets by outcome.
#[derive(Default)]
struct Outcomes {
    sent: u32,
    arrived: Vec<u32>,
    dropped: BTreeSet<u32>,
    inside: BTreeSet<u32>,
    /// Dropped packets that were lost on the air.
    lost: u32,
    /// Radio link failures by RLC maximum retransmissions.
    failures: u64,
}

/// Bearers beside the default one: one of a higher priority in the same mode, one in between in the other mode.
fn dedicated(rlc: &Rlc) -> [BearerSetup; 2] {
    let bearer = |qci| BearerSetup::new(Bearer::new(Qci::new(qci).unwrap(), BitRate(0), BitRate(0)));
    let mode = if rlc.mode == RlcMode::Am { RlcMode::Um } else { RlcMode::Am };
    let other = Rlc { mode, ..rlc.clone() };
    [BearerSetup { pbr: BitRate(0), ..bearer(5) }, BearerSetup { rlc: Some(Arc::new(other)), ..bearer(8) }]
}

/// Sends three packets per TTI and direction for three seconds; even numbers downlink, odd numbers uplink. Pairs of
/// them take turns among this many bearers.
fn exchange(distance: f64, transmissions: u8, am: Option<am::Params>, bearers: u32) -> Outcomes {
    let mut setup = setup(distance, transmissions, am);
    let all = [BearerSetup::default()].into_iter().chain(dedicated(&setup.rlc));
    setup.ues[0].bearers = all.take(bearers as usize).collect();
    let mut network = Ran::new(&setup, Crew::default()).unwrap();
    let (mut outcomes, mut arrivals, mut drops) = (Outcomes::default(), Vec::new(), Vec::new());
    for tti in (0..3000).map(Tti) {
        network.receive_uplink(tti.start());
        network.receive(tti);
        network.take_arrivals(&mut arrivals);
        outcomes.arrived.extend(arrivals.iter().map(|arrival| {
            assert_eq!(arrival.direction == Direction::Up, arrival.packet.0 % 2 == 1);
            arrival.packet.0
        }));
        for _ in 0..3 {
            for direction in [Direction::Down, Direction::Up] {
                let size = Bytes(40 + u64::from(outcomes.sent * 97 % 1461));
                let (packet, arrived) = (Key(outcomes.sent), tti.start());
                let packet = Waiting { packet, size, arrived, flow: 0, ecn: Codepoint::NotEct };
                let bearer = BearerId((outcomes.sent / 2 % bearers) as u8);
                network.send(UeId(0), bearer, direction, packet);
                outcomes.sent += 1;
            }
        }
        network.transmit(tti);
        network.take_drops(&mut drops);
        for drop in &drops {
            outcomes.lost += u32::from(drop.cause == DropCause::RadioLoss);
            assert!(outcomes.dropped.insert(drop.packet.0), "packet {} is dropped twice", drop.packet.0);
        }
    }
    outcomes.failures = network.ue_figures(UeId(0)).failures;
    outcomes.inside = network.inside().map(|packet| packet.0).collect();
    outcomes
}

fn standard() -> am::Params {
    am::Params::default()
}

fn as_in_ns3() -> am::Params {
    am::Params { quirks: am::Quirks { conduct: am::Conduct::Ns3 }, ..standard() }
}

#[test]
fn packets_arrive_once_and_in_order_or_are_dropped() {
    let modes = [
        None,
        Some(am::Params::default()),
        Some(standard()),
        Some(am::Params { max_retx: Some(1), ..standard() }),
    ];
    let channels = [(2000.0, 1), (2800.0, 1), (2800.0, 2), (2800.0, 4)];
    for ((distance, transmissions), am) in
        channels.iter().flat_map(|channel| modes.iter().map(move |am| (*channel, am.clone())))
    {
        let outcomes = exchange(distance, transmissions, am.clone(), 1);
        assert_one_outcome(&outcomes, 1);
        if let Some(am) = &am {
            assert_eq!(outcomes.lost, 0, "acknowledged mode loses nothing on the air");
            let exceeds_max_retx = am.max_retx.is_some() && transmissions == 1;
            assert_eq!(outcomes.failures > 0, exceeds_max_retx, "{} failures", outcomes.failures);
        } else {
            assert_eq!(outcomes.lost > 0, transmissions == 1);
        }
    }
}

/// Packets of a bearer arrive in order, and each packet once unless it is dropped or inside.
fn assert_one_outcome(outcomes: &Outcomes, bearers: u32) {
    for leg in 0..2 * bearers {
        let is_of_one = |number: &u32| number % (2 * bearers) == leg;
        let of_one: Vec<u32> = outcomes.arrived.iter().copied().filter(is_of_one).collect();
        // The rates of several bearers follow their priorities.
        assert!(bearers > 1 || of_one.len() > 300, "{} packets crossed", of_one.len());
        assert!(of_one.is_sorted_by(|earlier, later| earlier < later), "in order, none twice");
    }
    let mut all: Vec<u32> = outcomes.arrived.clone();
    all.extend(&outcomes.dropped);
    all.extend(&outcomes.inside);
    all.sort_unstable();
    assert_eq!(all, (0..outcomes.sent).collect::<Vec<_>>(), "each packet has one outcome");
}

/// Bearers of both modes share blocks, also over failures of the link by maxRetxThreshold, which re-establish all.
#[test]
fn packets_of_several_bearers_arrive_once_and_in_order_or_are_dropped() {
    for am in [None, Some(standard()), Some(as_in_ns3())] {
        for (distance, transmissions) in [(2000.0, 1), (2800.0, 1), (2800.0, 4)] {
            for bearers in [2, 3] {
                assert_one_outcome(&exchange(distance, transmissions, am.clone(), bearers), bearers);
            }
        }
    }
    let outcomes = exchange(2800.0, 1, Some(am::Params { max_retx: Some(1), ..standard() }), 3);
    assert!(outcomes.failures > 0);
    assert_one_outcome(&outcomes, 3);
}

/// Packets of 1030 B at a rate in Mbit/s of 1000 B of them, by default in unacknowledged mode, during 20 s. There are 1 MB
/// of buffer.
fn offer(distance: f64, am: Option<am::Params>, mbps: f64) -> Outcome {
    let queue = Node::from_toml("kind = \"drop-tail\"\nbuffer = \"1MB\"", "test").unwrap();
    let mut setup = setup(distance, 1, am);
    setup.rlc.queue = Param::read(&queue).unwrap();
    setup.mac.uplink_adaptation = UplinkAdaptation::Carrier;
    setup.mac.power_control.mode = power_control::Mode::OpenLoop;
    Network::of(setup).send([Packets::down(0).of(1030, 8.0 / mbps)]).run(20)
}

/// An SDU of 1030 B is in 1 + 1030 / B blocks of B bytes on average and is lost with any of them:
/// 1 - (1 - p)^(1 + 1030 / B).
#[test]
fn without_harq_a_lost_block_loses_its_packets() {
    for distance in [2000.0, 2800.0] {
        let outcome = offer(distance, None, 3.0);
        let (failed, block) = (outcome.bler(0), outcome.block_bytes(0));
        assert!(failed > 0.04, "{failed} of the blocks fail");
        let lost = outcome.dropped(DropCause::RadioLoss) as f64;
        let measured = lost / (lost + outcome.flows[0].delays_ms.len() as f64);
        let expected = 1.0 - (1.0 - failed).powf(1.0 + 1030.0 / block);
        assert!((measured / expected - 1.0).abs() < 0.1, "{distance} m: {measured} lost, not {expected}");
    }
}

/// Acknowledged mode delivers packets that unacknowledged mode loses: goodput equals the offered load, at a higher
/// delay.
#[test]
fn acknowledged_mode_trades_losses_for_delay() {
    for am in [None, Some(as_in_ns3()), Some(standard())] {
        let outcome = offer(2000.0, am.clone(), 1.0);
        assert!(outcome.bler(0) > 0.04, "{} of the blocks fail", outcome.bler(0));
        let (delivered, latest) = (outcome.flows[0].delivered_percent(), outcome.flows[0].percentile_ms(99));
        // A packet of 1030 B is in two or three blocks.
        assert_eq!(delivered > 99.5, am.is_some(), "{delivered} %");
        assert!(am.is_none() || latest > 38.0, "{latest} ms");
    }
}

/// A saturated link with a block loss rate p carries (1 - p) B bytes per TTI, minus the overhead of RLC.
#[test]
fn acknowledged_mode_delivers_the_capacity_of_the_channel() {
    for distance in [2000.0, 2800.0] {
        let outcome = offer(distance, Some(standard()), 20.0);
        let expected = (1.0 - outcome.bler(0)) * outcome.block_bytes(0) * 8.0;
        let used = outcome.kbps(0) / expected;
        assert!((0.97..1.0).contains(&used), "{distance} m: {} of {expected:.0} kbit/s", outcome.kbps(0));
    }
}

/// Delays in TTIs of packets that a UE sends every second. With four co-located cells of equal strength its control
/// channels have -4.8 dB, and it loses some of its grants.
fn lone_packets(retx_bsr_timer: Option<Span>) -> Vec<u64> {
    let mut setup = setup(500.0, 4, None);
    setup.mac.quirks.buffer_reports = BufferReports::Ideal;
    setup.mac.uplink_adaptation = UplinkAdaptation::Carrier;
    setup.mac.power_control.mode = power_control::Mode::OpenLoop;
    setup.mac.retx_bsr_timer = retx_bsr_timer;
    setup.cells = vec![setup.cells[0].clone(); 4];
    let mut network = Ran::new(&setup, Crew::default()).unwrap();
    let (mut arrivals, mut delays) = (Vec::new(), Vec::new());
    for tti in (0..200_000).map(Tti) {
        network.receive_uplink(tti.start());
        network.receive(tti);
        network.take_arrivals(&mut arrivals);
        delays.extend(arrivals.iter().map(|arrival| tti.0 - 1000 * u64::from(arrival.packet.0)));
        if tti.0.is_multiple_of(1000) {
            let packet = Waiting {
                packet: Key(tti.0 as u32 / 1000),
                size: Bytes(100),
                arrived: tti.start(),
                flow: 0,
                ecn: Codepoint::NotEct,
            };
            network.send(UeId(0), BearerId(0), Direction::Up, packet);
        }
        network.transmit(tti);
    }
    delays
}

/// A lost grant delays the packet by retxBSR-Timer and another grant; without the timer, until the next packet.
#[test]
fn a_lost_grant_is_requested_again() {
    let idle = *lone_packets(None).iter().min().unwrap();
    let waited = |delays: &[u64], at_least: u64| delays.iter().filter(|delay| **delay >= at_least).count();
    let (without, with) = (lone_packets(None), lone_packets(Some(Span::from_millis(40))));
    assert!(waited(&without, 1000) > 5, "{} packets waited for the next", waited(&without, 1000));
    assert_eq!(waited(&with, 1000), 0);
    assert_eq!(waited(&with, idle + 1), waited(&without, 1000));
    assert!(with.iter().all(|delay| (delay - idle).is_multiple_of(40)), "{with:?}");
}
