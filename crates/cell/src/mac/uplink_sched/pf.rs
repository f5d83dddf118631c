//! Proportional fair in the uplink.

use super::{FreePrbs, SMALLEST_SHARE, Share, UplinkScheduler, UplinkView};
use crate::identity::UeSlot;
use crate::mac::sched::{self, averages::RateAverages};
use crate::mac::uplink_adaptation::Schemes;
use airwnd_catalog::Params;
use airwnd_phy::Prbs;
use airwnd_units::Bytes;

/// Proportional fair: UEs in order of the ratio of achievable rate to average throughput get the PRBs their data needs.
///
/// ```math
/// \frac{R}{T}
/// ```
///
/// R is the rate of the whole carrier at the CQI of the UE's last sounding and T a moving average of the bytes granted
/// to it for new data. A run of PRBs is as long as the reported data requires, limited by the longest free run, and has
/// at least three PRBs. Equal metrics go to the lower RNTI. A UE out of reach gets no PRBs.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(
    source = "Sesia, Toufik, Baker: LTE: The UMTS Long Term Evolution, section 12.3.1; one run for each UE \
              as in TS 36.211 §5.3.4"
)]
pub struct Params {
    /// Averaging window: T <- (1 - 1/window) T + bytes / (window * TTI). In NR a TTI is a slot in which the cell can
    /// decide.
    #[param(basic, default = 99.0, range = 1.0..=1e6)]
    #[param(unit = "TTI", source = "ns-3 pf-ff-mac-scheduler.cc, m_timeWindow")]
    pub window: f64,
}

/// Decisions per second of LTE. Metrics of UEs are compared with each other alone, so that NR needs no other unit.
const UNIT: f64 = 1000.0;

/// The proportional-fair scheduler.
pub struct Pf {
    averages: RateAverages,
    /// UEs that can be served: metric and index. Kept for its capacity.
    turns: Vec<(f64, usize)>,
}

impl Pf {
    /// A scheduler without UEs.
    pub fn new(params: Params, _downlink: &sched::Spec) -> Self {
        Pf { averages: RateAverages::new(params.window, UNIT), turns: Vec::new() }
    }
}

/// Bytes carried by a UE's best run of at most this many PRBs; zero if out of reach.
fn block(ue: &UplinkView, max: u16, schemes: &Schemes) -> Bytes {
    let best = schemes.fit(ue.link, Bytes(u64::MAX), max);
    best.map_or(Bytes::ZERO, |(prbs, mcs)| schemes.block(mcs, Prbs(prbs)))
}

impl UplinkScheduler for Pf {
    fn admit(&mut self, slot: UeSlot) {
        self.averages.admit(slot);
        self.turns.reserve(slot.index() + 1);
    }

    fn allocate(
        &mut self,
        mut free: FreePrbs,
        _: u16,
        users: &[UplinkView],
        schemes: &Schemes,
        shares: &mut Vec<Share>,
    ) {
        let metric =
            |ue: &UplinkView| block(ue, free.carrier(), schemes).0 as f64 / self.averages.of(ue.slot);
        let reachable =
            (0..).zip(users).map(|(place, ue)| (metric(ue), place)).filter(|(metric, _)| *metric > 0.0);
        self.turns.clear();
        self.turns.extend(reachable);
        self.turns
            .sort_unstable_by(|(one, place), (other, behind)| other.total_cmp(one).then(place.cmp(behind)));
        for (_, place) in &self.turns {
            let ue = &users[*place];
            let longest = free.longest();
            if longest < if schemes.fits_widths() { 1 } else { SMALLEST_SHARE } {
                break;
            }
            let Some((prbs, _)) = schemes.fit(ue.link, ue.buffer, longest) else { continue };
            let first = free.find(prbs).expect("no longer than the longest free run");
            free.take(first, prbs);
            shares.push(Share { slot: ue.slot, first, prbs });
        }
    }

    fn on_served(&mut self, served: &[(UeSlot, Bytes)]) {
        self.averages.update(served);
    }

    fn on_idle(&mut self, ttis: u64) {
        self.averages.idle(ttis);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mac::uplink_adaptation::Link;
    use airwnd_phy::Cqi;

    fn carried(ue: &UplinkView, prbs: u16) -> Bytes {
        let mcs = schemes().mcs(ue.link, Prbs(prbs)).unwrap();
        schemes().block(mcs, Prbs(prbs))
    }

    fn user(slot: u16, buffer: u64, cqi: u8) -> UplinkView {
        UplinkView { slot: UeSlot(slot), buffer: Bytes(buffer), link: Link::Carrier(Some(Cqi(cqi))) }
    }

    fn serve(pf: &mut Pf, free: FreePrbs, users: &[UplinkView]) -> Vec<Share> {
        let mut shares = Vec::new();
        pf.allocate(free, 0, users, &schemes(), &mut shares);
        let served = |share: &Share| {
            let ue = users.iter().find(|ue| ue.slot == share.slot).unwrap();
            (share.slot, carried(ue, share.prbs))
        };
        pf.on_served(&shares.iter().map(served).collect::<Vec<_>>());
        shares
    }

    fn schemes() -> Schemes {
        Schemes::for_carrier(&std::sync::Arc::new(airwnd_phy::access::Access::lte(Prbs(50))))
    }

    #[test]
    fn runs_are_as_long_as_the_data_needs() {
        let mut pf = Pf::new(Params::default(), &sched::Spec::Pf(Default::default()));
        (0..3).for_each(|slot| pf.admit(UeSlot(slot)));
        // at CQI 7 a PRB carries 24 B: three PRBs for 60 B, four for 80 B, then all that remain
        let users = [user(0, 60, 7), user(1, 80, 7), user(2, 1 << 20, 7)];
        let shares = serve(&mut pf, FreePrbs::all(Prbs(15)), &users);
        let runs: Vec<_> = shares.iter().map(|share| (share.slot.0, share.first, share.prbs)).collect();
        assert_eq!(runs, [(0, 0, 3), (1, 3, 4), (2, 7, 8)]);
        for (share, ue) in shares.iter().zip(&users[..2]) {
            assert!(
                carried(ue, share.prbs) >= ue.buffer && carried(ue, share.prbs - 1) < ue.buffer
                    || share.prbs == 3
            );
        }
    }

    #[test]
    fn retransmissions_keep_their_place() {
        let mut pf = Pf::new(Params::default(), &sched::Spec::Pf(Default::default()));
        pf.admit(UeSlot(0));
        let mut free = FreePrbs::all(Prbs(15));
        free.take(2, 6);
        let shares = serve(&mut pf, free, &[user(0, 1 << 20, 7)]);
        assert_eq!(shares, [Share { slot: UeSlot(0), first: 8, prbs: 7 }]);
    }

    #[test]
    fn backlogged_ues_get_equal_shares_of_time() {
        let mut pf = Pf::new(Params { window: 1000.0 }, &sched::Spec::Pf(Default::default()));
        let users = [user(0, 1 << 20, 15), user(1, 1 << 20, 9), user(2, 1 << 20, 4), user(3, 1 << 20, 0)];
        users.iter().for_each(|ue| pf.admit(ue.slot));
        let mut ttis = [0u32; 4];
        for _ in 0..30_000 {
            for share in serve(&mut pf, FreePrbs::all(Prbs(50)), &users) {
                ttis[share.slot.index()] += 1;
            }
        }
        // R_i / T_i is equal for all UEs when T_i is R_i / 3
        assert!(ttis[..3].iter().all(|ttis| ttis.abs_diff(10_000) < 50) && ttis[3] == 0, "{ttis:?}");
    }
}
