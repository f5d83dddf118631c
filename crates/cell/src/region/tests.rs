//! A region without what is around it: packets in, transmissions and arrivals out, TTI by TTI.

use super::*;
use crate::crew::Crew;
use crate::mac::sched::Rbgs;
use crate::ran::Ran;
use crate::settings::{CellSite, UeSite};
use airwnd_kernel::{Codepoint, Key};
use airwnd_phy::{Position, fading};
use airwnd_rlc::RlcMode;
use airwnd_units::Bytes;

/// A cell and its UEs at 100 m, without fading and with unacknowledged mode.
struct Bench {
    radio: Radio,
    region: Region,
    events: EventLog,
}

impl Bench {
    fn new(ues: usize, change: impl Fn(&mut RanSetup)) -> Bench {
        let ue = UeSite::at(Position::new(100.0, 0.0, 1.5));
        let mut setup = RanSetup::new(vec![CellSite::at(Position::new(0.0, 0.0, 30.0))], vec![ue; ues]);
        setup.radio.fading = fading::Spec::NoFading(Default::default());
        setup.radio.shadowing = None;
        setup.rlc.mode = RlcMode::Um;
        change(&mut setup);
        let (radio, region) = Ran::new(&setup, Crew::default()).unwrap().into_region();
        Bench { radio, region, events: EventLog::new() }
    }

    /// A packet of this size for a UE, or of it, at the start of a TTI.
    fn send(&mut self, tti: u64, ue: u32, direction: Direction, size: u64) {
        let (packet, arrived) = (Key(tti as u32), Tti(tti).start());
        let packet = Sdu { packet, size: Bytes(size), arrived, flow: 0, ecn: Codepoint::NotEct };
        self.region.send(packet, LegId { ue: UeId(ue), bearer: 0, direction }, &mut self.events);
    }

    /// Decides and receives a TTI; returns the RBGs and the number of uplink blocks on air.
    fn step(&mut self, tti: u64) -> (Rbgs, usize) {
        let tti = Tti(tti);
        let now = tti.start();
        self.region.reassemble(now, Direction::Down);
        self.region.expire(now);
        self.radio.begin(tti);
        self.region.decide(&self.radio, tti);
        let cell = &self.region.cells[0];
        let sent = (cell.downlinks[0].on_air(tti), cell.uplink.on_air(tti).len());
        self.radio.transmit(true, std::iter::once(sent.0));
        self.radio.begin_uplink();
        self.region.put_on_air(&mut self.radio, tti);
        self.region.receive(&self.radio, tti);
        self.region.reassemble(now + self.region.access.timing.uplink_duration, Direction::Up);
        sent
    }

    /// Passes TTIs in which nothing is on air.
    fn idle(&mut self, ttis: Range<u64>) {
        ttis.for_each(|tti| assert_eq!(self.step(tti), (Rbgs(0), 0), "{tti}"));
    }

    fn arrived(&mut self) -> Vec<(Direction, u32)> {
        let arrivals = self.region.table.arrivals.drain(..);
        arrivals.map(|arrival| (arrival.direction, arrival.packet.0)).collect()
    }
}

#[test]
fn a_downlink_packet_is_on_air_after_two_ttis_and_the_region_idle_after_its_feedback() {
    let mut bench = Bench::new(1, |_| ());
    bench.idle(0..100);
    assert!(bench.region.is_idle());
    bench.send(100, 0, Direction::Down, 1000);
    assert!(!bench.region.is_idle());
    let mut on_air = Vec::new();
    let mut arrived_at = None;
    for tti in 100..120 {
        let (rbgs, _) = bench.step(tti);
        on_air.extend((rbgs != Rbgs(0)).then_some(tti));
        let arrived = bench.arrived();
        arrived_at = arrived_at.or((!arrived.is_empty()).then_some(tti));
        // The HARQ process is free when the ACK has arrived.
        assert_eq!(bench.region.is_idle(), tti >= 108, "{tti}");
    }
    assert_eq!((on_air, arrived_at), (vec![102], Some(103)));
}

#[test]
fn an_uplink_packet_waits_for_its_request_and_the_grant() {
    let mut bench = Bench::new(1, |_| ());
    // A sounding signal of each UE, by which its channel is known.
    bench.idle(0..50);
    let mut sent = |from: u64| {
        bench.send(from, 0, Direction::Up, 60);
        let blocks: Vec<u64> = (from..from + 30).filter(|tti| bench.step(*tti).1 > 0).collect();
        assert_eq!(bench.arrived(), [(Direction::Up, from as u32)]);
        assert!(bench.region.is_idle());
        blocks
    };
    // Occasions of requests every 10 TTIs: the next one, two TTIs to the decision, two to the grant, four to the block.
    let first = sent(50);
    assert!(first.len() == 1 && (58..68).contains(&first[0]), "{first:?}");
    let occasion = first[0] - 8;
    assert_eq!(sent(occasion + 40), [occasion + 48]);
    assert_eq!(sent(occasion + 81), [occasion + 98]);
}

#[test]
fn two_ues_with_the_same_channel_are_served_one_after_the_other() {
    let mut bench = Bench::new(2, |_| ());
    bench.idle(0..100);
    (0..2).for_each(|ue| bench.send(100 + u64::from(ue), ue, Direction::Down, 400));
    let used: Vec<bool> = (100..105).map(|tti| bench.step(tti).0 != Rbgs(0)).collect();
    assert_eq!(used, [false, false, true, true, false]);
    assert_eq!(bench.arrived(), [(Direction::Down, 100), (Direction::Down, 101)]);
}

#[test]
fn slots_and_sounding_resources_are_reserved_until_none_is_free() {
    let mut bench = Bench::new(2, |setup| setup.mac.srs_period = Some(4));
    let (cell, region) = (CellId(0), &mut bench.region);
    let bearer = region.table.get(UeId(0)).qos();
    let reserved: Vec<_> = (2..5).map(|ue| region.reserve(UeId(ue), bearer, cell)).collect();
    assert_eq!(reserved, [Some(UeSlot(2)), Some(UeSlot(3)), None]);
    region.vacate(cell, UeSlot(2));
    assert_eq!(region.reserve(UeId(4), bearer, cell), Some(UeSlot(2)));
}

#[test]
fn transmissions_of_a_detached_ue_are_lost_and_its_packets_stay() {
    let mut bench = Bench::new(1, |_| ());
    bench.idle(0..100);
    bench.send(100, 0, Direction::Down, 1000);
    let on_air = (100..103).map(|tti| bench.step(tti).0).last();
    assert_ne!(on_air, Some(Rbgs(0)));
    bench.region.detach(Tti(103).start(), UeId(0));
    let ue = bench.region.release(UeId(0));
    bench.idle(103..130);
    assert!(bench.arrived().is_empty() && bench.region.is_idle());
    assert_eq!(ue.bearers[0].downlink.rlc.inside().count(), 1);
    assert_eq!(bench.region.cells[0].users, [FREE_SLOT]);
}
