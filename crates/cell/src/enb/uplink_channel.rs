//! Uplink channels of a cell's UEs: what soundings, power headroom and received blocks tell of them, and power control.

use super::known_channels::{KnownChannels, LOWEST};
use crate::identity::UeSlot;
use crate::mac::power_control;
use crate::mac::sched::settle;
use crate::mac::uplink_adaptation::{Density, Link, Schemes, sounded_cqi, width};
use crate::settings::RanSetup;
use airwnd_kernel::Direction;
use airwnd_phy::access::Access;
use airwnd_phy::{Cqi, Mcs, Prbs};
use airwnd_units::{Bytes, Db, Tti};
use std::sync::Arc;

/// Weight of a received block in the correction of a UE's expected SINR.
// A choice: a few blocks show the interference, and a single one does not hide it.
const CORRECTION_WEIGHT: f64 = 0.125;
/// Factor by which the correction decays at each sounding.
const CORRECTION_KEPT: f64 = 0.9;
/// Maximum correction of the expected SINR, in decibels.
const MAX_CORRECTION: f64 = 20.0;
/// Fraction of first transmissions that fail at the chosen margin (TS 36.213 §7.2.3 for the downlink), increase of the
/// margin per failure, and its maximum, in decibels.
// Step and maximum are choices: those of the downlink's outer loop.
const FAILURES: f64 = 0.1;
const MARGIN_STEP: f64 = 0.5;
const MAX_MARGIN: f64 = 10.0;

/// The uplink channels of a cell's UEs.
pub(super) struct UplinkChannels {
    access: Arc<Access>,
    prbs: Prbs,
    schemes: Schemes,
    /// Closed-loop power control; `None`: open loop.
    closed_loop: Option<power_control::Params>,
    /// By slot.
    channels: Vec<Channel>,
    /// UEs whose channel is known; `None`: all are.
    known: Option<KnownChannels>,
}

/// Uplink channel of a UE.
#[derive(Clone, Copy, Debug, Default)]
struct Channel {
    /// CQI of the last sounding.
    sounded: Option<Cqi>,
    /// SINR of the last sounding.
    sounding: Option<Db>,
    /// Power headroom of a grant of one PRB, after all TPC commands so far; `None` before the first report.
    headroom: Option<Db>,
    /// Sum of the TPC commands so far.
    commanded: Db,
    /// Part of `commanded` that the last sounding applied.
    sounded_at: Db,
    /// Last TPC command, and the first TTI that applies it.
    command: (Db, Tti),
    /// Smoothed difference between the SINR of received blocks and the SINR expected from soundings.
    correction: Db,
    /// Margin subtracted from the corrected SINR, since interference fluctuates.
    margin: Db,
}

impl Channel {
    /// The SINR expected for the UE's grants, from a sounding over the carrier, without interference.
    fn density(&self, sounding: Db, carrier: Prbs) -> Density {
        let since = self.commanded - self.sounded_at;
        let ceiling = match self.headroom {
            // The sounding was limited by the power headroom at that time.
            Some(headroom) => sounding + Db((width(carrier) - headroom - since).0.max(0.0)) + since,
            None => sounding,
        };
        Density { ceiling, headroom: self.headroom }
    }

    /// Adapts the margin to a first transmission, so that a fraction [`FAILURES`] of them fails.
    fn update_margin(&mut self, failed: bool) {
        let step = if failed { MARGIN_STEP } else { -MARGIN_STEP * FAILURES / (1.0 - FAILURES) };
        self.margin.0 = (self.margin.0 + step).clamp(0.0, MAX_MARGIN);
    }
}

/// A received transmission of a block, for link adaptation.
pub(super) struct Received {
    pub tti: Tti,
    /// SINR above the one expected from soundings; `None` if too little was known.
    pub excess: Option<Db>,
    pub is_first: bool,
    pub failed: bool,
}

impl UplinkChannels {
    /// The channels of a cell without UEs; `access` is that of the downlink.
    pub fn new(setup: &RanSetup, access: &Arc<Access>, schemes: Schemes) -> UplinkChannels {
        let control = setup.power_control(access);
        UplinkChannels {
            access: access.in_uplink(),
            prbs: access.prbs,
            schemes,
            closed_loop: (control.mode == power_control::Mode::ClosedLoop).then_some(control),
            channels: Vec::new(),
            known: KnownChannels::new(access, Direction::Up),
        }
    }

    /// Adds a UE at the first free slot.
    pub fn admit(&mut self, slot: UeSlot) {
        settle(&mut self.channels, slot, Channel::default());
        if let Some(known) = &mut self.known {
            known.admit(slot);
        }
    }

    /// Removes the UE of a slot.
    pub fn release(&mut self, slot: UeSlot) {
        let channel = &mut self.channels[slot.index()];
        (channel.sounded, channel.sounding) = (None, None);
    }

    /// The rule for width and MCS of grants.
    pub fn schemes(&self) -> &Schemes {
        &self.schemes
    }

    /// Handles a UE's sounding signal, measured by the eNB.
    pub fn on_sounding(&mut self, tti: Tti, slot: UeSlot, sinr: Db) {
        let channel = &mut self.channels[slot.index()];
        let before = channel.sounding.replace(sinr);
        let (command, obeyed_from) = channel.command;
        let ahead = if obeyed_from > tti { command } else { Db(0.0) };
        channel.sounded_at = channel.commanded - ahead;
        // Retry of a UE whose interference prevented further grants.
        channel.correction.0 *= CORRECTION_KEPT;
        if channel.margin > Db(0.0) && !self.reaches(slot) {
            self.channels[slot.index()].margin.0 *= CORRECTION_KEPT;
        }
        if !self.schemes.fits_widths() && before != Some(sinr) {
            self.channels[slot.index()].sounded = Some(sounded_cqi(&self.access, sinr));
        }
    }

    /// SINR of a UE's last sounding.
    pub fn sounding(&self, slot: UeSlot) -> Option<Db> {
        self.channels[slot.index()].sounding
    }

    /// The link state of a UE's uplink, corrected by the reception of its blocks.
    pub fn link(&self, slot: UeSlot) -> Link {
        if self.known.as_ref().is_some_and(|known| !known.contains(slot)) {
            return Link::Carrier(Some(LOWEST));
        }
        let channel = &self.channels[slot.index()];
        if !self.schemes.fits_widths() {
            return Link::Carrier(channel.sounded);
        }
        Link::Headroom(channel.sounding.map(|sounding| {
            let density = channel.density(sounding, self.prbs);
            Density { ceiling: density.ceiling + channel.correction - channel.margin, ..density }
        }))
    }

    /// Whether a UE can be granted anything.
    pub fn reaches(&self, slot: UeSlot) -> bool {
        self.schemes.fit(self.link(slot), Bytes::ZERO, self.prbs.0).is_some()
    }

    /// A UE's MCS over these PRBs: the lowest before the first sounding; `None` if out of reach.
    pub fn mcs(&self, slot: UeSlot, prbs: Prbs) -> Option<Mcs> {
        let link = self.link(slot);
        // With fitted widths, the scheduler has granted a width that fits, or a blind first grant.
        self.schemes
            .mcs(link, prbs)
            .or(matches!(link, Link::Headroom(Some(Density { headroom: None, .. }))).then_some(Mcs(0)))
    }

    /// The TPC command sent with a grant whose block is on air in `air`.
    //= TS 36.213 §5.1.1.1
    pub fn command(&mut self, tti: Tti, air: Tti, slot: UeSlot, prbs: Prbs) -> Db {
        let channel = &mut self.channels[slot.index()];
        let (Some(control), Some(sounding)) = (&self.closed_loop, channel.sounding) else {
            return Db(0.0);
        };
        let Some(headroom) = channel.headroom else { return Db(0.0) };
        let command = control.command(channel.density(sounding, self.prbs).ceiling);
        let at_most = command.0 > 0.0 && width(prbs) >= headroom;
        if command.0 == 0.0 || at_most || tti < channel.command.1 {
            return Db(0.0);
        }
        channel.commanded += command;
        channel.headroom = Some(headroom - command);
        channel.command = (command, air);
        command
    }

    /// Sum of the TPC commands to a UE so far.
    pub fn commanded(&self, slot: UeSlot) -> Db {
        self.channels[slot.index()].commanded
    }

    /// The SINR expected for a grant over these PRBs, without correction; `None` if too little is known.
    pub fn expected(&self, slot: UeSlot, prbs: Prbs) -> Option<Db> {
        let channel = &self.channels[slot.index()];
        let sounding = channel.sounding.filter(|_| channel.headroom.is_some());
        sounding.map(|sounding| channel.density(sounding, self.prbs).sinr(width(prbs)))
    }

    /// Learns from the reception of a block.
    pub fn on_received(&mut self, slot: UeSlot, received: &Received) {
        let channel = &mut self.channels[slot.index()];
        if self.schemes.fits_widths() {
            if let Some(excess) = received.excess {
                let off = excess - channel.correction;
                let corrected = channel.correction.0 + CORRECTION_WEIGHT * off.0;
                channel.correction.0 = corrected.clamp(-MAX_CORRECTION, MAX_CORRECTION);
            }
            if received.is_first {
                channel.update_margin(received.failed);
            }
        }
        if let Some(known) = &mut self.known {
            known.learn(slot, received.tti);
        }
    }

    /// Handles a UE's power headroom report for a grant over these PRBs, sent after the TPC commands `commanded`.
    pub fn on_headroom(&mut self, slot: UeSlot, headroom: Db, prbs: Prbs, commanded: Db) {
        let channel = &mut self.channels[slot.index()];
        let since = channel.commanded - commanded;
        channel.headroom = Some(headroom + width(prbs) - since);
    }

    /// Forgets the channels of UEs without blocks.
    pub fn forget(&mut self, tti: Tti) {
        if let Some(known) = &mut self.known {
            known.forget(tti);
        }
    }
}
