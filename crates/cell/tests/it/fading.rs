//! Effects of fading channels on link adaptation and scheduling.

use crate::support::{Access, Network, Outcome, Packets};
use airwnd_cell::mac::{outer_loop, sched};
use airwnd_cell::{CellSite, RanSetup, UeSite, mobility};
use airwnd_phy::amc::{self, fixed};
use airwnd_phy::{Position, fading, propagation};
use airwnd_units::{Degrees, Speed};

fn eva(speed_km_h: Option<f64>) -> fading::Spec {
    let speed = speed_km_h.map(|speed| Speed(speed / 3.6));
    fading::Spec::Eva(fading::eva::Params { speed, ..Default::default() })
}

/// A saturated UE at 500 m and 15 dB with the channel of a car at 60 km/h, or another one.
fn car(change: impl FnOnce(&mut RanSetup)) -> Outcome {
    let network = Network::steady(Access::Lte).ues(1, 500.0).power(13.0).with(|setup| {
        setup.radio.propagation = propagation::Spec::Friis(Default::default());
        setup.radio.fading = eva(Some(60.0));
        setup.mac.scheduler = sched::Spec::Rr(Default::default());
        setup.mac.olla = None;
    });
    network.with(change).send([Packets::down(0).of(1028, 0.2)]).run(10)
}

#[test]
fn the_channel_is_the_same_for_every_algorithm() {
    // A saturated cell transmits in each TTI from the start of its traffic, so the same TTIs are sampled.
    let sinr = |change: &dyn Fn(&mut RanSetup)| car(change).ue(0).mean_sinr.unwrap();
    let reference = sinr(&|_| ());
    let changes: [&dyn Fn(&mut RanSetup); 4] = [
        &|setup| setup.mac.scheduler = sched::Spec::Pf(Default::default()),
        &|setup| setup.mac.scheduler = sched::Spec::Pss(Default::default()),
        &|setup| setup.mac.olla = Some(outer_loop::Params { target: 0.2, ..Default::default() }),
        &|setup| setup.radio.amc = amc::Spec::PiroEw2010(Default::default()),
    ];
    for (number, change) in changes.iter().enumerate() {
        assert_eq!(sinr(change), reference, "{number}");
    }
    assert_ne!(sinr(&|setup| setup.radio.fading = eva(Some(61.0))), reference);
}

/// CQI reports are 5 to 6 ms old, longer than the coherence time of a car's channel, so the BLER far exceeds the 10 %
/// target of the reports. The outer loop restores the target.
#[test]
fn the_outer_loop_meets_its_target_with_outdated_reports() {
    let without = car(|_| ()).bler(0);
    assert!(without > 0.2, "{without}");
    for target in [0.05, 0.1, 0.2] {
        let olla = outer_loop::Params { target, ..Default::default() };
        let with = car(|setup| setup.mac.olla = Some(olla)).bler(0);
        println!("target {target}: {with}");
        assert!((with - target).abs() < 0.01, "{target}: {with}");
    }
}

/// Without an explicit speed the Doppler spread of fading follows the UE's speed. A car at 60 km/h and 500 m loses as
/// many first transmissions to outdated reports as a static UE with fading of that speed; a UE at rest loses as few as
/// a pedestrian.
#[test]
fn fading_follows_the_speed_of_the_ue() {
    let (set, walker) = (car(|_| ()).bler(0), car(|setup| setup.radio.fading = eva(Some(3.0))).bler(0));
    let standing = car(|setup| setup.radio.fading = eva(None)).bler(0);
    let driving = car(|setup| {
        setup.radio.fading = eva(None);
        setup.ues[0].position = Position::new(-88.0, 493.0, 1.5);
        let params =
            mobility::constant_velocity::Params { speed: Speed(60.0 / 3.6), direction: Degrees(0.0) };
        setup.ues[0].mobility = mobility::Spec::ConstantVelocity(params);
    });
    let driving = driving.bler(0);
    println!("60 km/h set {set}, driven {driving}; 3 km/h set {walker}, standing {standing}");
    assert!((driving - set).abs() < 0.03 && set > 0.2, "{driving} {set}");
    assert!((standing - walker).abs() < 0.01 && walker < 0.05, "{standing} {walker}");
}

/// Eight pedestrians at equal distance. Round robin ignores the channel; proportional fair serves each UE at its
/// channel peaks, in time and in frequency.
#[test]
fn proportional_fair_exploits_multi_user_diversity() {
    let rate = |scheduler: sched::Spec, fading: fading::Spec| {
        let network = Network::steady(Access::Lte).ues(8, 1000.0).power(13.0).with(|setup| {
            setup.radio.propagation = propagation::Spec::Friis(Default::default());
            setup.radio.fading = fading;
            setup.mac.scheduler = scheduler;
        });
        let outcome = network.send((0..8).map(|ue| Packets::down(ue).of(1028, 2.0))).run(4);
        (0..8).map(|flow| outcome.kbps(flow)).sum::<f64>()
    };
    let gain = |fading: fn() -> fading::Spec| {
        rate(sched::Spec::Pf(Default::default()), fading())
            / rate(sched::Spec::Rr(Default::default()), fading())
    };
    let flat = gain(|| fading::Spec::NoFading(Default::default()));
    let faded = gain(|| {
        fading::Spec::Epa(fading::epa::Params { speed: Some(Speed(3.0 / 3.6)), ..Default::default() })
    });
    println!("PF over RR: {flat} flat, {faded} faded");
    assert!((flat - 1.0).abs() < 0.1, "{flat}");
    assert!(faded > 1.4 * flat, "{faded}");
}

/// A UE near the middle between two cells that both transmit all the time. Its mean SINR over the carrier is computed
/// per TTI, and fading causes periods of low interference.
#[test]
fn interference_fades_by_default() {
    let sinr = |interference: bool| {
        let network = Network::steady(Access::Lte).with(|setup| {
            let doppler = Some(airwnd_units::Hertz(70.0));
            let etu = fading::etu::Params { doppler, interference, ..Default::default() };
            setup.radio.fading = fading::Spec::Etu(etu);
            setup.radio.propagation = propagation::Spec::Friis(Default::default());
            setup.radio.amc = amc::Spec::Fixed(fixed::Params { cqi: 1 });
            setup.radio.control_errors = false;
            setup.cells.push(CellSite { site: 1, ..CellSite::at(Position::new(1000.0, 0.0, 30.0)) });
            setup.ues = [450.0, 550.0].map(|x| UeSite::at(Position::new(x, 0.0, 1.5))).to_vec();
        });
        network.send([0, 1].map(|ue| Packets::down(ue).of(1028, 0.2))).run(4).ue(0).mean_sinr.unwrap().0
    };
    let (steady, faded) = (sinr(false), sinr(true));
    println!("steady interference {steady} dB, faded {faded} dB");
    // 20 log10(550 / 450) = 1.74 dB. The mean over the PRBs in decibels is lower by at most 2.51 dB, the value for flat
    // fading of the carrier (Euler's constant times 10 / ln 10).
    assert!((1.74 - 2.51..1.74).contains(&steady), "{steady}");
    assert!(faded > steady + 1.0, "{steady} {faded}");
}
