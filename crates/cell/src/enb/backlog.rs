//! Uplink backlogs of a cell's UEs, as far as the cell knows them.

use super::belief::{Belief, BufferNews, Known};
use super::pipeline::Pipeline;
use crate::identity::UeSlot;
use crate::mac::sched::settle;
use crate::mac::slots::Slots;
use airwnd_units::{Bytes, Tti};

/// The buffer size in a status report: rounded up to the end of its level, of which these are the ends.
pub(super) fn quantised(buffer: Bytes, ends: &[u64]) -> Bytes {
    if buffer == Bytes::ZERO {
        return Bytes::ZERO;
    }
    let level = ends.partition_point(|end| *end < buffer.0);
    Bytes(ends[level.min(ends.len() - 1)])
}

/// Data in a block of this size: RLC's header takes two bytes.
pub(super) fn carried(size: Bytes) -> Bytes {
    size.saturating_sub(Bytes(2))
}

#[derive(Clone, Copy, Debug)]
struct Report {
    slot: UeSlot,
    news: BufferNews,
}

/// The uplink backlogs of a cell's UEs.
pub(super) struct Backlogs {
    /// Backlog assumed after a scheduling request.
    request_grant: Bytes,
    belief: &'static dyn Belief,
    /// Whether a UE may send a request beside a block.
    has_beside: bool,
    /// By slot.
    known: Vec<Known>,
    /// UEs with a backlog.
    backlogged: Slots,
    reports: Pipeline<Report>,
}

impl Backlogs {
    /// Empty backlogs; `depth` is that of the pipeline of reports, of which each TTI has `reported`.
    pub fn new(
        request_grant: Bytes,
        belief: &'static dyn Belief,
        has_beside: bool,
        depth: usize,
        reported: usize,
    ) -> Backlogs {
        Backlogs {
            request_grant,
            belief,
            has_beside,
            known: Vec::new(),
            backlogged: Slots::default(),
            reports: Pipeline::new(depth, reported),
        }
    }

    /// Adds a UE at the first free slot.
    pub fn admit(&mut self, slot: UeSlot) {
        settle(&mut self.known, slot, Known::default());
        let users = self.known.len();
        self.backlogged.reserve(users);
        // One request in addition to the report in a block.
        self.reports.reserve(2 * users);
    }

    /// Removes the UE of a slot with its reports.
    pub fn release(&mut self, slot: UeSlot) {
        self.set(slot, Bytes::ZERO);
        self.reports.retain(|report| report.slot != slot);
    }

    /// Backlog of a UE.
    pub fn waiting(&self, slot: UeSlot) -> Bytes {
        self.known[slot.index()].waiting
    }

    /// Bytes granted to a UE for new data so far.
    pub fn granted(&self, slot: UeSlot) -> u64 {
        self.known[slot.index()].granted
    }

    /// The slots of the UEs with a backlog, in ascending order.
    pub fn slots(&self) -> impl Iterator<Item = UeSlot> {
        self.backlogged.iter()
    }

    /// Whether no UE has a backlog.
    pub fn is_empty(&self) -> bool {
        self.backlogged.is_empty()
    }

    /// Whether reports are under way.
    pub fn has_reports(&self) -> bool {
        !self.reports.is_empty()
    }

    /// Adds a report of a UE that the scheduler knows in the TTI `due`.
    pub fn push(&mut self, due: Tti, slot: UeSlot, news: BufferNews) {
        self.reports.push(due, Report { slot, news });
    }

    /// Handles the reports of a TTI.
    pub fn update(&mut self, tti: Tti) {
        // An SR in symbols of its own is newer than the report of a block beside it, which was prepared k2 slots before.
        // LTE's UEs send none while they have a block to send.
        //= TS 36.321 §5.4.4
        //= TS 38.321 §5.4.4
        for newer in 0..=u8::from(self.has_beside) {
            let mut index = 0;
            while let Some(report) = self.reports.get(tti, index) {
                index += 1;
                let is_newer = self.has_beside && matches!(report.news, BufferNews::Request);
                if is_newer == (newer == 1) {
                    self.on_report(report);
                }
            }
        }
        self.reports.clear(tti);
    }

    fn on_report(&mut self, Report { slot, news }: Report) {
        let known = &mut self.known[slot.index()];
        match news {
            BufferNews::Waits(waiting) => self.set(slot, waiting),
            BufferNews::Request => {
                let waiting = self.belief.on_request(known, self.request_grant);
                self.set(slot, waiting);
            }
            BufferNews::Waited { waiting, granted } => {
                if let Some(waiting) = self.belief.on_report(known, waiting, granted) {
                    self.set(slot, waiting);
                }
            }
            // Otherwise only retxBSR-Timer would resolve a mismatch between the backlogs known to the eNB and the UE.
            BufferNews::Full { granted } => {
                if granted == known.granted && known.waiting == Bytes::ZERO {
                    self.set(slot, self.request_grant);
                }
            }
            BufferNews::Missed { granted, carried } => {
                // A report in the block of a later grant includes these bytes.
                if granted > known.answered {
                    let waiting = known.waiting + carried;
                    self.set(slot, waiting);
                }
            }
        }
    }

    /// A UE has a grant for new data, which carries this much.
    pub fn on_grant(&mut self, slot: UeSlot, carried: Bytes) {
        let rest = self.belief.after_grant(self.rest(slot, carried), self.request_grant);
        self.grant(slot, carried, rest);
    }

    /// A UE uses a configured grant, which only now counts as granted.
    pub fn on_configured(&mut self, slot: UeSlot, carried: Bytes) {
        self.grant(slot, carried, self.rest(slot, carried));
    }

    fn rest(&self, slot: UeSlot, carried: Bytes) -> Bytes {
        self.waiting(slot).saturating_sub(carried)
    }

    fn grant(&mut self, slot: UeSlot, carried: Bytes, rest: Bytes) {
        self.set(slot, rest);
        self.known[slot.index()].granted += carried.0;
    }

    fn set(&mut self, slot: UeSlot, waiting: Bytes) {
        self.known[slot.index()].waiting = waiting;
        self.backlogged.set(slot, waiting > Bytes::ZERO);
    }
}

#[cfg(test)]
mod tests {
    use super::super::compat::belief;
    use super::*;
    use crate::settings::BufferReports;

    #[test]
    fn reports_round_up_to_the_level() {
        for (buffer, lte, nr) in [
            (0, 0, 0),
            (1, 10, 10),
            (10, 10, 10),
            (11, 12, 14),
            (56, 57, 74),
            (1039, 1132, 1446),
            (150_000, 150_000, 150_000),
            (1 << 30, 150_000, 150_000),
        ] {
            assert_eq!(quantised(Bytes(buffer), &airwnd_phy::access::BUFFER_LEVELS), Bytes(lte));
            assert_eq!(quantised(Bytes(buffer), &airwnd_phy::access::nr::BUFFER_LEVELS), Bytes(nr));
        }
    }

    /// Backlogs of one UE, with a request grant of 150 B.
    fn backlogs(reports: BufferReports, has_beside: bool) -> Backlogs {
        let mut backlogs = Backlogs::new(Bytes(150), belief(reports), has_beside, 16, 4);
        backlogs.admit(UeSlot(0));
        backlogs
    }

    fn after(backlogs: &mut Backlogs, news: &[BufferNews]) -> u64 {
        news.iter().for_each(|news| backlogs.push(Tti(3), UeSlot(0), *news));
        backlogs.update(Tti(3));
        assert_eq!(backlogs.is_empty(), backlogs.waiting(UeSlot(0)) == Bytes::ZERO);
        backlogs.waiting(UeSlot(0)).0
    }

    #[test]
    fn a_request_adds_no_more_than_its_grant() {
        let mut backlogs = backlogs(BufferReports::Requested, false);
        assert_eq!(after(&mut backlogs, &[BufferNews::Request]), 150);
        assert_eq!(after(&mut backlogs, &[BufferNews::Waits(Bytes(700)), BufferNews::Request]), 700);
    }

    /// 1000 B wait at a grant of 200 B: 300 B were granted since, and an older report changes nothing.
    #[test]
    fn grants_since_a_report_count() {
        let mut backlogs = backlogs(BufferReports::Requested, false);
        backlogs.on_grant(UeSlot(0), Bytes(200));
        backlogs.on_grant(UeSlot(0), Bytes(300));
        let report = |waiting, granted| BufferNews::Waited { waiting: Bytes(waiting), granted };
        assert_eq!(after(&mut backlogs, &[report(1000, 200)]), 700);
        assert_eq!(after(&mut backlogs, &[report(5000, 0)]), 700);
        backlogs.on_configured(UeSlot(0), Bytes(100));
        assert_eq!((backlogs.waiting(UeSlot(0)), backlogs.granted(UeSlot(0))), (Bytes(600), 600));
    }

    #[test]
    fn bytes_of_a_lost_grant_wait_again_unless_a_later_report_includes_them() {
        let mut backlogs = backlogs(BufferReports::Requested, false);
        backlogs.on_grant(UeSlot(0), Bytes(200));
        let missed = BufferNews::Missed { granted: 200, carried: Bytes(200) };
        assert_eq!(after(&mut backlogs, &[missed]), 200);
        assert_eq!(after(&mut backlogs, &[BufferNews::Waited { waiting: Bytes(90), granted: 200 }]), 90);
        assert_eq!(after(&mut backlogs, &[missed]), 90);
    }

    #[test]
    fn a_full_block_without_a_report_is_taken_as_a_request() {
        let mut backlogs = backlogs(BufferReports::Requested, false);
        backlogs.on_grant(UeSlot(0), Bytes(200));
        assert_eq!(
            after(&mut backlogs, &[BufferNews::Full { granted: 100 }]),
            0,
            "a later grant is under way"
        );
        assert_eq!(after(&mut backlogs, &[BufferNews::Full { granted: 200 }]), 150);
    }

    #[test]
    fn a_request_beside_a_block_is_newer_than_its_report() {
        let news = [BufferNews::Request, BufferNews::Waited { waiting: Bytes(0), granted: 0 }];
        assert_eq!(after(&mut backlogs(BufferReports::Requested, true), &news), 150);
        assert_eq!(after(&mut backlogs(BufferReports::Requested, false), &news), 0);
    }

    /// In 5G-LENA a request replaces a larger backlog, and a rest is at least a request's grant.
    #[test]
    fn backlogs_of_5g_lena_follow_the_newest_report() {
        let mut backlogs = backlogs(BufferReports::Lena, true);
        assert_eq!(after(&mut backlogs, &[BufferNews::Waited { waiting: Bytes(900), granted: 0 }]), 900);
        backlogs.on_grant(UeSlot(0), Bytes(850));
        assert_eq!(backlogs.waiting(UeSlot(0)), Bytes(150));
        assert_eq!(after(&mut backlogs, &[BufferNews::Waits(Bytes(900)), BufferNews::Request]), 150);
    }
}
