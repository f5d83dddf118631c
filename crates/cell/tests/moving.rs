//! A terminal that is elsewhere hears as if it had always been there.

use airwnd_cell::phy::{Position, antenna};
use airwnd_cell::{Bearer, CellSite, Direction, Network, Setup, UeId, UeSite, mobility};
use airwnd_engine::aqm::Waiting;
use airwnd_engine::{Codepoint, Key, Stream};
use airwnd_units::{Bytes, Db, Dbm, Degrees, Span, Tti};

const NEAR: Position = Position::new(100.0, 50.0, 1.5);
const FAR: Position = Position::new(380.0, 50.0, 1.5);

/// One cell, one terminal.
fn network(position: Position) -> Network {
    let cell = CellSite {
        site: 0,
        position: Position::new(0.0, 0.0, 30.0),
        boresight: Degrees(0.0),
        antenna: antenna::Spec::Isotropic(Default::default()),
        power: Dbm(43.0),
        noise_figure: Db(5.0),
    };
    let ue = UeSite {
        position,
        mobility: mobility::Spec::Static(Default::default()),
        way: Stream::new(1, "mobility"),
        noise_figure: Db(9.0),
        cell: None,
        srs_offset: None,
        bearer: Bearer::default(),
    };
    Network::new(&Setup {
        carrier: Default::default(),
        radio: Default::default(),
        mac: Default::default(),
        rlc: Default::default(),
        handover: Default::default(),
        x2_delay: Span::ZERO,
        cells: vec![cell],
        ues: vec![ue],
        seed: 1,
    })
    .unwrap()
}

/// A packet in each of these TTIs; the SINR that is reported at their end.
fn exchange(network: &mut Network, ttis: std::ops::Range<u64>) -> Db {
    let mut drops = Vec::new();
    for tti in ttis.map(Tti) {
        network.receive(tti);
        let (packet, size, arrived) = (Key(tti.0 as u32), Bytes(1000), tti.start());
        let packet = Waiting { packet, size, arrived, flow: 0, ecn: Codepoint::NotEct };
        network.send(UeId(0), Direction::Down, packet);
        network.transmit(tti);
        network.take_drops(&mut drops);
    }
    network.ue_figures(UeId(0)).sinr.unwrap()
}

#[test]
fn reports_follow_the_terminal() {
    let mut moving = network(NEAR);
    let near = exchange(&mut moving, 0..101);
    moving.place(UeId(0), FAR);
    let far = exchange(&mut moving, 101..201);
    let always_far = exchange(&mut network(FAR), 0..201);
    assert!(near.0 > far.0 + 6.0, "{near:?} {far:?}");
    assert_eq!(far, always_far);
    moving.place(UeId(0), NEAR);
    assert_eq!(exchange(&mut moving, 201..301), near);
}
