//! Passive measurement of a real flow from the headers at both ends of the network.

use crate::packet::{Content, Segment};
use airwnd_kernel::Direction;
use airwnd_units::{Bytes, Span, Time};
use std::collections::VecDeque;

/// Maximum number of segments or pings awaiting their acknowledgment; RTTs of further ones are not measured.
const MAX_PENDING: usize = 8192;

/// Observations from one packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Total payload that has reached the receiver, and its direction.
    pub payload: Option<(Direction, Bytes)>,
    /// RTT of the end that sends in this direction.
    pub rtt: Option<(Direction, Span)>,
    /// Set if the segment contains bytes sent before.
    pub is_retransmission: bool,
}

/// State of the passive measurement of a flow.
#[derive(Debug, Default)]
pub struct Watch {
    /// By the direction in which an end sends.
    halves: [Half; 2],
    is_reset: bool,
}

/// A segment or ping that awaits its acknowledgment.
#[derive(Clone, Copy, Debug)]
struct Pending {
    /// End of the segment, or number of the ping.
    number: u64,
    /// Time of its first transmission.
    sent: Time,
    is_retransmitted: bool,
}

/// Data sent by one end.
#[derive(Debug, Default)]
struct Half {
    /// First sequence number of the data, once known.
    first: Option<u32>,
    /// Highest sequence number sent, counted from `first`.
    end: u64,
    /// Highest sequence number acknowledged, counted from `first`.
    acknowledged: u64,
    /// Segments or pings that await their acknowledgment, ascending.
    pending: VecDeque<Pending>,
    /// Payload delivered, where nothing acknowledges it.
    delivered: Bytes,
    /// Position of the FIN, counted from `first`.
    fin: Option<u64>,
}

impl Half {
    /// Extends a sequence number to a count from `first`: the value nearest to `near`.
    fn count(&self, number: u32, near: u64) -> Option<u64> {
        let offset = number.wrapping_sub(self.first?);
        let difference = offset.wrapping_sub(near as u32) as i32;
        near.checked_add_signed(difference.into())
    }

    fn push(&mut self, number: u64, now: Time) {
        if self.pending.len() < MAX_PENDING {
            self.pending.push_back(Pending { number, sent: now, is_retransmitted: false });
        }
    }

    /// Marks the segments that end in a range as sent again.
    fn mark_retransmitted(&mut self, start: u64, end: u64) {
        let first = self.pending.partition_point(|pending| pending.number <= start);
        for pending in self.pending.range_mut(first..).take_while(|pending| pending.number <= end) {
            pending.is_retransmitted = true;
        }
    }

    /// Removes the segments before an acknowledgment number. Returns the transmission time of the first, as in Linux
    /// (tcp_clean_rtx_queue), hence RTTs include the delay of ACKs; `None` if one of the segments was sent again
    /// (RFC 6298 §3, Karn's algorithm).
    fn acknowledge(&mut self, count: u64) -> Option<Time> {
        let covered = self.pending.partition_point(|pending| pending.number <= count);
        let first = self.pending.front().filter(|_| covered > 0).map(|pending| pending.sent);
        let is_ambiguous = self.pending.drain(..covered).any(|pending| pending.is_retransmitted);
        first.filter(|_| !is_ambiguous)
    }

    fn is_finished(&self) -> bool {
        self.fin.is_some_and(|fin| self.acknowledged > fin)
    }
}

impl Watch {
    /// A packet enters the network at its sender.
    pub fn sent(&mut self, now: Time, direction: Direction, content: &Content) -> Seen {
        match content {
            Content::Segment(segment) => {
                let is_retransmission = self.send(now, direction, segment);
                // The receiver of the data acknowledges what has reached it.
                let data = direction.reverse();
                let half = &mut self.halves[data as usize];
                let arrived = segment.ack.and_then(|ack| half.count(ack, half.acknowledged));
                let payload = arrived.filter(|arrived| *arrived <= half.end).map(|arrived| {
                    let fin = u64::from(half.fin.is_some_and(|fin| arrived > fin));
                    (data, Bytes(arrived - fin))
                });
                Seen { payload, rtt: None, is_retransmission }
            }
            Content::Request(number, _) => {
                self.halves[direction as usize].push((*number).into(), now);
                Seen::default()
            }
            Content::Reply(..) | Content::Datagram(_) | Content::Other(_) => Seen::default(),
        }
    }

    /// Returns whether the segment contains bytes sent before.
    fn send(&mut self, now: Time, direction: Direction, segment: &Segment) -> bool {
        self.is_reset |= segment.rst;
        let half = &mut self.halves[direction as usize];
        let data = segment.seq.wrapping_add(segment.syn.into());
        half.first.get_or_insert(data);
        let length = u64::from(segment.len) + u64::from(segment.fin);
        let Some(start) = half.count(data, half.end) else { return false };
        if segment.fin {
            half.fin = Some(start + u64::from(segment.len));
        }
        if length == 0 {
            return false;
        }
        // A keep-alive repeats one byte.
        let is_probe = segment.len <= 1 && !segment.fin && start + 1 == half.end;
        if start < half.end && !is_probe {
            half.mark_retransmitted(start, start + length);
            half.end = half.end.max(start + length);
            return true;
        }
        half.end = half.end.max(start + length);
        half.push(half.end, now);
        false
    }

    /// A packet leaves the network at its receiver.
    pub fn received(&mut self, now: Time, direction: Direction, content: &Content) -> Seen {
        let data = direction.reverse();
        match content {
            Content::Segment(Segment { ack: Some(ack), .. }) => {
                let half = &mut self.halves[data as usize];
                let Some(count) = half.count(*ack, half.acknowledged) else { return Seen::default() };
                if count > half.end {
                    return Seen::default();
                }
                half.acknowledged = half.acknowledged.max(count);
                let rtt = half.acknowledge(count).map(|sent| (data, now.since(sent)));
                Seen { rtt, ..Seen::default() }
            }
            Content::Segment(_) => Seen::default(),
            Content::Reply(number, size) => {
                let payload = self.deliver(direction, *size);
                let half = &mut self.halves[data as usize];
                let place = half.pending.iter().position(|ping| ping.number == u64::from(*number));
                let rtt = place.map(|place| {
                    let ping = half.pending.drain(..=place).next_back().expect("found above");
                    (data, now.since(ping.sent))
                });
                Seen { payload, rtt, is_retransmission: false }
            }
            Content::Request(_, size) | Content::Datagram(size) | Content::Other(size) => {
                Seen { payload: self.deliver(direction, *size), ..Seen::default() }
            }
        }
    }

    fn deliver(&mut self, direction: Direction, size: Bytes) -> Option<(Direction, Bytes)> {
        let delivered = &mut self.halves[direction as usize].delivered;
        *delivered += size;
        Some((direction, *delivered))
    }

    /// Returns whether a TCP connection has ended: reset, or closed by both ends.
    pub fn has_ended(&self) -> bool {
        self.is_reset || self.halves.iter().all(Half::is_finished)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(seq: u32, len: u32, ack: Option<u32>) -> Segment {
        Segment { seq, ack, len, syn: false, fin: false, rst: false }
    }

    const DOWN: Direction = Direction::Down;
    const UP: Direction = Direction::Up;

    /// A connection whose sequence numbers wrap around within the first bytes.
    fn open(watch: &mut Watch, isn: u32) {
        let syn = Segment { syn: true, ..segment(500, 0, None) };
        watch.sent(Time(0), UP, &Content::Segment(syn));
        let answer = Segment { syn: true, ..segment(isn, 0, Some(501)) };
        watch.sent(Time(1), DOWN, &Content::Segment(answer));
    }

    #[test]
    fn acknowledged_bytes_are_payload_and_give_rtts_across_a_wrap() {
        let mut watch = Watch::default();
        let isn = u32::MAX - 999;
        open(&mut watch, isn);
        let mut seq = isn.wrapping_add(1);
        for number in 0..3 {
            let seen = watch.sent(Time(100 + number), DOWN, &Content::Segment(segment(seq, 1000, Some(501))));
            assert!(!seen.is_retransmission);
            seq = seq.wrapping_add(1000);
        }
        let ack = Content::Segment(segment(501, 0, Some(isn.wrapping_add(2001))));
        assert_eq!(watch.sent(Time(200), UP, &ack).payload, Some((DOWN, Bytes(2000))));
        assert_eq!(watch.received(Time(301), UP, &ack).rtt, Some((DOWN, Span(201))));
    }

    #[test]
    fn a_retransmission_is_counted_and_gives_no_rtt() {
        let mut watch = Watch::default();
        open(&mut watch, 0);
        watch.sent(Time(100), DOWN, &Content::Segment(segment(1, 1000, Some(501))));
        let again = watch.sent(Time(900), DOWN, &Content::Segment(segment(1, 1000, Some(501))));
        assert!(again.is_retransmission);
        let ack = Content::Segment(segment(501, 0, Some(1001)));
        assert_eq!(watch.received(Time(950), UP, &ack).rtt, None);
    }

    #[test]
    fn a_retransmission_leaves_the_rtts_of_other_segments() {
        let mut watch = Watch::default();
        open(&mut watch, 0);
        for number in 0..3 {
            watch.sent(
                Time(100 + 10 * u64::from(number)),
                DOWN,
                &Content::Segment(segment(1 + 1000 * number, 1000, None)),
            );
        }
        watch.sent(Time(500), DOWN, &Content::Segment(segment(1, 1000, None)));
        watch.sent(Time(510), DOWN, &Content::Segment(segment(3001, 1000, None)));
        let ack = |number| Content::Segment(segment(501, 0, Some(number)));
        // The second segment had arrived before: its time would be that of the retransmission.
        assert_eq!(watch.received(Time(600), UP, &ack(2001)).rtt, None);
        assert_eq!(watch.received(Time(610), UP, &ack(3001)).rtt, Some((DOWN, Span(490))));
        assert_eq!(watch.received(Time(620), UP, &ack(4001)).rtt, Some((DOWN, Span(110))));
    }

    #[test]
    fn a_connection_ends_when_both_fins_are_acknowledged_or_by_a_reset() {
        let mut watch = Watch::default();
        open(&mut watch, 0);
        let fin = |seq, ack| Content::Segment(Segment { fin: true, ..segment(seq, 0, Some(ack)) });
        watch.sent(Time(10), DOWN, &fin(1, 501));
        let answer = fin(501, 2);
        watch.sent(Time(20), UP, &answer);
        watch.received(Time(30), UP, &answer);
        assert!(!watch.has_ended());
        watch.received(Time(40), DOWN, &Content::Segment(segment(2, 0, Some(502))));
        assert!(watch.has_ended());
        let mut reset = Watch::default();
        open(&mut reset, 0);
        reset.sent(Time(10), UP, &Content::Segment(Segment { rst: true, ..segment(501, 0, None) }));
        assert!(reset.has_ended());
    }

    #[test]
    fn a_ping_gives_an_rtt_and_lost_ones_do_not_disturb_it() {
        let mut watch = Watch::default();
        for number in 0..3 {
            watch.sent(Time(number.into()), UP, &Content::Request(number, Bytes(56)));
        }
        let seen = watch.received(Time(50), DOWN, &Content::Reply(1, Bytes(56)));
        assert_eq!(seen.rtt, Some((UP, Span(49))));
        assert_eq!(watch.received(Time(60), DOWN, &Content::Reply(2, Bytes(56))).rtt, Some((UP, Span(58))));
    }
}
