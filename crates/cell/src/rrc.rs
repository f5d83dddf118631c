//! RRC idle and inactive: the release of UEs without data, and their promotion.

use airwnd_catalog::Params;
use airwnd_kernel::{Direction, Stream};
use airwnd_units::{Span, Time};
use std::ops::Range;

/// Release of a connected UE without data to RRC idle or inactive, and its promotion by the next packet.
///
/// A UE without packets in either direction for `inactivity` is released. Its next packet waits in the bearer for
/// `promotion`: service request and set-up in idle, resumption in inactive. In the downlink the wait begins at the UE's
/// next paging occasion. A promoted UE begins with new HARQ, link adaptation and DRX.
//= exception promotion-takes-no-resources
//= exception idle-reselects-by-handover
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "TS 36.331 §5.3.3, §5.3.8; TS 38.331 §5.3.8, §5.3.13")]
pub struct Params {
    /// Time without data after which a UE is released.
    #[param(basic, default = Span::from_secs(10), range = Span::from_millis(10)..=Span::from_secs(86_400))]
    #[param(unit = "time", source = "Huang et al., MobiSys 2012: 11.6 s; 5 s in MTN Ghana 2022")]
    pub inactivity: Span,
    /// Time from paging, or from an uplink packet, until the cell can schedule the UE.
    #[param(basic, default = Span::from_millis(260), range = Span::ZERO..=Span::from_secs(10))]
    #[param(
        unit = "time",
        source = "Huang et al., MobiSys 2012, from idle; from inactive 20 ms or less, ITU-R M.2410 §4.7.2"
    )]
    pub promotion: Span,
    /// Time between two paging occasions of a UE.
    #[param(default = Span::from_millis(1_280), range = Span::from_millis(10)..=Span::from_millis(10_240))]
    #[param(
        unit = "time",
        source = "TS 36.331 §6.3.2, defaultPagingCycle, rf128; Huang et al., MobiSys 2012"
    )]
    pub paging_cycle: Span,
}

/// State of a UE's connection.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    params: Params,
    /// First paging occasion.
    paging: Time,
    /// Time of the last packet.
    last: Time,
    /// The promotion under way.
    promotion: Option<Promotion>,
    /// Time asleep in all releases that have ended.
    asleep: Span,
}

/// End of a release.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Promotion {
    /// Start of the release.
    pub released: Time,
    /// When the UE wakes.
    pub wakes: Time,
    /// When the cell can schedule it.
    pub ends: Time,
}

impl Connection {
    /// A connected UE whose last packet was at time zero.
    pub fn new(params: &Params, stream: Stream) -> Connection {
        let paging = Time((stream.at(0) * params.paging_cycle.0 as f64) as u64);
        Connection { params: params.clone(), paging, last: Time::ZERO, promotion: None, asleep: Span::ZERO }
    }

    /// Start of the release; `None`: the UE is connected or being promoted.
    pub fn released(&self, now: Time) -> Option<Time> {
        let at = self.last + self.params.inactivity;
        (self.promotion.is_none() && now >= at).then_some(at)
    }

    /// A packet has arrived or was delivered.
    pub fn on_packet(&mut self, now: Time) {
        self.last = self.last.max(now);
    }

    /// Starts the promotion of a released UE for a packet of this direction, or expedites the one under way.
    //= TS 36.304 §7.1
    pub fn promote(&mut self, now: Time, released: Time, direction: Direction) {
        let wakes = match direction {
            Direction::Up => now,
            Direction::Down => {
                let cycle = self.params.paging_cycle;
                self.paging + cycle * now.since(self.paging).0.div_ceil(cycle.0)
            }
        };
        let promotion = Promotion { released, wakes, ends: wakes + self.params.promotion };
        if self.promotion.is_none_or(|other| promotion.ends < other.ends) {
            self.promotion = Some(promotion);
        }
    }

    /// The promotion under way.
    pub fn promotion(&self) -> Option<Promotion> {
        self.promotion
    }

    /// Ends the promotion under way.
    pub fn connect(&mut self) {
        if let Some(Promotion { released, wakes, ends }) = self.promotion.take() {
            self.asleep += wakes.since(released);
            self.on_packet(ends);
        }
    }

    /// The release that lasts, or from which the UE is being promoted.
    pub fn release(&self, now: Time) -> Option<Range<Time>> {
        match self.promotion {
            Some(Promotion { released, wakes, .. }) => Some(released..now.min(wakes)),
            None => self.released(now).map(|released| released..now),
        }
    }

    /// Time asleep until now in releases.
    pub fn asleep(&self, now: Time) -> Span {
        self.asleep + self.release(now).map_or(Span::ZERO, |release| release.end.since(release.start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn connection() -> Connection {
        let mut connection = Connection::new(&Params::default(), Stream::new(1, "paging"));
        connection.paging = at(300);
        connection
    }

    #[test]
    fn a_ue_is_released_after_its_last_packet() {
        let mut connection = connection();
        connection.on_packet(at(500));
        assert_eq!(connection.released(at(10_499)), None);
        assert_eq!(connection.released(at(12_000)), Some(at(10_500)));
        assert_eq!(connection.asleep(at(12_000)), Span::from_millis(1500));
    }

    #[test]
    fn a_downlink_packet_waits_for_the_paging_occasion() {
        // 300 + 8 * 1280 = 10 540
        for (now, wakes) in [(10_300, 10_540), (10_540, 10_540), (10_541, 11_820)] {
            let mut connection = connection();
            connection.promote(at(now), at(10_000), Direction::Down);
            let promotion = connection.promotion().unwrap();
            assert_eq!((promotion.wakes, promotion.ends), (at(wakes), at(wakes + 260)));
        }
    }

    #[test]
    fn an_uplink_packet_does_not_wait_for_paging() {
        let mut connection = connection();
        connection.promote(at(10_541), at(10_000), Direction::Down);
        connection.promote(at(10_600), at(10_000), Direction::Up);
        connection.promote(at(10_700), at(10_000), Direction::Up);
        assert_eq!(connection.promotion().unwrap().ends, at(10_860));
        connection.connect();
        assert_eq!(connection.released(at(20_859)), None);
        assert_eq!(connection.asleep(at(20_859)), Span::from_millis(600));
    }
}
