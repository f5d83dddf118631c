//! Round robin in the uplink.

use super::{FreePrbs, SMALLEST_SHARE, Share, UplinkScheduler, UplinkView};
use crate::mac::uplink_adaptation::Schemes;
use airwnd_catalog::Params;

/// Round robin: equal runs of PRBs for all who wait, at least three PRBs each.
///
/// Runs are packed from PRB 0 on in the order of the slots. As in ns-3's priority-set scheduler the next round
/// starts elsewhere only when this one filled the carrier to its last PRB, and a user whose sounding is out of
/// reach still takes up its share. With `mac.uplink_adaptation = "headroom"` a run is no longer than its user's data and
/// power need, the others have what it leaves, and the next round starts at the first user that found no room.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "ns-3 pss-ff-mac-scheduler.cc, DoSchedUlTriggerReq")]
pub struct Params {}

/// The round-robin scheduler.
pub struct Rr {
    /// The slot at which the next round begins.
    next: u16,
}

impl Rr {
    /// A scheduler without users.
    pub fn new(_params: Params) -> Self {
        Rr { next: 0 }
    }
}

impl Rr {
    /// Runs that fit data and power: at most an equal part of what is left for those who still wait.
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
    // The round robin of ns-3's PSS; in its RR and PF the next turn begins at the user that found no room.
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mac::uplink_adaptation::Link;
    use crate::phy::{Cqi, Prbs};
    use airwnd_units::Bytes;

    #[test]
    fn runs_are_equal_and_the_turn_moves_when_the_carrier_is_full() {
        let users: Vec<UplinkView> = (0..7)
            .map(|slot| UplinkView { slot, buffer: Bytes(1000), link: Link::Carrier(Some(Cqi(7))) })
            .collect();
        let mut rr = Rr::new(Params {});
        let mut serve = |users: &[UplinkView]| {
            let mut shares = Vec::new();
            rr.allocate(FreePrbs::all(Prbs(15)), 0, users, &Schemes::for_carrier(), &mut shares);
            shares.iter().map(|share| (share.slot, share.first, share.prbs)).collect::<Vec<_>>()
        };
        assert_eq!(serve(&users[..2]), [(0, 0, 7), (1, 7, 7)]);
        assert_eq!(serve(&users[..2]), [(0, 0, 7), (1, 7, 7)], "one PRB was left over");
        assert_eq!(serve(&users), [(0, 0, 3), (1, 3, 3), (2, 6, 3), (3, 9, 3), (4, 12, 3)]);
        assert_eq!(serve(&users), [(5, 0, 3), (6, 3, 3), (0, 6, 3), (1, 9, 3), (2, 12, 3)]);
    }
}
