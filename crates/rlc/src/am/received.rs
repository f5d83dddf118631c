//! Reception buffer: PDUs that have been received, whole or in part.

use super::{Format, Pdu};
use crate::Protocol;
use std::collections::VecDeque;

/// Reception state of one PDU.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    /// Start in the stream; known once any part has been received.
    begin: Option<u64>,
    /// End in the stream; known once the last part has been received.
    end: Option<u64>,
    whole: bool,
}

/// Reception states of the PDUs from VR(R) on.
pub(super) struct Received {
    format: Format,
    /// VR(R): the first PDU that is not complete.
    first: u64,
    slots: VecDeque<Slot>,
    /// Received portions of incomplete PDUs, in order, disjoint.
    parts: Vec<Portion>,
    /// End of the contiguous part of the stream.
    whole_to: u64,
}

impl Received {
    pub fn new(format: Format) -> Received {
        let (slots, parts) = (VecDeque::with_capacity(16), Vec::with_capacity(16));
        Received { format, first: 0, slots, parts, whole_to: 0 }
    }

    /// VR(R).
    pub fn first(&self) -> u64 {
        self.first
    }

    /// VR(H): one past the highest PDU of which any part has been received.
    pub fn highest(&self) -> u64 {
        self.first + self.slots.len() as u64
    }

    /// End of the contiguous part of the stream.
    pub fn whole_to(&self) -> u64 {
        self.whole_to
    }

    /// Whether a PDU falls within the receiving window.
    //= TS 36.322 §5.1.3.2.1
    pub fn is_within(&self, sn: u64) -> bool {
        (self.first..self.first + self.format.window()).contains(&sn)
    }

    /// Whether a PDU has been received completely.
    pub fn is_whole(&self, sn: u64) -> bool {
        sn < self.first || self.slots.get((sn - self.first) as usize).is_some_and(|slot| slot.whole)
    }

    /// Whether anything is missing before the end of what has been received, from this incomplete PDU on. In NR the rest of
    /// an SDU that is being sent is not missing.
    //= TS 36.322 §5.1.3.2.3
    //= TS 38.322 §5.2.3.2.3
    pub fn misses_from(&self, sn: u64) -> bool {
        self.misses_between(sn, self.highest())
    }

    /// Whether a PDU or SDU from `sn` on is missing before `end`.
    pub fn misses_between(&self, sn: u64, end: u64) -> bool {
        match self.format.protocol {
            Protocol::Lte => end > sn,
            Protocol::Nr => end > sn + 1 || end == sn + 1 && self.gaps(sn).any(|(_, to)| to.is_some()),
        }
    }

    /// The first PDU from this one on that is not complete.
    pub fn first_missing_from(&self, sn: u64) -> u64 {
        (sn.max(self.first)..).find(|sn| !self.is_whole(*sn)).expect("the window ends")
    }

    /// Stores a PDU within the window and advances over complete PDUs in order.
    //= TS 36.322 §5.1.3.2.2
    pub fn place(&mut self, pdu: Pdu) {
        let index = (pdu.sn - self.first) as usize;
        if self.slots.len() <= index {
            self.slots.resize(index + 1, Slot::default());
        }
        let slot = &mut self.slots[index];
        if slot.whole {
            return;
        }
        slot.begin = Some(pdu.whole_from);
        if pdu.last {
            slot.end = Some(pdu.end);
        }
        slot.whole = pdu.last && pdu.begin == pdu.whole_from;
        if !slot.whole {
            let merged = merge(&mut self.parts, Portion { sn: pdu.sn, begin: pdu.begin, end: pdu.end });
            slot.whole = slot.begin == Some(merged.begin) && slot.end == Some(merged.end);
        }
        if slot.whole {
            self.parts.retain(|part| part.sn != pdu.sn);
        }
        self.advance();
    }

    /// Moves VR(R) to the first incomplete PDU.
    fn advance(&mut self) {
        while let Some(slot) = self.slots.front().filter(|slot| slot.whole) {
            self.whole_to = slot.end.expect("a complete PDU has an end");
            self.first += 1;
            self.slots.pop_front();
        }
        if let Some(part) = self.parts.first().filter(|part| part.sn == self.first)
            && part.begin == self.whole_to
        {
            self.whole_to = part.end;
        }
    }

    /// Gaps of an incomplete PDU, in bytes from its start; empty for a PDU of which no part has been received.
    pub fn gaps(&self, sn: u64) -> impl Iterator<Item = (u64, Option<u64>)> + '_ {
        let slot = self.slots.get((sn - self.first) as usize).copied().unwrap_or_default();
        let from = self.parts.partition_point(|part| part.sn < sn);
        let parts = self.parts[from..].iter().take_while(move |part| part.sn == sn);
        let ends = parts.clone().map(|part| Some(part.begin)).chain([slot.end]);
        let begins = slot.begin.into_iter().chain(parts.map(|part| part.end));
        begins.zip(ends).filter(|(begin, end)| Some(*begin) != *end).map(move |(begin, end)| {
            let base = slot.begin.expect("its first part has come");
            (begin - base, end.map(|end| end - base))
        })
    }
}

/// A portion of a PDU: an interval of the bearer's stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Portion {
    pub sn: u64,
    pub begin: u64,
    pub end: u64,
}

/// Adds a portion to a sorted list of disjoint ones, and returns the merged portion.
pub(super) fn merge(parts: &mut Vec<Portion>, Portion { sn, begin, end }: Portion) -> Portion {
    let from = parts.partition_point(|part| (part.sn, part.end) < (sn, begin));
    let touching = parts[from..].iter().take_while(|part| part.sn == sn && part.begin <= end).count();
    let met = &parts[from..from + touching];
    let all = Portion {
        sn,
        begin: met.first().map_or(begin, |part| part.begin.min(begin)),
        end: met.last().map_or(end, |part| part.end.max(end)),
    };
    parts.splice(from..from + touching, [all]);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::am::Params;
    use airwnd_units::Bytes;

    fn pdu(sn: u64, whole_from: u64, begin: u64, end: u64, last: bool) -> Pdu {
        Pdu { sn, whole_from, begin, end, last, poll: false, size: Bytes(2 + end - begin) }
    }

    #[test]
    fn parts_make_a_whole() {
        let mut received = Received::new(Params::default().format(Protocol::Lte));
        received.place(pdu(1, 100, 100, 200, true));
        received.place(pdu(0, 0, 60, 80, false));
        assert_eq!(received.gaps(0).collect::<Vec<_>>(), [(0, Some(60)), (80, None)]);
        received.place(pdu(0, 0, 0, 50, false));
        assert_eq!((received.whole_to(), received.first()), (50, 0));
        received.place(pdu(0, 0, 90, 100, true));
        assert_eq!(received.gaps(0).collect::<Vec<_>>(), [(50, Some(60)), (80, Some(90))]);
        received.place(pdu(0, 0, 40, 95, false));
        assert_eq!((received.whole_to(), received.first(), received.highest()), (200, 2, 2));
        assert_eq!(received.gaps(2).count(), 0);
    }

    #[test]
    fn intervals_merge_when_they_touch_within_one_pdu() {
        let portion = |(sn, begin, end)| Portion { sn, begin, end };
        let mut parts = [(0, 10, 20), (0, 30, 40), (1, 40, 50)].map(portion).to_vec();
        assert_eq!(merge(&mut parts, portion((0, 20, 30))), portion((0, 10, 40)));
        assert_eq!(parts, [(0, 10, 40), (1, 40, 50)].map(portion));
        merge(&mut parts, portion((1, 60, 70)));
        merge(&mut parts, portion((0, 5, 6)));
        assert_eq!(parts, [(0, 5, 6), (0, 10, 40), (1, 40, 50), (1, 60, 70)].map(portion));
    }
}
