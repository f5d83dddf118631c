//! Round robin in the uplink.

use super::{FreePrbs, SMALLEST_SHARE, Share, UplinkScheduler, UplinkView};
use crate::identity::UeSlot;
use crate::mac::sched;
use crate::mac::uplink_adaptation::Schemes;
use airwnd_catalog::{Choice, Params};

/// Where the next round starts, with `mac.uplink_adaptation = "carrier"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Turn {
    /// At the first UE that got no PRBs.
    #[word = "unserved"]
    Unserved,
    /// After the last UE, if its run ends with the last PRB; otherwise where the current round started. Of more UEs than
    /// runs, those at the end are not served while PRBs are left over.
    #[word = "full-carrier"]
    FullCarrier,
    /// As in the uplink of ns-3's scheduler with the name of `mac.scheduler`: `full-carrier` beside `pss`, `cqa` and
    /// `tbfq`, otherwise `unserved`.
    #[word = "ns-3"]
    Ns3,
}

/// Quirks of ns-3's uplink schedulers.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "ns-3 RrFfMacScheduler, PssFfMacScheduler")]
pub struct Quirks {
    /// Where the next round starts, with `mac.uplink_adaptation = "carrier"`.
    #[param(default = Turn::Unserved)]
    #[param(unit = "word", source = "ns-3 DoSchedUlTriggerReq of each FfMacScheduler: ns-3")]
    pub turn: Turn,
}

/// Round robin: equal runs of PRBs for all UEs with data, at least three PRBs each.
///
/// Runs are assigned from PRB 0 on in the order of the slots. With `mac.uplink_adaptation = "carrier"`, as in ns-3, a UE
/// whose sounding is out of reach still occupies its share, and the next round starts at the first UE that got no PRBs. With
/// `"headroom"`, a run is no longer than the UE's data and power require; the other UEs share the remainder, and the next
/// round starts at the first UE that got no PRBs.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "ns-3 rr-ff-mac-scheduler.cc and pss-ff-mac-scheduler.cc, DoSchedUlTriggerReq")]
pub struct Params {
    /// Behaviour of other simulators.
    #[param(quirks)]
    pub quirks: Quirks,
}

/// The round-robin scheduler.
pub struct Rr {
    /// Slot at which the next round starts.
    next: UeSlot,
    /// Whether UEs for which there was no room begin the next round.
    serves_all: bool,
}

impl Rr {
    /// A scheduler without UEs.
    pub fn new(params: Params, downlink: &sched::Spec) -> Self {
        let serves_all = match params.quirks.turn {
            Turn::Unserved => true,
            Turn::FullCarrier => false,
            // As measured with ten uploads on 25 PRBs in ns-3 3.44.
            Turn::Ns3 => {
                !matches!(downlink, sched::Spec::Pss(_) | sched::Spec::Cqa(_) | sched::Spec::Tbfq(_))
            }
        };
        Rr { next: UeSlot(0), serves_all }
    }
}

impl Rr {
    /// Assigns runs that fit data and power, at most an equal part of the PRBs left for the remaining UEs.
    fn fit(&mut self, mut free: FreePrbs, users: &[UplinkView], schemes: &Schemes, shares: &mut Vec<Share>) {
        let (before, after) = users.split_at(users.partition_point(|ue| ue.slot < self.next));
        for (served, ue) in after.iter().chain(before).enumerate() {
            let longest = free.longest();
            if longest == 0 {
                self.next = ue.slot;
                break;
            }
            let equal = free.left() / (users.len() - served) as u16;
            let max = equal.max(SMALLEST_SHARE).min(longest);
            let Some((prbs, _)) = schemes.fit(ue.link, ue.buffer, max) else { continue };
            let first = free.find(prbs).expect("no longer than the longest free run");
            free.take(first, prbs);
            shares.push(Share { slot: ue.slot, first, prbs });
        }
    }
}

impl UplinkScheduler for Rr {
    fn allocate(
        &mut self,
        mut free: FreePrbs,
        repeating: u16,
        users: &[UplinkView],
        schemes: &Schemes,
        shares: &mut Vec<Share>,
    ) {
        if schemes.fits_widths() {
            return self.fit(free, users, schemes, shares);
        }
        let carrier = free.carrier();
        let mut share = (carrier / (users.len() as u16 + repeating)).max(SMALLEST_SHARE);
        let (before, after) = users.split_at(users.partition_point(|ue| ue.slot < self.next));
        let mut last = 0;
        for ue in after.iter().chain(before) {
            share = share.min(carrier - last);
            let room = if share < SMALLEST_SHARE { None } else { free.find(share) };
            let Some(first) = room else {
                if self.serves_all {
                    self.next = ue.slot;
                }
                break;
            };
            free.take(first, share);
            last = first + share;
            shares.push(Share { slot: ue.slot, first, prbs: share });
            if last == carrier {
                self.next = ue.slot.next();
                break;
            }
        }
    }

    /// The next round starts after the last of these UEs, before those for which there was no room.
    fn allocate_again(
        &mut self,
        free: FreePrbs,
        repeating: u16,
        users: &[UplinkView],
        schemes: &Schemes,
        shares: &mut Vec<Share>,
    ) {
        let turn = users.partition_point(|ue| ue.slot < self.next);
        let last = users[..turn].last().or(users.last()).map(|ue| ue.slot);
        self.allocate(free, repeating, users, schemes, shares);
        self.next = last.map_or(self.next, UeSlot::next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mac::uplink_adaptation::Link;
    use airwnd_phy::{Cqi, Prbs};
    use airwnd_units::Bytes;

    fn schemes() -> Schemes {
        Schemes::for_carrier(&std::sync::Arc::new(airwnd_phy::access::Access::lte(Prbs(15))))
    }

    #[test]
    fn runs_are_equal_and_the_turn_moves_when_the_carrier_is_full() {
        let users: Vec<UplinkView> = (0..7)
            .map(|slot| UplinkView {
                slot: UeSlot(slot),
                buffer: Bytes(1000),
                link: Link::Carrier(Some(Cqi(7))),
            })
            .collect();
        let mut rr = Rr::new(
            Params { quirks: Quirks { turn: Turn::FullCarrier } },
            &sched::Spec::Rr(Default::default()),
        );
        let mut serve = |users: &[UplinkView]| {
            let mut shares = Vec::new();
            rr.allocate(FreePrbs::all(Prbs(15)), 0, users, &schemes(), &mut shares);
            shares.iter().map(|share| (share.slot.0, share.first, share.prbs)).collect::<Vec<_>>()
        };
        assert_eq!(serve(&users[..2]), [(0, 0, 7), (1, 7, 7)]);
        assert_eq!(serve(&users[..2]), [(0, 0, 7), (1, 7, 7)], "one PRB was left over");
        assert_eq!(serve(&users), [(0, 0, 3), (1, 3, 3), (2, 6, 3), (3, 9, 3), (4, 12, 3)]);
        assert_eq!(serve(&users), [(5, 0, 3), (6, 3, 3), (0, 6, 3), (1, 9, 3), (2, 12, 3)]);
    }

    /// Ten UEs with runs of three of 25 PRBs: eight per TTI. Those left over begin the next round, but not in ns-3's PSS.
    #[test]
    fn ues_without_room_begin_the_next_round() {
        let users: Vec<UplinkView> = (0..10)
            .map(|slot| UplinkView {
                slot: UeSlot(slot),
                buffer: Bytes(1000),
                link: Link::Carrier(Some(Cqi(7))),
            })
            .collect();
        let runs = |turn, downlink: sched::Spec| {
            let mut rr = Rr::new(Params { quirks: Quirks { turn } }, &downlink);
            let mut runs = [0; 10];
            for _ in 0..100 {
                let mut shares = Vec::new();
                rr.allocate(FreePrbs::all(Prbs(25)), 0, &users, &schemes(), &mut shares);
                shares.iter().for_each(|share| runs[share.slot.index()] += 1);
            }
            runs
        };
        let starved = [100, 100, 100, 100, 100, 100, 100, 100, 0, 0];
        let [rr, pf] = [sched::Spec::Rr(Default::default()), sched::Spec::Pf(Default::default())];
        let fair_in_turn = [Turn::Unserved, Turn::Ns3].map(|turn| runs(turn, rr.clone()));
        assert_eq!(fair_in_turn, [[80; 10]; 2]);
        assert_eq!(runs(Turn::Ns3, pf), [80; 10]);
        assert_eq!(runs(Turn::FullCarrier, rr), starved);
        for downlink in [
            sched::Spec::Pss(Default::default()),
            sched::Spec::Cqa(Default::default()),
            sched::Spec::Tbfq(Default::default()),
        ] {
            assert_eq!(runs(Turn::Ns3, downlink), starved);
        }
    }
}
