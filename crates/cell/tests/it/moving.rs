//! A UE that has moved has the same channel as one that has always been at its position.

use airwnd_cell::{BearerId, CellSite, Crew, RadioSettings, Ran, RanSetup, UeId, UeSite, mobility};
use airwnd_kernel::{Codepoint, Direction, Key};
use airwnd_links::aqm::Waiting;
use airwnd_phy::{Position, fading, propagation};
use airwnd_units::{Bytes, Db, Span, Speed, Tti};

const NEAR: Position = Position::new(100.0, 50.0, 1.5);
const FAR: Position = Position::new(380.0, 50.0, 1.5);

/// One cell, one UE.
fn setup(position: Position) -> RanSetup {
    let radio = RadioSettings {
        propagation: propagation::Spec::Friis(Default::default()),
        shadowing: None,
        fading: fading::Spec::NoFading(Default::default()),
        ..Default::default()
    };
    let cell = CellSite::at(Position::new(0.0, 0.0, 30.0));
    RanSetup { radio, ..RanSetup::new(vec![cell], vec![UeSite::at(position)]) }
}

fn network(position: Position) -> Ran {
    Ran::new(&setup(position), Crew::default()).unwrap()
}

/// Sends a packet in each of these TTIs; returns the SINR reported at their end.
fn exchange(network: &mut Ran, ttis: std::ops::Range<u64>) -> Db {
    let mut drops = Vec::new();
    for tti in ttis.map(Tti) {
        network.advance(tti.start());
        network.receive(tti);
        let (packet, size, arrived) = (Key(tti.0 as u32), Bytes(1000), tti.start());
        let packet = Waiting { packet, size, arrived, flow: 0, ecn: Codepoint::NotEct };
        network.send(UeId(0), BearerId(0), Direction::Down, packet);
        network.transmit(tti);
        network.take_drops(&mut drops);
    }
    network.ue_figures(UeId(0)).sinr.unwrap()
}

#[test]
fn reports_follow_the_ue() {
    let mut moving = network(NEAR);
    let near = exchange(&mut moving, 0..101);
    moving.place(Tti(101).start(), UeId(0), FAR);
    let far = exchange(&mut moving, 101..201);
    let always_far = exchange(&mut network(FAR), 0..201);
    assert!(near.0 > far.0 + 6.0, "{near:?} {far:?}");
    assert_eq!(far, always_far);
    moving.place(Tti(201).start(), UeId(0), NEAR);
    assert_eq!(exchange(&mut moving, 201..301), near);
}

/// A UE on a straight trajectory has the same channel at the same position, independent of the number of queries and of
/// skipped TTIs.
#[test]
fn fading_is_a_function_of_position() {
    let car = |period: u64| {
        let mut setup = setup(FAR);
        setup.radio.fading = fading::Spec::Eva(Default::default());
        setup.radio.position_period = Span::from_millis(period);
        let speed = mobility::constant_velocity::Params { speed: Speed(20.0), ..Default::default() };
        setup.ues[0].mobility = mobility::Spec::ConstantVelocity(speed);
        Ran::new(&setup, Crew::default()).unwrap()
    };
    let sinr = |network: &mut Ran, ttis: std::ops::Range<u64>| {
        network.advance(Tti(ttis.start).start());
        exchange(network, ttis).0
    };
    let (mut often, mut seldom, mut asleep) = (car(5), car(50), car(5));
    let all = sinr(&mut often, 0..401);
    assert!((sinr(&mut seldom, 0..401) - all).abs() < 1e-3);
    assert!((sinr(&mut asleep, 400..401) - all).abs() < 1e-3);
    assert!((sinr(&mut asleep, 401..421) - all).abs() > 0.01, "fading continues");
}
