//! The capacity of the PDCCH.

use crate::support::{Access, Network, Outcome, Packets};
use airwnd_cell::RequestPeriod;
use airwnd_cell::mac::{pdcch, sched};
use airwnd_kernel::Direction;
use std::collections::BTreeMap;

/// So many calls in one cell, each with a packet of 68 B every 10 ms in both directions, all at the same SINR.
fn calls(access: Access, count: u32) -> Network {
    let call = |direction| (0..count).map(move |ue| Packets::towards(direction, ue).of(68, 10.0));
    Network::steady(access)
        .ues(count as usize, 150.0)
        .with(|setup| {
            setup.mac.scheduler = sched::Spec::Rr(Default::default());
            if access == Access::Nr {
                setup.mac.request_period = RequestPeriod::Ms5;
            }
        })
        .send(Direction::BOTH.into_iter().flat_map(call))
        .after_ms(1000)
}

fn limited(network: Network, symbols: u8) -> Network {
    network.with(|setup| setup.mac.pdcch = Some(pdcch::Params { symbols: Some(symbols) }))
}

/// Delivered packets in percent, and their mean delay in milliseconds, of the calls in a direction.
fn mean(outcome: &Outcome, direction: Direction) -> (f64, f64) {
    let half = outcome.flows.len() / 2;
    let flows = &outcome.flows[direction as usize * half..][..half];
    let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
    (
        mean(flows.iter().map(|flow| flow.delivered_percent()).collect()),
        mean(flows.iter().map(|flow| flow.mean_ms()).collect()),
    )
}

/// A carrier with room for all has the results of one without the limit.
#[test]
fn ample_room_changes_nothing() {
    let [with, without] = [true, false].map(|is_limited| {
        let network = calls(Access::Lte, 3);
        if is_limited { limited(network, 3) } else { network }.run(3).flows
    });
    assert_eq!(with, without);
}

/// Of a hundred UEs with a packet in each TTI, each TTI serves at most as many as there are CCEs, and nearly as many as
/// that: UEs near the site need one.
#[test]
fn a_slot_serves_as_many_ues_as_it_has_cces() {
    for (access, symbols, cces) in [(Access::Lte, 1, 8), (Access::Lte, 2, 25), (Access::Nr, 1, 8)] {
        let network = limited(calls(access, 0).ues(100, 150.0), symbols);
        let outcome = network.send((0..100).map(|ue| Packets::down(ue).of(68, 1.0))).run(2);
        let allocations = outcome.ran.allocations().unwrap();
        let mut by_tti = BTreeMap::new();
        allocations.iter().for_each(|allocation| *by_tti.entry(allocation.tti).or_insert(0) += 1);
        let max = by_tti.values().max().unwrap();
        let mean = allocations.len() as f64 / by_tti.len() as f64;
        assert!(*max <= cces, "{max} of {cces}");
        assert!(mean > 0.85 * f64::from(cces.min(17)), "{mean} of {cces}");
    }
}

/// At 3 dB each assignment and grant takes four of eight CCEs, near the site one: packets wait in both directions, and no UE
/// is left out.
#[test]
fn calls_wait_for_cces() {
    for (access, power) in [(Access::Lte, 6.0), (Access::Nr, 13.0)] {
        let near = limited(calls(access, 40), 1).run(10);
        let far = limited(calls(access, 40).power(power), 1).run(10);
        let free = calls(access, 40).power(power).run(10);
        for direction in Direction::BOTH {
            let [near, far, free] = [&near, &far, &free].map(|outcome| mean(outcome, direction));
            println!("{direction:?}: near {near:?}, edge {far:?}, edge without limit {free:?}");
            assert!(near.0 > 99.0 && free.0 > 99.0 && near.1 < 0.5 * far.1);
            // NR's PDCCH is overloaded by the grants, and packets wait at the end.
            assert!(far.0 > 90.0 && far.1 > 1.5 * free.1);
        }
        let min = far.flows.iter().map(|flow| flow.delivered_percent()).fold(100.0, f64::min);
        assert!(min > 80.0, "{min}");
    }
}
