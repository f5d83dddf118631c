//! Configured grants of the uplink.

use crate::support::{Access, Network, Outcome, Packets};
use airwnd_cell::mac::configured_grant::Params;
use airwnd_cell::mac::drx;
use airwnd_cell::{BufferReports, CellSite, mobility};
use airwnd_phy::{Bandwidth, Position};
use airwnd_units::{Degrees, Span, Speed};

/// Sensors, the first UEs.
const SENSORS: u32 = 5;
const ACCESSES: [Access; 2] = [Access::Lte, Access::Nr];

/// Sensors that send a packet of this many bytes every 20 ms, in changing phases to the occasions, and phones that upload if
/// the cell is loaded.
fn sensors(access: Access, grant: Option<Params>, size: u64, is_loaded: bool) -> Network {
    let network = Network::steady(access).ues(SENSORS as usize, 150.0).with(|setup| {
        setup.ues.iter_mut().for_each(|ue| ue.configured_grant.clone_from(&grant));
    });
    let uploads = (SENSORS..SENSORS + 8).filter(|_| is_loaded).map(|ue| Packets::up(ue).of(1500, 0.5));
    let packets = (0..SENSORS).map(|ue| Packets::up(ue).of(size, 20.0125).starting_at_ms(f64::from(3 * ue)));
    network.ues(8, 150.0).send(packets.chain(uploads)).after_ms(1000)
}

fn every(milliseconds: u64) -> Option<Params> {
    Some(Params { period: Span::from_millis(milliseconds), ..Default::default() })
}

/// Mean delay of the sensors' packets in milliseconds; nearly all are delivered.
fn delay_ms(outcome: &Outcome) -> f64 {
    let flows = &outcome.flows[..SENSORS as usize];
    assert!(flows.iter().all(|flow| flow.delivered_percent() > 98.0));
    flows.iter().map(|flow| flow.mean_ms()).sum::<f64>() / f64::from(SENSORS)
}

/// The request's 2 TTIs to the decision and the grant's 2 to the UE are saved; the wait for an occasion is as long as that
/// for the opportunity of a request of the same period. Half the period saves half of the rest.
#[test]
fn the_wait_for_a_grant_is_saved() {
    for (access, saved) in [(Access::Lte, 4.0), (Access::Nr, 2.5)] {
        let mean = |grant| delay_ms(&sensors(access, grant, 68, false).run(20));
        let (without, with, often) = (mean(None), mean(every(10)), mean(every(5)));
        println!("10 ms: {without} without, {with} with configured grants, {often} every 5 ms");
        assert!(without - with > saved - 0.3, "{without} {with}");
        assert!((with - often - 2.5).abs() < 0.6, "{with} {often}");
    }
}

/// A loaded cell delays packets that need grants, not those with configured ones.
#[test]
fn a_loaded_cell_does_not_delay_configured_grants() {
    for access in ACCESSES {
        let mean = |grant, is_loaded| delay_ms(&sensors(access, grant, 68, is_loaded).run(20));
        let (idle, loaded, without) = (mean(every(10), false), mean(every(10), true), mean(None, true));
        println!("{idle} idle, {loaded} loaded, {without} loaded without configured grants");
        assert!(loaded < idle + 0.5 && without > loaded + 2.0);
    }
}

/// Data that does not fit is reported in the block and granted, with the request masked or not.
#[test]
fn larger_packets_get_grants() {
    for access in ACCESSES {
        for masks_requests in [true, false] {
            for reports in [BufferReports::Requested, BufferReports::Ideal] {
                let small = Params { prbs: 1, mcs: Some(2), masks_requests, ..Default::default() };
                let network = sensors(access, Some(small), 428, false);
                let outcome = network.with(|setup| setup.mac.quirks.buffer_reports = reports).run(20);
                let delay = delay_ms(&outcome);
                assert!(delay < 45.0, "{masks_requests} {reports:?}: {delay}");
            }
        }
    }
}

/// On half of 15 PRBs the cell has places for 2 sensors in each of 2 TTIs. The others send requests.
#[test]
fn ues_without_a_place_send_requests() {
    let network = Network::steady(Access::Lte).ues(20, 150.0).with(|setup| {
        setup.carrier.bandwidth = Bandwidth::Mhz3;
        setup.ues.iter_mut().for_each(|ue| ue.configured_grant = every(2));
    });
    let outcome = network.send((0..20).map(|ue| Packets::up(ue).of(68, 200.125))).run(20);
    let delays: Vec<f64> = outcome.flows.iter().map(|flow| flow.mean_ms()).collect();
    assert_eq!(delays.iter().filter(|delay| **delay < 8.0).count(), 4, "{delays:?}");
    assert!(delays.iter().all(|delay| *delay < 30.0));
}

/// A UE with configured grants sleeps between them, and is not awake for requests.
#[test]
fn a_ue_sleeps_between_configured_grants() {
    let drx = drx::Params { short_cycle: None, inactivity: Span::from_millis(10), ..Default::default() };
    for access in ACCESSES {
        let run = |grant: Option<Params>| {
            let network = Network::steady(access).ues(1, 150.0).with(|setup| {
                setup.mac.drx = Some(drx.clone());
                setup.ues[0].configured_grant = grant;
            });
            network.send([Packets::up(0).of(68, 100.0625)]).run(20)
        };
        let (with, without) = (run(every(10)), run(None));
        assert!(with.awake(0) < 0.25 && without.awake(0) > 1.5 * with.awake(0));
        assert!(with.flows[0].mean_ms() < without.flows[0].mean_ms());
    }
}

/// A UE that changes its cell has a configured grant in the new one.
#[test]
fn a_new_cell_configures_the_grant_again() {
    let run = |grant: Option<Params>| {
        let network = Network::steady(Access::Lte).ues(1, 20.0).with(|setup| {
            setup.rlc.mode = airwnd_cell::RlcMode::Am;
            setup.cells.push(CellSite { site: 1, ..CellSite::at(Position::new(600.0, 0.0, 30.0)) });
            setup.handover.algorithm = airwnd_cell::handover::Spec::A3Rsrp(Default::default());
            setup.ues[0].mobility = mobility::Spec::ConstantVelocity(mobility::constant_velocity::Params {
                speed: Speed(20.0),
                direction: Degrees(0.0),
            });
            setup.ues[0].configured_grant = grant;
        });
        network.send([Packets::up(0).of(68, 20.0125)]).run(30)
    };
    let (with, without) = (run(every(5)), run(None));
    assert_eq!(with.ue(0).handovers, 1);
    let median = |outcome: &Outcome| outcome.flows[0].percentile_ms(50);
    assert!(median(&with) + 4.0 < median(&without), "{} {}", median(&with), median(&without));
    assert!(with.flows[0].delivered_percent() > 99.9);
}
