//! Receiving entity: reordering, reassembly, status reports.

use super::received::Received;
use super::status::{self, Status, Writer};
use super::{Format, Params, Pdu, Rules};
use crate::segmenter::Returned;
use crate::{Protocol, Sdu};
use airwnd_units::{Bytes, Time};
use std::collections::VecDeque;

/// An acknowledged-mode receiver (TS 36.322 §5.1.3.2, §5.2.3).
///
/// The caller reports each SDU that goes on air ([`Rx::expect`]; its boundary in the stream, which the real protocol
/// carries in length indicators) and each PDU that the MAC decoded, and calls [`Rx::expire`] when its timers are due.
pub struct Rx {
    params: Params,
    rules: &'static dyn Rules,
    format: Format,
    /// SDUs on air or received in part, with the end of each in the stream.
    expected: VecDeque<(u64, Returned)>,
    /// End of the newest of them.
    expected_to: u64,
    received: Received,
    /// VR(MS): the first PDU that must not be reported yet, neither received nor missing.
    reported_to: u64,
    /// VR(X) and the expiry of t-Reordering, while it runs.
    timer: Option<(u64, Time)>,
    /// Highest PDU with a poll whose answer waits until the gaps below it have been reported or closed.
    polled: Option<u64>,
    /// A STATUS PDU is due.
    triggered: bool,
    /// Expiry of t-StatusProhibit.
    prohibited_until: Time,
    /// A STATUS PDU waits for t-StatusProhibit, whose expiry triggers a report to the MAC.
    held_back: bool,
    /// A report to the MAC is pending.
    report_pending: bool,
}

impl Rx {
    /// A receiver that expects no SDUs.
    pub fn new(params: Params, protocol: Protocol) -> Self {
        let format = params.format(protocol);
        Rx {
            format,
            rules: params.rules(),
            params,
            expected: VecDeque::with_capacity(64),
            expected_to: 0,
            received: Received::new(format),
            reported_to: 0,
            timer: None,
            polled: None,
            triggered: false,
            prohibited_until: Time::ZERO,
            held_back: false,
            report_pending: false,
        }
    }

    /// An SDU has gone on air, after all earlier ones.
    pub fn expect(&mut self, sdu: Returned) {
        self.expected_to += sdu.sdu.size.0;
        self.expected.push_back((self.expected_to, sdu));
    }

    /// Handles a decoded data PDU. Passes SDUs that are complete and in order to `deliver`.
    //= exception nr-acknowledged-in-order
    pub fn receive(&mut self, now: Time, pdu: Pdu, deliver: &mut impl FnMut(Sdu)) {
        let discarded = !self.received.is_within(pdu.sn) || self.received.is_whole(pdu.sn);
        if pdu.poll {
            if discarded {
                self.trigger(now);
            } else {
                self.rules.on_poll(self, now, pdu.sn);
            }
        }
        if discarded {
            return;
        }
        self.received.place(pdu);
        self.deliver(deliver);
        //= TS 36.322 §5.1.3.2.3
        self.reported_to = self.received.first_missing_from(self.reported_to);
        self.answer_poll(now);
        let first = self.received.first();
        if self.timer.is_some_and(|(until, _)| !self.received.misses_between(first, until)) {
            self.timer = None;
        }
        if self.timer.is_none() && self.received.misses_from(first) {
            self.timer = Some((self.received.highest(), now + self.params.reordering));
        }
    }

    /// Next expiry of a timer.
    pub fn deadline(&self) -> Option<Time> {
        let reordering = self.timer.map(|(_, expiry)| expiry);
        let prohibit = self.held_back.then_some(self.prohibited_until);
        reordering.into_iter().chain(prohibit).min()
    }

    /// Handles expired timers.
    pub fn expire(&mut self, now: Time) {
        //= TS 36.322 §5.1.3.2.4
        if let Some((until, _)) = self.timer.filter(|(_, expiry)| *expiry <= now) {
            self.timer = None;
            self.reported_to = self.received.first_missing_from(until);
            if self.received.misses_from(self.reported_to) {
                self.timer = Some((self.received.highest(), now + self.params.reordering));
            }
            self.polled = self.polled.filter(|sn| *sn >= self.reported_to);
            self.rules.on_reordering(self, now);
        }
        if self.held_back && self.prohibited_until <= now {
            self.held_back = false;
            self.report_pending = true;
        }
    }

    /// Answers a poll once all PDUs before its own are received or reported missing.
    //= TS 36.322 §5.2.3
    fn answer_poll(&mut self, now: Time) {
        if self.polled.is_some_and(|sn| sn < self.reported_to) {
            self.polled = None;
            self.trigger(now);
        }
    }

    /// Answers a poll in this PDU once all PDUs before it are received or reported missing.
    pub(super) fn answer_after_gaps(&mut self, sn: u64) {
        self.polled = self.polled.max(Some(sn));
    }

    /// Marks a STATUS PDU as due without a report to the MAC.
    pub(super) fn be_due(&mut self) {
        self.triggered = true;
    }

    /// Marks a STATUS PDU as due, at once or when t-StatusProhibit expires.
    pub(super) fn trigger(&mut self, now: Time) {
        self.triggered = true;
        if now >= self.prohibited_until {
            self.report_pending = true;
        } else {
            self.held_back = self.rules.reports_after_prohibition();
        }
    }

    /// Whether a report to the MAC is pending; clears the flag.
    pub fn take_pending_report(&mut self) -> bool {
        std::mem::take(&mut self.report_pending)
    }

    /// Size of the STATUS PDU that is due; zero if none may be sent.
    pub fn reported(&self, now: Time) -> Bytes {
        if self.is_due(now) { self.rules.status_size(self) } else { Bytes::ZERO }
    }

    /// Size of a STATUS PDU that reports all gaps.
    pub(super) fn status_size(&self) -> Bytes {
        status::size(self.format, self.missing().map(|sn| self.received.gaps(sn).count() as u64))
    }

    fn is_due(&self, now: Time) -> bool {
        self.triggered && now >= self.prohibited_until
    }

    /// Writes the STATUS PDU that is due, within `room` bytes, and returns its size.
    //= TS 36.322 §5.2.3
    pub fn send_status(&mut self, now: Time, room: Bytes, status: &mut Status) -> Option<Bytes> {
        if !self.is_due(now) {
            return None;
        }
        let size = self.write(status, room)?;
        self.triggered = false;
        self.held_back = false;
        self.prohibited_until = now + self.params.status_prohibit;
        Some(size)
    }

    /// PDUs to report missing.
    fn missing(&self) -> impl Iterator<Item = u64> + '_ {
        (self.received.first()..self.reported_to).filter(|sn| !self.received.is_whole(*sn))
    }

    fn write(&self, status: &mut Status, room: Bytes) -> Option<Bytes> {
        let mut writer = Writer::new(status, self.format, room)?;
        let left_out = self.missing().find(|sn| !writer.miss(*sn, self.received.gaps(*sn)));
        Some(writer.finish(left_out.unwrap_or(self.reported_to)))
    }

    /// SDUs on air that have not been delivered.
    pub fn inside(&self) -> impl Iterator<Item = &Sdu> {
        self.expected.iter().filter(|(_, sdu)| !sdu.delivered).map(|(_, sdu)| &sdu.sdu)
    }

    /// End of the delivered part of the stream.
    pub fn delivered_to(&self) -> u64 {
        self.received.whole_to()
    }

    /// Re-establishes the entity (TS 36.322 §5.4).
    pub fn release(&mut self) {
        self.expected.clear();
        *self = Rx {
            expected: std::mem::take(&mut self.expected),
            ..Rx::new(self.params.clone(), self.format.protocol)
        };
    }

    fn deliver(&mut self, deliver: &mut impl FnMut(Sdu)) {
        while let Some((_, sdu)) = self.expected.front().filter(|(end, _)| *end <= self.received.whole_to()) {
            if !sdu.delivered {
                deliver(sdu.sdu);
            }
            self.expected.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::am::{Conduct, Nack, Quirks};
    use crate::tests::packet;
    use airwnd_units::Span;

    fn standard() -> Params {
        Params::default()
    }

    /// A receiver that expects ten SDUs of 100 B.
    fn receiver(params: Params) -> Rx {
        let mut rx = Rx::new(params, Protocol::Lte);
        (0..10).for_each(|number| rx.expect(Returned { sdu: packet(number, 100), delivered: false }));
        rx
    }

    /// A PDU with one SDU.
    fn pdu(sn: u64, poll: bool) -> Pdu {
        let (begin, end) = (100 * sn, 100 * sn + 100);
        Pdu { sn, whole_from: begin, begin, end, last: true, poll, size: Bytes(102) }
    }

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn status(rx: &mut Rx, now: Time) -> Option<Status> {
        let mut status = Status::default();
        rx.send_status(now, Bytes(100), &mut status).map(|_| status)
    }

    #[test]
    fn pdus_are_reordered_and_delivered_once() {
        let mut rx = receiver(standard());
        let mut seen = Vec::new();
        for sn in [0, 2, 2, 0, 3, 1, 1, 4] {
            rx.receive(ms(0), pdu(sn, false), &mut |sdu| seen.push(sdu.packet.0));
        }
        assert_eq!((seen, rx.inside().count(), rx.deadline()), (vec![0, 1, 2, 3, 4], 5, None));
    }

    #[test]
    fn a_poll_is_answered_after_t_reordering_of_the_gaps_below_it() {
        let mut rx = receiver(standard());
        rx.receive(ms(0), pdu(0, true), &mut |_| {});
        assert_eq!(status(&mut rx, ms(0)), Some(Status { ack: 1, nacks: vec![] }));
        rx.receive(ms(10), pdu(3, true), &mut |_| {});
        assert_eq!((status(&mut rx, ms(10)), rx.deadline()), (None, Some(ms(20))));
        rx.expire(ms(20));
        let nacks = [1, 2].map(|sn| Nack { sn, part: None }).to_vec();
        assert_eq!(status(&mut rx, ms(20)), Some(Status { ack: 4, nacks }));
    }

    #[test]
    fn ns3_answers_a_poll_at_once_without_gaps() {
        let mut rx = receiver(Params { quirks: Quirks { conduct: Conduct::Ns3 }, ..Params::default() });
        rx.receive(ms(0), pdu(0, false), &mut |_| {});
        rx.receive(ms(0), pdu(3, true), &mut |_| {});
        assert_eq!(rx.reported(ms(0)), Bytes(4));
        assert_eq!(status(&mut rx, ms(0)), Some(Status { ack: 1, nacks: vec![] }));
    }

    #[test]
    fn status_is_prohibited_for_a_while() {
        let mut rx = receiver(standard());
        rx.receive(ms(0), pdu(0, true), &mut |_| {});
        assert!(rx.take_pending_report() && status(&mut rx, ms(0)).is_some());
        rx.receive(ms(4), pdu(1, true), &mut |_| {});
        assert_eq!(
            (rx.take_pending_report(), rx.reported(ms(4)), rx.deadline()),
            (false, Bytes(0), Some(ms(10)))
        );
        rx.expire(ms(10));
        assert_eq!((rx.take_pending_report(), rx.reported(ms(10)), rx.deadline()), (true, Bytes(2), None));
    }

    #[test]
    fn a_discarded_pdu_with_a_poll_is_answered() {
        let mut rx = receiver(standard());
        rx.receive(ms(0), pdu(0, false), &mut |_| {});
        rx.receive(ms(1), pdu(0, true), &mut |_| unreachable!("it was delivered before"));
        assert!(status(&mut rx, ms(1)).is_some());
        rx.receive(ms(20), pdu(1 + 512, true), &mut |_| unreachable!("it is outside of the window"));
        assert_eq!(status(&mut rx, ms(20)), Some(Status { ack: 1, nacks: vec![] }));
    }

    #[test]
    fn a_status_pdu_ends_before_what_does_not_fit() {
        let mut rx = receiver(standard());
        rx.receive(ms(0), pdu(4, true), &mut |_| {});
        rx.expire(ms(10));
        let mut status = Status::default();
        assert_eq!(rx.send_status(ms(10), Bytes(5), &mut status), Some(Bytes(5)));
        assert_eq!((status.ack, status.nacks.len()), (2, 2));
    }
}
