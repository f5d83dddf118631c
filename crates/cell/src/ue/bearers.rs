//! The bearers of a UE: RLC at both ends, in both directions.

use super::events::EventLog;
use crate::bearer::Bearer;
use crate::identity::UeId;
use crate::mac::prioritization::Bucket;
use crate::settings::{BearerSetup, RanSetup};
use airwnd_kernel::{Direction, Key, Stream};
use airwnd_links::aqm::{Identity, QueueContext};
use airwnd_phy::access::Access;
use airwnd_rlc::{BearerEvents, BufferStatus, DropCause, OneWay, Returned};
use airwnd_units::{Time, Tti};
use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

/// One direction of a bearer of a UE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LegId {
    pub ue: UeId,
    pub bearer: u8,
    pub direction: Direction,
}

/// The bearers with a running RLC timer.
pub(crate) struct Timed(Vec<LegId>);

impl Timed {
    /// An empty list with space for this many bearers.
    pub fn new(bearers: usize) -> Timed {
        Timed(Vec::with_capacity(2 * bearers))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Number of bearers in the list.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn get(&self, index: usize) -> LegId {
        self.0[index]
    }

    /// Adds a bearer if a timer of it runs.
    pub fn watch(&mut self, id: LegId, leg: &mut Leg) {
        if !leg.timed && leg.rlc.deadline().is_some() {
            leg.timed = true;
            self.0.push(id);
        }
    }

    /// Adds a bearer from another list, if it was in that.
    pub fn admit(&mut self, id: LegId, leg: &Leg) {
        if leg.timed {
            self.0.push(id);
        }
    }

    /// Removes the bearers for which `runs` is false.
    pub fn retain(&mut self, mut runs: impl FnMut(LegId) -> bool) {
        self.0.retain(|id| runs(*id));
    }
}

/// One direction of a bearer: RLC at both ends.
pub(crate) struct Leg {
    pub rlc: OneWay,
    /// Time of RLC's next buffer report to the MAC without further arrivals.
    pub report_at: Option<Tti>,
    /// Whether it is in the list of bearers with a running RLC timer.
    pub timed: bool,
    /// Tokens of logical channel prioritization.
    pub(super) bucket: Bucket,
    /// Last TTI in which it was the first of the bearers with its priority.
    pub(super) first_at: Option<Tti>,
}

/// A bearer of a UE.
pub(crate) struct RadioBearer {
    pub qos: Bearer,
    pub downlink: Leg,
    pub uplink: Leg,
}

/// The bearers of a UE.
pub(crate) struct Bearers {
    // Apart from the others: usually there is no other, and the way to it is short.
    pub default: RadioBearer,
    pub dedicated: Vec<RadioBearer>,
}

impl Bearers {
    /// The bearers of the UE with this number, whose blocks have this many HARQ processes in the downlink, on all
    /// carriers, and in the uplink.
    pub fn new(setup: &RanSetup, access: &Access, number: UeId, processes: [u8; 2]) -> Bearers {
        let leg = |bearer: usize, own: &BearerSetup, direction: Direction| {
            let rlc = setup.rlc_of(own);
            let (name, queue) = match direction {
                Direction::Down => ("downlink queue", &rlc.queue),
                Direction::Up => ("uplink queue", rlc.uplink_queue.as_ref().unwrap_or(&rlc.queue)),
            };
            let stream = match bearer {
                0 => Stream::new(setup.seed, name).child(number.0.into()),
                _ => {
                    let name = format!("{name} of a bearer");
                    Stream::new(setup.seed, &name).child(number.0.into()).child(bearer as u64)
                }
            };
            let (ue, bearer) = (Some(number.0), Some(bearer as u8));
            let identity = Identity { link: None, group: None, ue, bearer, direction };
            let queue = queue.build(&QueueContext { stream, rate: None, identity });
            let protocol = rlc.quirks.protocol.unwrap_or(setup.radio.access.protocol());
            Leg {
                rlc: OneWay::new(rlc, protocol, &access.timing, processes[direction as usize], queue),
                report_at: None,
                timed: false,
                bucket: Bucket::new(own.pbr),
                first_at: None,
            }
        };
        let mut bearers =
            setup.ues[number.index()].bearers.iter().enumerate().map(|(bearer, own)| RadioBearer {
                qos: own.qos,
                downlink: leg(bearer, own, Direction::Down),
                uplink: leg(bearer, own, Direction::Up),
            });
        let default = bearers.next().expect("a UE has a default bearer");
        Bearers { default, dedicated: bearers.collect() }
    }

    /// Number of bearers.
    pub fn count(&self) -> u8 {
        self.dedicated.len() as u8 + 1
    }

    pub fn has_several(&self) -> bool {
        !self.dedicated.is_empty()
    }

    /// All bearers, the default bearer first.
    pub fn iter(&self) -> impl Iterator<Item = &RadioBearer> {
        std::iter::once(&self.default).chain(&self.dedicated)
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut RadioBearer> {
        std::iter::once(&mut self.default).chain(&mut self.dedicated)
    }

    /// Both directions of all bearers.
    pub fn legs_mut(&mut self) -> impl Iterator<Item = &mut Leg> {
        self.iter_mut().flat_map(|bearer| [&mut bearer.downlink, &mut bearer.uplink])
    }

    #[inline(never)]
    pub(super) fn add_dedicated(&self, first: BufferStatus, now: Time, direction: Direction) -> BufferStatus {
        self.dedicated.iter().fold(first, |sum, bearer| sum + bearer.reported(now, direction))
    }
}

impl Index<u8> for Bearers {
    type Output = RadioBearer;
    fn index(&self, bearer: u8) -> &RadioBearer {
        if bearer == 0 { &self.default } else { &self.dedicated[usize::from(bearer) - 1] }
    }
}

impl IndexMut<u8> for Bearers {
    fn index_mut(&mut self, bearer: u8) -> &mut RadioBearer {
        if bearer == 0 { &mut self.default } else { &mut self.dedicated[usize::from(bearer) - 1] }
    }
}

/// Treatment of the packets that wait in a re-established bearer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Waiting {
    /// They stay.
    Stays,
    /// They are forwarded.
    Follows,
    /// They are dropped.
    IsDropped,
}

impl Leg {
    /// Re-establishes RLC for this cause: PDUs on air are lost, waiting packets are treated according to `rest`, and
    /// `forward` receives those that follow the UE. `spare` is empty before and after.
    pub fn re_establish(
        &mut self,
        now: Time,
        cause: DropCause,
        rest: Waiting,
        spare: &mut VecDeque<Returned>,
        events: &mut EventLog,
        mut forward: impl FnMut(Key),
    ) {
        self.rlc.release(now, cause, spare, events);
        self.bucket.reset(now);
        //= TS 36.323 §5.3
        //= exception pdcp-knows-what-arrived
        spare.retain(|returned| !returned.delivered);
        match rest {
            Waiting::Stays => self.rlc.resume(spare.drain(..)),
            Waiting::Follows => spare.drain(..).for_each(|returned| forward(returned.sdu.packet)),
            Waiting::IsDropped => spare.drain(..).for_each(|returned| events.dropped(returned.sdu, cause)),
        }
    }

    /// Updates and returns whether it is in the list of bearers with a running RLC timer.
    pub fn update_timed(&mut self) -> bool {
        self.timed = self.rlc.deadline().is_some();
        self.timed
    }

    /// Index of its timer for repeated buffer reports, by mode.
    pub fn timers(&self) -> usize {
        usize::from(self.rlc.is_acknowledged())
    }
}

impl RadioBearer {
    pub fn leg(&self, direction: Direction) -> &Leg {
        match direction {
            Direction::Down => &self.downlink,
            Direction::Up => &self.uplink,
        }
    }

    pub fn leg_mut(&mut self, direction: Direction) -> &mut Leg {
        self.legs(direction).0
    }

    /// A direction, and the opposite one.
    pub fn legs(&mut self, direction: Direction) -> (&mut Leg, &mut Leg) {
        match direction {
            Direction::Down => (&mut self.downlink, &mut self.uplink),
            Direction::Up => (&mut self.uplink, &mut self.downlink),
        }
    }

    /// Whether packets are queued, on air or not yet acknowledged.
    pub fn has_packets(&self) -> bool {
        [&self.downlink, &self.uplink].into_iter().any(|leg| leg.rlc.inside().next().is_some())
    }

    /// Whether either direction has exceeded the maximum of retransmissions.
    pub(super) fn has_failed(&self) -> bool {
        self.downlink.rlc.has_failed() || self.uplink.rlc.has_failed()
    }

    /// Buffer status that RLC reports to the MAC of a direction.
    #[inline]
    pub fn reported(&self, now: Time, direction: Direction) -> BufferStatus {
        self.leg(direction).rlc.reported(now, &self.leg(direction.reverse()).rlc)
    }
}
