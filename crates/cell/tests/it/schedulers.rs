//! Effect of schedulers on delays and rates.

use crate::support::{Access, Network, Outcome, Packets};
use airwnd_catalog::{Node, Param};
use airwnd_cell::mac::sched::{self, Domain, tbfq};
use airwnd_cell::mac::{power_control, uplink_sched};
use airwnd_cell::{Bearer, BearerSetup, BufferReports, Qci, RanSetup, UeSite, UplinkAdaptation};
use airwnd_links::aqm;
use airwnd_phy::{Bandwidth, Position, propagation};
use airwnd_units::BitRate;

fn with_bearer(ue: UeSite, qci: u8, gbr: u64) -> UeSite {
    let bearer = Bearer::new(Qci::new(qci).unwrap(), BitRate(gbr), BitRate(0));
    UeSite { bearers: [BearerSetup::new(bearer)].into(), ..ue }
}

fn buffer(size: &str) -> aqm::Spec {
    let queue = Node::from_toml(&format!("kind = \"drop-tail\"\nbuffer = \"{size}\""), "test").unwrap();
    Param::read(&queue).unwrap()
}

/// A cell of 3 MHz and 13 dBm without an outer loop, with this buffer at each bearer.
fn small_cell(scheduler: sched::Spec, size: &str) -> Network {
    Network::steady(Access::Lte).power(13.0).with(|setup| {
        setup.carrier.bandwidth = Bandwidth::Mhz3;
        setup.radio.propagation = propagation::Spec::Friis(Default::default());
        setup.mac.scheduler = scheduler;
        setup.mac.olla = None;
        setup.rlc.queue = buffer(size);
    })
}

/// A UE 4.5 km from the site with live video of 250 kbit/s, and nine saturated ones from 0.5 to 5 km.
fn video_among_downloads(scheduler: sched::Spec, qci: u8, gbr: u64) -> Outcome {
    let at = |distance| UeSite::at(Position::new(distance, 0.0, 1.5));
    let network = small_cell(scheduler, "50kB").with(|setup| {
        setup.ues = vec![with_bearer(at(4500.0), qci, gbr)];
        setup.ues.extend((0..9).map(|place| at(500.0 + 562.5 * f64::from(place))));
    });
    let downloads = (1..10).map(|ue| Packets::down(ue).of(1028, 0.667));
    network.send([Packets::down(0).of(528, 16.0)]).send(downloads).run(10)
}

/// One tenth of the TTIs, the share under PF, carries 148 kbit/s there. 98 of 100 packets shall arrive within 80 ms (TS
/// 23.203 Table 6.1.7-A, QCI 7, minus 20 ms beyond the eNB).
#[test]
fn delay_aware_schedulers_meet_a_delay_budget_that_proportional_fair_misses() {
    for (scheduler, keeps) in [
        (sched::Spec::Pf(Default::default()), false),
        (sched::Spec::Bet(Default::default()), false),
        (sched::Spec::MLwdf(Default::default()), true),
        (sched::Spec::ExpPf(Default::default()), true),
    ] {
        let outcome = video_among_downloads(scheduler.clone(), 7, 0);
        let video = &outcome.flows[0];
        let (late, delivered) = (video.percentile_ms(99), video.delivered_percent());
        println!("{scheduler:?}: {delivered:.1} % with {late:.0} ms");
        assert_eq!(late < 80.0, keeps, "{scheduler:?}");
        assert_eq!(delivered > 98.8, keeps, "{scheduler:?}");
    }
}

/// One tenth of the TTIs carries 148 kbit/s. Token-bank schedulers serve a GBR bearer first; PSS raises its priority.
#[test]
fn a_guaranteed_rate_comes_before_best_effort() {
    let tbfq = |domain| sched::Spec::Tbfq(tbfq::Params { domain, ..Default::default() });
    for (scheduler, min) in [
        (sched::Spec::Pss(Default::default()), 98.0),
        (tbfq(Domain::Time), 99.0),
        (tbfq(Domain::Frequency), 99.0),
    ] {
        let with = video_among_downloads(scheduler.clone(), 4, 275_000).flows[0].delivered_percent();
        let without = video_among_downloads(scheduler.clone(), 9, 0).flows[0].delivered_percent();
        println!("{scheduler:?}: {with:.1} % with and {without:.1} % without a guaranteed rate");
        assert!(with > min && without < 85.0, "{scheduler:?}: {with} {without}");
    }
}

/// D / budget is equal for all backlogged UEs. Budgets of 80 and 280 ms give delays of 1 to 3.5; with equal buffers,
/// which are delay times rate, throughputs are 3.5 to 1.
#[test]
fn largest_weighted_delay_first_divides_by_budgets() {
    let network = small_cell(sched::Spec::Lwdf(Default::default()), "100kB").with(|setup| {
        let ue = || UeSite::at(Position::new(500.0, 0.0, 1.5));
        setup.ues = vec![with_bearer(ue(), 7, 0), with_bearer(ue(), 9, 0)];
    });
    let outcome = network.send([0, 1].map(|ue| Packets::down(ue).of(1028, 0.667))).after_ms(2000).run(30);
    let throughputs = outcome.kbps(0) / outcome.kbps(1);
    assert!((throughputs / 3.5 - 1.0).abs() < 0.02, "{throughputs}");
}

/// Uploads from 0.5 to 2 km, and small packets of the farthest UE. Of 50 PRBs, round robin grants 10 or 12 to each
/// backlogged UE, of which the small packets leave some empty. PF grants these what they need, and the rest to one upload at
/// a time. The shares of the PRBs are equal in both.
#[test]
fn the_uplink_is_shared_by_round_robin_and_proportional_fair() {
    let uploads = |scheduler: uplink_sched::Spec| {
        let ideal = |setup: &mut RanSetup| {
            setup.mac.uplink_scheduler = scheduler;
            setup.mac.quirks.buffer_reports = BufferReports::Ideal;
            setup.mac.uplink_adaptation = UplinkAdaptation::Carrier;
            setup.mac.power_control.mode = power_control::Mode::OpenLoop;
            setup.radio.propagation = propagation::Spec::Friis(Default::default());
            setup.rlc.queue = buffer("100kB");
            let at = |distance| UeSite::at(Position::new(distance, 0.0, 1.5));
            setup.ues = [500.0, 1000.0, 1500.0, 2000.0, 2000.0].map(at).to_vec();
        };
        let network =
            Network::steady(Access::Lte).with(ideal).send((0..4).map(|ue| Packets::up(ue).of(1028, 0.2)));
        let outcome = network.send([Packets::up(4).of(52, 1.0)]).after_ms(1000).run(5);
        (0..5).map(|flow| outcome.kbps(flow)).collect::<Vec<_>>()
    };
    let equal = uploads(uplink_sched::Spec::Rr(Default::default()));
    let proportional = uploads(uplink_sched::Spec::Pf(Default::default()));
    println!("{equal:.0?} {proportional:.0?}");
    for (equal, proportional) in equal.iter().zip(&proportional).take(4) {
        assert!((1.05..1.25).contains(&(proportional / equal)), "{proportional} / {equal}");
    }
    assert!((proportional[4] / equal[4] - 1.0).abs() < 0.02, "{} / {}", proportional[4], equal[4]);
}
