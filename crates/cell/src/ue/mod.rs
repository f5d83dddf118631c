//! UEs: their bearers, and their MAC.

mod bearers;
mod compat;
mod connection;
mod control_channels;
mod events;
mod harq;
mod mac;
mod mac_side;
mod multiplexing;
mod report_rules;
mod reports;
mod rlc;
mod sdu_tracer;
mod table;
mod timers;

pub(crate) use bearers::{LegId, Waiting};
pub(crate) use events::EventLog;
pub use events::{Arrival, Dropped};
pub(crate) use mac::{Signal, SignalContent};
pub(crate) use mac_side::{Answer, Assignment, Grant, GrantedBlock, MacSide};
pub(crate) use rlc::DownlinkReport;
pub(crate) use sdu_tracer::SduTracer;
pub(crate) use table::UeTable;

use crate::bearer::Bearer;
use crate::identity::{CarrierId, CellId, UeId, UeSlot};
use crate::mac::configured_grant;
use crate::mac::drx::Drx;
use crate::mac::scell::Activation;
use crate::radio::Air;
use crate::rrc::Connection;
use crate::settings::RanSetup;
use airwnd_kernel::{Direction, Stream};
use airwnd_phy::ComponentCarrier;
use airwnd_phy::access::Level;
use airwnd_rlc::BufferStatus;
use airwnd_units::{Db, SlotClock, Span, Time, Tti};
use bearers::{Bearers, Leg, RadioBearer};
use control_channels::{Control, Pdcch};
use harq::Harq;
use reports::Reporting;

/// A UE and its bearers.
pub(crate) struct Ue {
    pub cell: CellId,
    pub slot: UeSlot,
    pub downlink: Harq,
    pub uplink: Harq,
    pub bearers: Bearers,
    /// Backlog of its RLC known to the UE's MAC.
    pub unsent: BufferStatus,
    /// Whether it is attached to its cell.
    pub attached: bool,
    /// Whether its cell can schedule it: it is attached, and not being promoted.
    pub joined: bool,
    /// `None`: it receives in every TTI.
    pub drx: Option<Box<Drx>>,
    /// `None`: it stays connected.
    pub connection: Option<Box<Connection>>,
    /// Whether it is in the list of UEs with a new RLC report since the last TTI.
    pub fresh: bool,
    /// Expiry of retxBSR-Timer.
    pub report_again_at: Option<Tti>,
    /// State of its reports within blocks.
    pub reporting: Reporting,
    /// Sum of the TPC commands, f(i) in TS 36.213 §5.1.1.1.
    pub commanded: Db,
    /// Number of radio link failures.
    pub failures: u64,
    /// Number of handovers.
    pub handovers: u64,
    /// Weight in the downlink schedulers that have weights; `None`: 1.
    pub weight: Option<f64>,
    /// Number of carriers that it aggregates, with the primary one.
    pub carriers: u8,
    /// Its configured grant in each cell that has a place for it.
    pub configured_grant: Option<Box<configured_grant::Params>>,
    /// Whether it waits for its configured grant instead of sending scheduling requests.
    pub masks_requests: bool,
    /// Reception of the primary carrier's control channels.
    control: Control,
    /// Secondary carriers of the network.
    secondary: Vec<Secondary>,
    pub sinr: Option<Db>,
    pub sinr_sum: f64,
    pub sinr_samples: u64,
}

/// A UE on a secondary carrier.
struct Secondary {
    control: Control,
    activation: Activation,
}

impl Ue {
    pub fn new(
        setup: &RanSetup,
        carriers: &[ComponentCarrier],
        number: UeId,
        cell: CellId,
        slot: UeSlot,
    ) -> Ue {
        let access = &carriers[0].access;
        // The HARQ processes of the downlink on all carriers, and those of the uplink.
        let [processes, uplink_processes] =
            [carriers.len() as u8, 1].map(|carriers| carriers * access.timing.processes);
        let (site, seed) = (&setup.ues[number.index()], setup.seed);
        let own = |name: &str| Stream::new(seed, name).child(number.0.into());
        let harq =
            |name, processes| Harq::new(own(name), access.timing.processes, processes, site.bearers.len());
        let control = |carrier: &ComponentCarrier| {
            let draws = carrier.stream(own("control channel errors"));
            Control::new(setup.radio.control_errors, draws)
        };
        let secondary = |carrier: &ComponentCarrier| Secondary {
            control: control(carrier),
            activation: Activation::default(),
        };
        Ue {
            cell,
            slot,
            downlink: harq("downlink block errors", processes),
            uplink: harq("uplink block errors", uplink_processes),
            bearers: Bearers::new(setup, access, number, [processes, uplink_processes]),
            unsent: BufferStatus::default(),
            attached: true,
            joined: true,
            drx: setup.mac.drx.as_ref().map(|params| {
                let offsets = own("DRX offset");
                Box::new(Drx::new(params, access.clock, &access.timing, carriers.len(), offsets, cell))
            }),
            connection: setup
                .rrc
                .as_ref()
                .map(|params| Box::new(Connection::new(params, own("paging occasion")))),
            fresh: false,
            report_again_at: None,
            reporting: Reporting::new(&setup.mac, access.clock),
            commanded: Db(0.0),
            failures: 0,
            handovers: 0,
            weight: None,
            carriers: site.carriers.min(carriers.len() as u8),
            configured_grant: site.configured_grant.clone().map(Box::new),
            masks_requests: false,
            secondary: carriers[1..].iter().map(secondary).collect(),
            control: control(&carriers[0]),
            sinr: None,
            sinr_sum: 0.0,
            sinr_samples: 0,
        }
    }

    /// Whether it has more than the default bearer.
    pub fn has_several(&self) -> bool {
        self.bearers.has_several()
    }

    /// Fraction of the time until now in which it has monitored the PDCCH.
    pub fn awake(&self, clock: SlotClock, now: Time) -> f64 {
        if now == Time::ZERO {
            return 1.0;
        }
        let connection = self.connection.as_ref();
        match &self.drx {
            Some(drx) => {
                let release = connection.and_then(|connection| connection.release(now));
                let release = release.map(|release| clock.from(release.start)..clock.from(release.end));
                let next = clock.from(now);
                drx.awake(next, release) as f64 / next.0 as f64
            }
            None => {
                let asleep = connection.map_or(Span::ZERO, |connection| connection.asleep(now));
                1.0 - asleep.as_secs() / now.as_secs()
            }
        }
    }

    /// Notes a sample of the reported SINR.
    #[inline]
    pub fn sample(&mut self, sinr: Db) {
        self.sinr = Some(sinr);
        self.sinr_sum += sinr.0;
        self.sinr_samples += 1;
    }

    /// Deactivates its secondary carriers: it has accessed a cell.
    pub fn deactivate(&mut self) {
        self.secondary.iter_mut().for_each(|carrier| carrier.activation = Activation::default());
    }

    /// Quality of service of its bearers together.
    pub fn qos(&self) -> Bearer {
        Bearer::together(self.bearers.iter().map(|bearer| bearer.qos))
    }

    /// Both directions of its bearers.
    fn legs_of(&self, number: UeId) -> impl Iterator<Item = (LegId, &Leg)> {
        (0..).zip(self.bearers.iter()).flat_map(move |(bearer, radio_bearer)| {
            [Direction::Down, Direction::Up]
                .map(|direction| (LegId { ue: number, bearer, direction }, radio_bearer.leg(direction)))
        })
    }

    pub fn leg(&mut self, bearer: u8, direction: Direction) -> &mut Leg {
        self.bearers[bearer].leg_mut(direction)
    }

    /// A direction of a bearer, and the opposite one.
    pub fn legs(&mut self, bearer: u8, direction: Direction) -> (&mut Leg, &mut Leg) {
        self.bearers[bearer].legs(direction)
    }

    fn harq(&mut self, direction: Direction) -> &mut Harq {
        match direction {
            Direction::Down => &mut self.downlink,
            Direction::Up => &mut self.uplink,
        }
    }

    /// Buffer status that RLC reports to the MAC of a direction: the sum of its bearers.
    #[inline]
    pub fn reported(&self, now: Time, direction: Direction) -> BufferStatus {
        let first = self.bearers.default.reported(now, direction);
        if self.has_several() { self.bearers.add_dedicated(first, now, direction) } else { first }
    }

    /// Whether the UE with this number misses a PDCCH of this level on a carrier in the TTI on air.
    #[inline(always)]
    pub fn loses_control(
        &mut self,
        tti: Tti,
        number: UeId,
        carrier: CarrierId,
        level: Level,
        air: &mut Air<'_>,
    ) -> bool {
        let control = match carrier.secondary() {
            None => &mut self.control,
            Some(secondary) => &mut self.secondary[secondary].control,
        };
        control.loses(Pdcch { tti, level, ue: number, cell: self.cell }, air)
    }

    /// Whether a bearer has exceeded the maximum of retransmissions.
    pub fn has_failed(&self) -> bool {
        self.bearers.default.has_failed() || self.bearers.dedicated.iter().any(RadioBearer::has_failed)
    }
}

#[cfg(test)]
mod tests;
