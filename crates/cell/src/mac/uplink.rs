//! The uplink MAC of a cell: buffer status reports, grants, synchronous HARQ.
//!
//! A terminal reports its buffer, is granted PRBs, sends, and repeats what the base station did not decode.
//! Reports, grants and feedback travel as control messages; grants can be lost.

use super::sched::settle;
use super::uplink_sched::{FreePrbs, Share, UplinkScheduler, UplinkView};
use super::{Block, Pipeline};
use crate::phy::error_model::SoftBits;
use crate::phy::tables::{cqi_below, mcs_of, transport_block};
use crate::phy::{Cqi, Mcs, Prbs};
use crate::radio::{Radio, UplinkSignal};
use crate::rlc::{Content, PROCESSES};
use crate::terminal::Terminals;
use airwnd_kernel::Direction;
use airwnd_units::{Bytes, Db, Tti};

/// TTIs from a buffer status report to the grant that can follow it: 4 in the terminal, 1 on air.
pub(crate) const REPORT_TO_DECISION: u64 = 5;
/// TTIs from a grant to its reception (ns-3 LteEnbPhy::MacToChannelDelay).
pub(crate) const DECISION_TO_GRANT: u64 = 2;
/// TTIs from the reception of a grant to the transmission (TS 36.213 §8.0).
pub(crate) const GRANT_TO_AIR: u64 = 4;
/// TTIs from a transmission to the decision that can answer it.
// The standard repeats after 8 TTI (TS 36.321 §5.4.2), ns-3 LENA after 7, by a new grant that can be lost.
const AIR_TO_FEEDBACK: u64 = 1;
/// TTIs after which a process sends again, and as many processes.
const ROUND_TRIP: u64 = DECISION_TO_GRANT + GRANT_TO_AIR + AIR_TO_FEEDBACK;
const _: () = assert!(ROUND_TRIP <= PROCESSES as u64, "RLC keeps what each process sends");

/// Upper ends of the buffer size levels 1 to 62 in bytes; level 63 is beyond (TS 36.321 Table 6.1.3.1-1).
const BUFFER_LEVELS: [u64; 62] = [
    10, 12, 14, 17, 19, 22, 26, 31, 36, 42, 49, 57, 67, 78, 91, 107, 125, 146, 171, 200, 234, 274, 321, 376,
    440, 515, 603, 706, 826, 967, 1132, 1326, 1552, 1817, 2127, 2490, 2915, 3413, 3995, 4677, 5476, 6411,
    7505, 8787, 10287, 12043, 14099, 16507, 19325, 22624, 26487, 31009, 36304, 42502, 49759, 58255, 68201,
    79846, 93749, 109_439, 128_125, 150_000,
];

/// Gap of the SINR to Shannon's formula in link adaptation, linear, for a bit error rate of 5e-5.
fn shannon_gap() -> f64 {
    -libm::log(5.0 * 5e-5) / 1.5
}

/// The CQI for a sounding signal. The figure has eighths of a decibel, cut towards zero, as the scheduler interface of
/// ns-3 carries it.
pub(crate) fn sounded_cqi(sinr: Db) -> Cqi {
    let eighths = (sinr.0 * 8.0) as i32;
    cqi_below(libm::log2(1.0 + Db(f64::from(eighths) / 8.0).linear() / shannon_gap()))
}

/// A buffer size as a status report conveys it: rounded up to the end of its level.
fn quantised(buffer: Bytes) -> Bytes {
    if buffer == Bytes::ZERO {
        return Bytes::ZERO;
    }
    let level = BUFFER_LEVELS.partition_point(|end| *end < buffer.0);
    Bytes(BUFFER_LEVELS[level.min(BUFFER_LEVELS.len() - 1)])
}

/// The uplink side of a cell.
pub(crate) struct Uplink {
    scheduler: Box<dyn UplinkScheduler>,
    prbs: Prbs,
    max_transmissions: u8,
    /// What the base station believes to wait, by slot.
    buffers: Vec<Bytes>,
    backlogged: usize,
    /// What the last sounding of each user allows.
    sounded: Vec<Option<Cqi>>,
    /// SINR of the last sounding of each user.
    sounding_sinr: Vec<Option<Db>>,
    reports: Pipeline<(u16, Bytes)>,
    grants: Pipeline<Grant>,
    air: Pipeline<Sending>,
    undecoded: Pipeline<Sending>,
    pub figures: UplinkFigures,
    // Scratch lists, kept for their capacity.
    due_reports: Vec<(u16, Bytes)>,
    due_grants: Vec<Grant>,
    due_sendings: Vec<Sending>,
    repeated: Vec<u16>,
    views: Vec<UplinkView>,
    shares: Vec<Share>,
    served: Vec<(u16, Bytes)>,
    decoded: Vec<(u32, Content)>,
}

/// What a cell's uplink has done.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct UplinkFigures {
    pub prbs: u64,
    pub bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Grant {
    slot: u16,
    first: u16,
    prbs: u16,
    mcs: Mcs,
    /// The block to send again; none for new data.
    again: Option<Block>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Sending {
    slot: u16,
    pub signal: UplinkSignal,
    block: Block,
}

impl Uplink {
    pub fn new(setup: &crate::settings::RanSetup, prbs: Prbs) -> Self {
        Uplink {
            scheduler: setup.mac.uplink_scheduler.build(),
            prbs,
            max_transmissions: setup.mac.harq_transmissions,
            buffers: Vec::new(),
            backlogged: 0,
            sounded: Vec::new(),
            sounding_sinr: Vec::new(),
            reports: Pipeline::new(),
            grants: Pipeline::new(),
            air: Pipeline::new(),
            undecoded: Pipeline::new(),
            figures: UplinkFigures::default(),
            due_reports: Vec::with_capacity(16),
            due_grants: Vec::with_capacity(16),
            due_sendings: Vec::with_capacity(16),
            repeated: Vec::with_capacity(16),
            views: Vec::new(),
            shares: Vec::with_capacity(32),
            served: Vec::with_capacity(32),
            decoded: Vec::with_capacity(16),
        }
    }

    /// A user joins at the first free slot.
    pub fn admit(&mut self, slot: u16) {
        settle(&mut self.buffers, slot, Bytes::ZERO);
        settle(&mut self.sounded, slot, None);
        settle(&mut self.sounding_sinr, slot, None);
        self.scheduler.admit(slot);
        self.views.reserve(self.buffers.len());
    }

    /// TTIs have passed unscheduled.
    pub fn on_idle(&mut self, ttis: u64) {
        self.scheduler.on_idle(ttis);
    }

    /// The user of a slot leaves: its reports, grants and blocks are gone.
    //= TS 36.321 §5.9
    pub fn release(&mut self, slot: u16) {
        self.set_buffer(slot, Bytes::ZERO);
        self.sounded[slot as usize] = None;
        self.sounding_sinr[slot as usize] = None;
        self.reports.retain(|(reported, _)| *reported != slot);
        self.grants.retain(|grant| grant.slot != slot);
        self.air.retain(|sending| sending.slot != slot);
        self.undecoded.retain(|sending| sending.slot != slot);
    }

    /// A terminal sends a buffer status report.
    //= exception ideal-buffer-reports
    pub fn send_report(&mut self, tti: Tti, slot: u16, waiting: Bytes) {
        self.reports.push(tti + REPORT_TO_DECISION, (slot, quantised(waiting)));
    }

    /// The base station has measured a user's sounding signal.
    pub fn on_sounding(&mut self, slot: u16, sinr: Db) {
        self.sounded[slot as usize] = Some(sounded_cqi(sinr));
        self.sounding_sinr[slot as usize] = Some(sinr);
    }

    /// SINR of a user's last sounding.
    pub fn sounding_sinr(&self, slot: u16) -> Option<Db> {
        self.sounding_sinr[slot as usize]
    }

    /// Whether a user can be granted anything.
    pub fn reaches(&self, slot: u16) -> bool {
        self.mcs(slot).is_some()
    }

    /// Whether a TTI has anything to do here.
    pub fn is_idle(&self) -> bool {
        self.reports.is_empty()
            && self.grants.is_empty()
            && self.air.is_empty()
            && self.undecoded.is_empty()
            && !self.can_grant()
    }

    /// Whether somebody who can be granted waits: a user out of reach must not keep the cell awake.
    fn can_grant(&self) -> bool {
        self.backlogged > 0
            && self
                .buffers
                .iter()
                .zip(&self.sounded)
                .any(|(buffer, sounded)| *buffer > Bytes::ZERO && *sounded != Some(Cqi::OUT_OF_RANGE))
    }

    fn set_buffer(&mut self, slot: u16, bytes: Bytes) {
        let buffer = &mut self.buffers[slot as usize];
        self.backlogged += usize::from(bytes > Bytes::ZERO);
        self.backlogged -= usize::from(*buffer > Bytes::ZERO);
        *buffer = bytes;
    }

    /// The scheduling decisions of a TTI. Retransmissions keep their PRBs; the scheduler shares out the others.
    pub fn schedule(&mut self, tti: Tti) {
        let mut reports = std::mem::take(&mut self.due_reports);
        self.reports.take(tti, &mut reports);
        for (slot, waiting) in &reports {
            self.set_buffer(*slot, *waiting);
        }
        self.due_reports = reports;
        let mut free = FreePrbs::all(self.prbs);
        self.repeat(tti, &mut free);
        self.served.clear();
        if self.backlogged > 0 {
            self.share(tti, free);
        }
        self.scheduler.on_served(&self.served);
    }

    /// Shares out what retransmissions leave.
    fn share(&mut self, tti: Tti, free: FreePrbs) {
        self.views.clear();
        for (slot, buffer) in (0..).zip(&self.buffers) {
            if *buffer > Bytes::ZERO && !self.repeated.contains(&slot) {
                self.views.push(UplinkView { slot, buffer: *buffer, cqi: self.sounded[slot as usize] });
            }
        }
        if self.views.is_empty() {
            return;
        }
        let mut shares = std::mem::take(&mut self.shares);
        shares.clear();
        self.scheduler.allocate(free, self.repeated.len() as u16, &self.views, &mut shares);
        for Share { slot, first, prbs } in shares.iter().copied() {
            let Some(mcs) = self.mcs(slot) else { continue };
            let size = transport_block(Direction::Up, mcs, Prbs(prbs));
            let rest = self.buffers[slot as usize].saturating_sub(size.saturating_sub(Bytes(2)));
            self.set_buffer(slot, rest);
            self.grants.push(tti + DECISION_TO_GRANT, Grant { slot, first, prbs, mcs, again: None });
            self.served.push((slot, size));
        }
        self.shares = shares;
    }

    /// A user's scheme by its last sounding; the lowest before the first one, none if out of reach.
    fn mcs(&self, slot: u16) -> Option<Mcs> {
        match self.sounded[slot as usize] {
            None => Some(Mcs(0)),
            Some(cqi) => (cqi > Cqi::OUT_OF_RANGE).then(|| mcs_of(cqi)),
        }
    }

    fn repeat(&mut self, tti: Tti, free: &mut FreePrbs) {
        self.repeated.clear();
        let mut failed = std::mem::take(&mut self.due_sendings);
        self.undecoded.take(tti, &mut failed);
        for sending in &failed {
            let (first, prbs) = (sending.signal.first, sending.signal.prbs);
            let spent = sending.block.transmissions >= self.max_transmissions;
            if spent || !free.contains(first, prbs) {
                continue;
            }
            free.take(first, prbs);
            self.repeated.push(sending.slot);
            let grant =
                Grant { slot: sending.slot, first, prbs, mcs: sending.block.mcs, again: Some(sending.block) };
            self.grants.push(tti + DECISION_TO_GRANT, grant);
        }
        self.due_sendings = failed;
    }

    /// The terminals act on the grants that reach them in this TTI.
    pub fn obey(
        &mut self,
        tti: Tti,
        users: &[u32],
        radio: &mut Radio,
        terminals: &mut Terminals,
        control: &super::power_control::Params,
    ) {
        let mut grants = std::mem::take(&mut self.due_grants);
        self.grants.take(tti, &mut grants);
        for grant in &grants {
            let number = users[grant.slot as usize];
            if terminals.get(number).loses_control(tti, number, radio) {
                continue;
            }
            let block = match grant.again {
                Some(block) => Block { transmissions: block.transmissions + 1, ..block },
                None => {
                    let size = transport_block(Direction::Up, grant.mcs, Prbs(grant.prbs));
                    let process = (tti.0 % ROUND_TRIP) as u8;
                    let Some(content) = terminals.transmit_up(number, tti, size, process) else { continue };
                    Block {
                        mcs: grant.mcs,
                        size,
                        content: Some(content),
                        soft: SoftBits::default(),
                        transmissions: 1,
                    }
                }
            };
            let power = radio.uplink_power(number as usize, Prbs(grant.prbs), control);
            let signal = UplinkSignal { ue: number, first: grant.first, prbs: grant.prbs, power };
            self.air.push(tti + GRANT_TO_AIR, Sending { slot: grant.slot, signal, block });
        }
        self.due_grants = grants;
    }

    /// What is sent to this cell in this TTI.
    pub fn on_air(&self, tti: Tti) -> &[Sending] {
        self.air.at(tti)
    }

    /// The base station decodes a TTI: the decoded PDUs with their terminals. `signals` are all cells' signals
    /// of this TTI with their cell.
    pub fn receive(
        &mut self,
        tti: Tti,
        cell: usize,
        signals: &[(usize, UplinkSignal)],
        radio: &mut Radio,
        terminals: &mut Terminals,
    ) -> &[(u32, Content)] {
        self.decoded.clear();
        let mut sendings = std::mem::take(&mut self.due_sendings);
        self.air.take(tti, &mut sendings);
        let others = signals.iter().filter(|(other, _)| *other != cell).map(|(_, signal)| signal);
        for sending in &mut sendings {
            let ue = terminals.get(sending.signal.ue);
            self.figures.prbs += u64::from(sending.signal.prbs);
            let probability = radio.receive_uplink(cell, &sending.signal, others.clone(), &mut sending.block);
            let failed = ue.uplink.draw(tti, 0) < probability;
            ue.uplink.blocks.count(&sending.block, failed);
            if failed {
                self.undecoded.push(tti + AIR_TO_FEEDBACK, *sending);
            } else {
                self.figures.bytes += sending.block.size.0;
                self.decoded.extend(sending.block.content.map(|content| (sending.signal.ue, content)));
            }
        }
        self.due_sendings = sendings;
        &self.decoded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_round_up_to_the_level() {
        for (buffer, level) in
            [(0, 0), (1, 10), (10, 10), (11, 12), (56, 57), (150_000, 150_000), (1 << 30, 150_000)]
        {
            assert_eq!(quantised(Bytes(buffer)), Bytes(level));
        }
    }
}
