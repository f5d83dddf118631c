//! The radio model against values of ns-3 3.44 runs: path loss, antennas, link adaptation and block errors.

use airwnd_kernel::Direction;
use airwnd_phy::access::Access;
use airwnd_phy::amc::{self, Amc, block_error_target, piro_ew2010};
use airwnd_phy::antenna::{Antenna, Bearing, parabolic};
use airwnd_phy::error_model::mutual_information::{self, CodeBlocks, MutualInformation};
use airwnd_phy::error_model::{self, ErrorModel, Transmission};
use airwnd_phy::link_budget::{PRB_BANDWIDTH, noise_per_prb, power_per_prb, rsrp, sinr};
use airwnd_phy::propagation::{self, Draws, LinkGeometry, Propagation, friis, hybrid_buildings, tr38901};
use airwnd_phy::tables::{self, mcs_of, transport_block};
use airwnd_phy::{Cqi, Mcs, Position, Prbs, Sinr};
use airwnd_units::{Bytes, Db, Dbm, Degrees, Hertz, Metres};
use std::sync::Arc;

/// Downlink EARFCN 100 in band 1 (TS 36.101 §5.7.3): 2110 + 0.1 x 100 MHz.
const CARRIER: Hertz = Hertz(2.12e9);
/// The last two of 50 resource blocks do not form a whole RBG of three, and ns-3 schedules only whole RBGs.
const SCHEDULED: Prbs = Prbs(48);

/// The fields of each line that is not a comment.
fn rows(csv: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    csv.lines().filter(|line| !line.starts_with('#')).map(|line| line.split(',').collect())
}

fn number(field: &str) -> f64 {
    field.parse().expect("a number")
}

fn receiver() -> Arc<dyn ErrorModel> {
    Arc::new(MutualInformation::new(mutual_information::Params::default()))
}

fn town(los_to_nlos: f64) -> Box<dyn Propagation> {
    let params = hybrid_buildings::Params { los_to_nlos: Metres(los_to_nlos), ..Default::default() };
    propagation::Spec::HybridBuildings(params).build()
}

fn link_adaptation(word: &str) -> Box<dyn Amc> {
    let spec = match word {
        "mi" => amc::Spec::BlockErrorTarget(block_error_target::Params::default()),
        "piro" => amc::Spec::PiroEw2010(piro_ew2010::Params::default()),
        other => panic!("{other} is no rule of the reference"),
    };
    spec.build(&receiver(), &Arc::new(Access::lte(Prbs(100))))
}

#[test]
fn path_loss_of_tr_38901() {
    for row in rows(include_str!("../data/tr38901.csv")) {
        let [scenario, sight, ghz, cell, ground, expected] = row[..] else { panic!("{row:?}") };
        let scenarios = match scenario {
            "uma" => vec![tr38901::Scenario::UrbanMacro],
            "umi" => vec![tr38901::Scenario::UrbanMicro],
            "rma" => vec![tr38901::Scenario::RuralMacro],
            _ => vec![tr38901::Scenario::MixedOffice, tr38901::Scenario::OpenOffice],
        };
        let line_of_sight = if sight == "1" { tr38901::Sight::Always } else { tr38901::Sight::Never };
        for scenario in scenarios {
            let params = tr38901::Params { scenario, line_of_sight, ..Default::default() };
            let loss = propagation::Spec::Tr38901(params).build().path_loss(&LinkGeometry::new(
                Position::new(0.0, 0.0, number(cell)),
                Position::new(number(ground), 0.0, 1.5),
                Hertz(1e9 * number(ghz)),
                Draws::MEDIAN,
            ));
            assert!((loss.0 - number(expected)).abs() < 0.01, "{row:?}: {loss}");
        }
    }
}

/// A row of the S1 runs.
struct Served {
    loss: &'static str,
    rule: &'static str,
    distance: f64,
    power: Dbm,
    rsrp: f64,
    sinr: Db,
    mcs: Option<Mcs>,
    block: Bytes,
    blocks: u64,
}

fn served(csv: &'static str) -> Vec<Served> {
    rows(csv)
        .map(|row| Served {
            loss: row[0],
            rule: row[1],
            distance: number(row[2]),
            power: Dbm(number(row[3])),
            rsrp: number(row[4]),
            sinr: Db(number(row[5])),
            mcs: row[6].parse().ok().map(Mcs),
            block: Bytes(row[7].parse().unwrap_or(0)),
            blocks: row[8].parse().expect("a count"),
        })
        .collect()
}

fn s1() -> Vec<Served> {
    served(include_str!("../data/s1.csv"))
}

fn s1_fine() -> Vec<Served> {
    served(include_str!("../data/s1_fine.csv"))
}

#[test]
fn received_power_and_sinr_of_one_ue() {
    for row in s1().iter().chain(&s1_fine()) {
        let model = match row.loss {
            "friis" => propagation::Spec::Friis(friis::Params {}).build(),
            "hybrid" => town(200.0),
            _ => town(1001.0),
        };
        let (a, b) = (Position::new(0.0, 0.0, 30.0), Position::new(row.distance, 0.0, 1.5));
        let received = power_per_prb(row.power, Prbs(50))
            - model.path_loss(&LinkGeometry::new(a, b, CARRIER, Draws::MEDIAN));
        let ratio = sinr(received, noise_per_prb(Db(9.0), PRB_BANDWIDTH), []);
        assert!((rsrp(received).0 - row.rsrp).abs() < 0.001, "{} {} m", row.loss, row.distance);
        assert!((ratio.0 - row.sinr.0).abs() < 0.001, "{} {} m", row.loss, row.distance);
    }
}

#[test]
fn received_power_at_a_site_with_three_sectors() {
    let antenna = parabolic::Parabolic::new(parabolic::Params::default());
    let site = Position::new(0.0, 0.0, 30.0);
    for row in rows(include_str!("../data/s3.csv")) {
        let user = Position::new(number(row[1]), number(row[2]), 1.5);
        let boresight = Degrees(120.0 * (number(row[3]) - 1.0));
        let gain = antenna.gain(Bearing::towards(user, site, boresight));
        let loss = town(number(row[0])).path_loss(&LinkGeometry::new(site, user, CARRIER, Draws::MEDIAN));
        let received = rsrp(power_per_prb(Dbm(43.0), Prbs(50)) + gain - loss);
        assert!((received.0 - number(row[4])).abs() < 0.001, "{row:?}: {received:?}");
    }
}

/// The UE's MCS for a wideband report; `None` if out of range.
fn scheme(rule: &dyn Amc, sinr: f64, blocks: Prbs) -> Option<Mcs> {
    let cqi = rule.cqi(Sinr::Flat(Db(sinr)), blocks);
    (cqi != Cqi::OUT_OF_RANGE).then(|| mcs_of(cqi))
}

/// Excludes rows of UEs with a channel so poor that ns-3 sends MCS 0 a few times before the first report.
fn reported(row: &&Served) -> bool {
    row.blocks == 0 || row.blocks > 100
}

#[test]
fn piro_selects_the_mcs_and_block_of_the_reference() {
    let rule = link_adaptation("piro");
    for row in s1().iter().chain(&s1_fine()).filter(|row| row.rule == "piro").filter(reported) {
        let mcs = scheme(&*rule, row.sinr.0, Prbs(50));
        assert_eq!(mcs, row.mcs, "{} {:?}", row.loss, row.sinr);
        if let Some(mcs) = mcs {
            assert_eq!(transport_block(Direction::Down, mcs, SCHEDULED), row.block);
        }
    }
}

#[test]
fn block_error_target_switches_mcs_within_half_a_decibel_of_the_reference() {
    let rule = link_adaptation("mi");
    for row in s1().iter().chain(&s1_fine()).filter(|row| row.rule == "mi").filter(reported) {
        let near = [-0.4, 0.4].map(|offset| scheme(&*rule, row.sinr.0 + offset, Prbs(50)));
        assert!(near[0] <= row.mcs && row.mcs <= near[1], "{:?}: {near:?}, not {:?}", row.sinr, row.mcs);
    }
}

#[test]
fn subband_reports_on_fifteen_blocks() {
    let rule = link_adaptation("mi");
    for row in rows(include_str!("../data/s2.csv")) {
        let blocks = if row[0] == "wideband" { Prbs(15) } else { Prbs(2) };
        let (ratio, mcs) = (number(row[1]), row[2].parse().ok().map(Mcs));
        let near = [-0.4, 0.4].map(|offset| scheme(&*rule, ratio + offset, blocks));
        assert!(near[0] <= mcs && mcs <= near[1], "{row:?}: {near:?}");
    }
}

#[test]
fn ten_percent_errors_at_the_sinr_of_the_reference() {
    // ns-3 counts blocks without their CRC, which explains the simulated curves' difference at 3 PRB (24 bits in
    // addition to 88 in the first row). These curves are not fitted to these rows; the losses of mutual-information
    // are.
    for (name, model, max, max_rms) in [
        ("mutual-information", receiver(), 0.35, 0.15),
        (
            "block-error-curves",
            error_model::Spec::BlockErrorCurves(Default::default()).build().into(),
            1.2,
            0.3,
        ),
    ] {
        let offsets = offsets_at_ten_percent(&*model);
        assert!(offsets.iter().all(|off| off.abs() < max), "{name}: {offsets:.2?}");
        let rms = (offsets.iter().map(|off| off * off).sum::<f64>() / offsets.len() as f64).sqrt();
        let mean = offsets.iter().sum::<f64>() / offsets.len() as f64;
        println!(
            "{name}: SINR at 10 % block errors: {} points, mean {mean:+.3} dB, root mean square {rms:.3} dB, \
             {:+.2} to {:+.2} dB",
            offsets.len(),
            offsets.iter().copied().fold(f64::MAX, f64::min),
            offsets.iter().copied().fold(f64::MIN, f64::max),
        );
        assert!(rms < max_rms, "{name}: root mean square {rms:.3} dB");
    }
}

/// Blocks on one to eight PRB, for most of which ns-3 has no curves: with ns-3's sizes within 0.4 dB, except for 0.84
/// dB at MCS 0, whose code blocks of 40 bits have the minimum size.
#[test]
fn small_blocks_are_decoded_as_in_the_reference_with_its_sizes() {
    for (code_blocks, max, max_rms) in [(CodeBlocks::Ns3, 0.9, 0.23), (CodeBlocks::Own, 1.8, 0.5)] {
        let quirks = mutual_information::Quirks { code_blocks, ..Default::default() };
        let model = MutualInformation::new(mutual_information::Params { quirks, ..Default::default() });
        let offsets = offsets(&model, include_str!("../data/sinr_at_10_percent_small.csv"));
        let rms = (offsets.iter().map(|off| off * off).sum::<f64>() / offsets.len() as f64).sqrt();
        println!("{code_blocks:?}: {} points, root mean square {rms:.3} dB, {offsets:+.2?}", offsets.len());
        assert!(rms < max_rms && offsets.iter().all(|off| off.abs() < max), "{code_blocks:?}");
    }
}

/// The SINR at which 10 % of first transmissions fail, minus the reference's, in decibels.
fn offsets_at_ten_percent(model: &dyn ErrorModel) -> Vec<f64> {
    offsets(model, include_str!("../data/sinr_at_10_percent.csv"))
}

fn offsets(model: &dyn ErrorModel, reference: &'static str) -> Vec<f64> {
    let offset = |row: Vec<&str>| {
        let (blocks, mcs) = (Prbs(row[0].parse().expect("a count")), Mcs(row[1].parse().expect("an MCS")));
        let block = transport_block(Direction::Down, mcs, blocks);
        let error = |hundredth: &i32| {
            let sinr = Sinr::Flat(Db(f64::from(*hundredth) / 100.0));
            model.first_block_error(&Transmission { scheme: tables::scheme(mcs), block, sinr })
        };
        let sweep: Vec<i32> = (-1500..3000).collect();
        let index = sweep.partition_point(|hundredth| error(hundredth) > 0.1);
        f64::from(sweep[index]) / 100.0 - number(row[2])
    };
    rows(reference).map(offset).collect()
}
