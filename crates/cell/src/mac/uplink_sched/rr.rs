//! Round robin in the uplink.

use super::{FreePrbs, SMALLEST_SHARE, Share, UplinkScheduler, UplinkView};
use crate::mac::uplink_adaptation::Schemes;
use airwnd_catalog::Params;

/// Round robin: equal runs of PRBs for all UEs with data, at least three PRBs each.
///
/// Runs are assigned from PRB 0 on in the order of the slots. As in ns-3's priority set scheduler, the next round
/// starts at another slot only if the current one filled the carrier to its last PRB, and a UE whose sounding is out of
/// reach still occupies its share. With `mac.uplink_adaptation = "headroom"`, a run is no longer than the UE's data and
/// power require; the other UEs share the remainder, and the next round starts at the first UE that got no PRBs.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "ns-3 pss-ff-mac-scheduler.cc, DoSchedUlTriggerReq")]
pub struct Params {}

/// The round-robin scheduler.
pub struct Rr {
    /// Slot at which the next round starts.
    next: u16,
}

impl Rr {
    /// A scheduler without UEs.
    pub fn new(_params: Params) -> Self {
        Rr { next: 0 }
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
            let most = equal.max(SMALLEST_SHARE).min(longest);
            let Some((prbs, _)) = schemes.fit(ue.link, ue.buffer, most) else { continue };
            let first = free.find(prbs).expect("no longer than the longest free run");
            free.take(first, prbs);
            shares.push(Share { slot: ue.slot, first, prbs });
        }
    }
}

impl UplinkScheduler for Rr {
    // The round robin of ns-3's PSS; in ns-3's RR and PF the next round starts at the UE that got no PRBs.
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
            if share < SMALLEST_SHARE {
                break;
            }
            let Some(first) = free.find(share) else { break };
            free.take(first, share);
            last = first + share;
            shares.push(Share { slot: ue.slot, first, prbs: share });
            if last == carrier {
                self.next = ue.slot + 1;
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
        self.next = last.map_or(self.next, |slot| slot + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mac::uplink_adaptation::Link;
    use crate::phy::{Cqi, Prbs};
    use airwnd_units::Bytes;

    fn schemes() -> Schemes {
        Schemes::for_carrier(&std::sync::Arc::new(crate::access::Access::lte(Prbs(15))))
    }

    #[test]
    fn runs_are_equal_and_the_turn_moves_when_the_carrier_is_full() {
        let users: Vec<UplinkView> = (0..7)
            .map(|slot| UplinkView { slot, buffer: Bytes(1000), link: Link::Carrier(Some(Cqi(7))) })
            .collect();
        let mut rr = Rr::new(Params {});
        let mut serve = |users: &[UplinkView]| {
            let mut shares = Vec::new();
            rr.allocate(FreePrbs::all(Prbs(15)), 0, users, &schemes(), &mut shares);
            shares.iter().map(|share| (share.slot, share.first, share.prbs)).collect::<Vec<_>>()
        };
        assert_eq!(serve(&users[..2]), [(0, 0, 7), (1, 7, 7)]);
        assert_eq!(serve(&users[..2]), [(0, 0, 7), (1, 7, 7)], "one PRB was left over");
        assert_eq!(serve(&users), [(0, 0, 3), (1, 3, 3), (2, 6, 3), (3, 9, 3), (4, 12, 3)]);
        assert_eq!(serve(&users), [(5, 0, 3), (6, 3, 3), (0, 6, 3), (1, 9, 3), (2, 12, 3)]);
    }
}
