//! One direction of a bearer: RLC at both ends.

use super::settings::{Rlc, RlcMode};
use super::{
    BearerEvents, BufferStatus, DropCause, Protocol, Returned, Sdu, am, longest_headers, nr_um, pdcp_header,
    um,
};
use airwnd_kernel::prefetch;
use airwnd_links::aqm::{Backlog, QueueDisc};
use airwnd_phy::access::Timing;
use airwnd_units::{Bytes, Span, Time};
use std::collections::VecDeque;

/// Content of a transport block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// A PDU, or in NR PDUs that follow one another.
    Um(um::Pdu),
    /// PDUs stored with the bearer, under the number of the block's HARQ process.
    Am(u8),
}

/// Transmitter and receiver of one direction.
#[allow(
    clippy::large_enum_variant,
    reason = "unacknowledged mode is the usual one, and a box would cost every TTI"
)]
pub enum OneWay {
    /// Unacknowledged mode of LTE.
    Um(um::Tx, um::Rx),
    /// Unacknowledged mode of NR.
    NrUm(nr_um::Tx, nr_um::Rx),
    /// Acknowledged mode.
    Am(Box<Acknowledged>),
}

/// Transmitter and receiver in acknowledged mode, and the PDUs between them.
pub struct Acknowledged {
    rules: &'static dyn am::Rules,
    pub(crate) protocol: Protocol,
    pub(crate) tx: am::Tx,
    rx: am::Rx,
    /// PDUs on air, by HARQ process.
    pub(crate) blocks: Vec<am::Block>,
    /// Time from the start of a slot until a UE has decoded its grants.
    control_region: Span,
}

impl OneWay {
    /// Both entities in their initial state, for blocks of this many HARQ processes.
    pub fn new(
        rlc: &Rlc,
        protocol: Protocol,
        timing: &Timing,
        processes: u8,
        queue: Box<dyn QueueDisc>,
    ) -> OneWay {
        let timer = rlc.discard_timer.span();
        match (rlc.mode, protocol) {
            (RlcMode::Um, Protocol::Lte) => {
                let (tx, rx) = (um::Tx::new(queue).discarding(timer), um::Rx::new(rlc.reordering));
                OneWay::Um(tx.numbering(rlc.um.lte()), rx.numbering(rlc.um.lte()))
            }
            (RlcMode::Um, Protocol::Nr) => {
                let (tx, rx) = (nr_um::Tx::new(queue, timer), nr_um::Rx::new(rlc.reordering));
                OneWay::NrUm(tx.numbering(rlc.um.nr()), rx.numbering(rlc.um.nr()))
            }
            (RlcMode::Am, _) => OneWay::Am(Box::new(Acknowledged {
                rules: rlc.am.rules(),
                protocol,
                tx: am::Tx::new(rlc.am.clone(), protocol, queue).discarding(timer),
                rx: am::Rx::new(rlc.am.clone(), protocol),
                blocks: (0..processes).map(|_| am::Block::default()).collect(),
                control_region: timing.control_region,
            })),
        }
    }

    /// Generation of both entities.
    pub fn protocol(&self) -> Protocol {
        match self {
            OneWay::Um(..) => Protocol::Lte,
            OneWay::NrUm(..) => Protocol::Nr,
            OneWay::Am(way) => way.protocol,
        }
    }

    /// Headers of a PDU, at most.
    pub fn longest_headers(&self) -> Bytes {
        match self {
            OneWay::Am(way) => way.tx.format().longest_headers(),
            _ => longest_headers(self.protocol()),
        }
    }

    /// Size of the header that PDCP adds to a packet.
    pub fn pdcp_header(&self) -> Bytes {
        pdcp_header(self.protocol())
    }

    /// Whether lost PDUs are retransmitted.
    pub fn is_acknowledged(&self) -> bool {
        matches!(self, OneWay::Am(_))
    }

    /// Enqueues a packet from the upper layer; its size includes the IP header.
    pub fn enqueue(&mut self, packet: Sdu, events: &mut dyn BearerEvents) {
        match self {
            OneWay::Um(tx, _) => tx.enqueue(packet, events),
            OneWay::NrUm(tx, _) => tx.enqueue(packet, events),
            OneWay::Am(way) => way.tx.enqueue(packet, events),
        }
    }

    /// Fills a block of `size` bytes for a HARQ process. `other` is the other direction, to which STATUS PDUs refer.
    /// `reported` is the buffer status reported to the UE's MAC; `None`: the eNB is the sender. Returns `None` if
    /// nothing is sent.
    pub fn transmit(
        &mut self,
        now: Time,
        size: Bytes,
        process: u8,
        other: &mut OneWay,
        reported: Option<BufferStatus>,
        events: &mut dyn BearerEvents,
    ) -> Option<Content> {
        match (self, other) {
            (OneWay::Um(tx, rx), _) => {
                tx.transmit(now, size, &mut |sdu| rx.expect(sdu), events).map(Content::Um)
            }
            (OneWay::NrUm(tx, rx), _) => {
                let pdu = tx.transmit(now, size, &mut |sdu| rx.expect(sdu), events)?;
                rx.sent_to(pdu.end);
                Some(Content::Um(pdu))
            }
            (OneWay::Am(way), OneWay::Am(other)) => {
                let filled = way.fill(now, size, process, &mut other.rx, reported, events);
                filled.then_some(Content::Am(process))
            }
            _ => unreachable!("both directions of a bearer have one mode"),
        }
    }

    /// Size of what has just been transmitted, at most; `sdus` is the number of SDUs that have left the queue.
    pub fn transmitted(&self, content: Content, sdus: u64) -> Bytes {
        match (self, content) {
            // Two bytes at most for the length indicator of an SDU.
            (OneWay::Um(tx, _), Content::Um(pdu)) => {
                tx.header() + Bytes(2) * sdus + Bytes(pdu.end - pdu.begin)
            }
            (OneWay::NrUm(tx, _), Content::Um(_)) => tx.transmitted(),
            (OneWay::Am(way), Content::Am(process)) => way.blocks[usize::from(process)].size(way.tx.format()),
            _ => unreachable!("a bearer sends PDUs of its mode"),
        }
    }

    /// Requests its memory, as far as it is apart.
    #[inline]
    pub fn prefetch(&self) {
        if let OneWay::Am(way) = self {
            prefetch(&**way);
        }
    }

    /// Handles a decoded block. Passes SDUs that are complete and in order to `deliver`.
    pub fn receive(
        &mut self,
        now: Time,
        content: Content,
        other: &mut OneWay,
        deliver: &mut impl FnMut(Sdu),
        events: &mut dyn BearerEvents,
    ) {
        match (self, other, content) {
            (OneWay::Um(_, rx), _, Content::Um(pdu)) => rx.receive(now, pdu, deliver, events),
            (OneWay::NrUm(_, rx), _, Content::Um(pdu)) => rx.receive(now, pdu, deliver),
            (OneWay::Am(way), OneWay::Am(other), Content::Am(process)) => {
                let Acknowledged { rx, blocks, .. } = &mut **way;
                let block = &mut blocks[process as usize];
                for pdu in block.data.drain(..) {
                    rx.receive(now, pdu, deliver);
                }
                if std::mem::take(&mut block.has_status) {
                    other.tx.on_status(&block.status);
                }
            }
            _ => unreachable!("both directions of a bearer have one mode"),
        }
    }

    /// Next expiry of a timer at either end.
    pub fn deadline(&self) -> Option<Time> {
        match self {
            OneWay::Um(_, rx) => rx.deadline(),
            OneWay::NrUm(_, rx) => rx.deadline(),
            OneWay::Am(way) => way.tx.deadline().into_iter().chain(way.rx.deadline()).min(),
        }
    }

    /// Handles expired timers.
    pub fn expire(&mut self, now: Time, deliver: &mut impl FnMut(Sdu), events: &mut dyn BearerEvents) {
        match self {
            OneWay::Um(_, rx) => rx.expire(now, deliver, events),
            OneWay::NrUm(_, rx) => rx.expire(now, deliver, events),
            OneWay::Am(way) => {
                way.tx.expire(now);
                way.rx.expire(now);
            }
        }
    }

    /// Buffer status reported to the MAC of the sender; `other` is the other direction.
    #[inline]
    pub fn reported(&self, now: Time, other: &OneWay) -> BufferStatus {
        match self {
            OneWay::Um(tx, _) => tx.reported(),
            _ => self.reported_apart(now, other),
        }
    }

    // Apart: inlined where packets arrive, it would make unacknowledged mode slower.
    #[inline(never)]
    fn reported_apart(&self, now: Time, other: &OneWay) -> BufferStatus {
        match (self, other) {
            (OneWay::Am(way), OneWay::Am(other)) => {
                let (again, new) = way.tx.reported();
                BufferStatus { status: other.rx.reported(now), again, new }
            }
            (OneWay::Um(tx, _), _) => tx.reported(),
            (OneWay::NrUm(tx, _), _) => tx.reported(),
            _ => unreachable!("both directions of a bearer have one mode"),
        }
    }

    /// Whether a report to the MAC of the sender is pending; clears the flag.
    pub fn take_pending_report(&mut self, other: &mut OneWay) -> bool {
        match (self, other) {
            (OneWay::Am(way), OneWay::Am(other)) => {
                way.tx.take_pending_report() | other.rx.take_pending_report()
            }
            _ => false,
        }
    }

    /// Whether a PDU has reached the maximum number of retransmissions.
    pub fn has_failed(&self) -> bool {
        matches!(self, OneWay::Am(way) if way.tx.has_failed())
    }

    /// Bytes and packets that wait for their first transmission, including the rest of a partly sent SDU.
    pub fn backlog(&self) -> Backlog {
        match self {
            OneWay::Um(tx, _) => tx.backlog(),
            OneWay::NrUm(tx, _) => tx.backlog(),
            OneWay::Am(way) => way.tx.backlog(),
        }
    }

    /// Arrival of the oldest SDU with bytes to send.
    pub fn oldest(&self) -> Option<Time> {
        match self {
            OneWay::Um(tx, _) => tx.oldest(),
            OneWay::NrUm(tx, _) => tx.source().oldest(),
            OneWay::Am(way) => way.tx.oldest(),
        }
    }

    /// SDUs that are neither delivered nor dropped.
    pub fn inside(&self) -> Box<dyn Iterator<Item = &Sdu> + '_> {
        match self {
            OneWay::Um(tx, rx) => Box::new(tx.inside().chain(rx.inside())),
            OneWay::NrUm(tx, rx) => Box::new(tx.source().inside().chain(rx.inside())),
            OneWay::Am(way) => Box::new(way.tx.inside().chain(way.rx.inside())),
        }
    }

    /// Re-establishes both entities (TS 36.322 §5.4). Returns, in order, the SDUs to send again: in acknowledged mode
    /// all that are not acknowledged, in unacknowledged mode those of which no part has been sent. The others are
    /// dropped with this cause.
    //= TS 36.323 §5.2
    pub fn release(
        &mut self,
        now: Time,
        cause: DropCause,
        into: &mut VecDeque<Returned>,
        events: &mut dyn BearerEvents,
    ) {
        match self {
            OneWay::Um(tx, rx) => {
                rx.release(cause, events);
                tx.release(now, into, events);
            }
            OneWay::NrUm(tx, rx) => {
                rx.release(cause, events);
                tx.release(now, into, events);
            }
            OneWay::Am(way) => {
                way.tx.release(now, way.rx.delivered_to(), into, events);
                way.rx.release();
                way.blocks.iter_mut().for_each(am::Block::clear);
            }
        }
    }

    /// Enqueues returned SDUs ahead of all waiting ones.
    pub fn resume(&mut self, returned: impl IntoIterator<Item = Returned>) {
        match self {
            OneWay::Um(tx, _) => tx.resume(returned),
            OneWay::NrUm(tx, _) => tx.resume(returned),
            OneWay::Am(way) => way.tx.resume(returned),
        }
    }
}

impl Acknowledged {
    /// Number of PDUs within the transmitting window.
    #[cfg(test)]
    pub fn in_window(&self) -> u64 {
        self.tx.in_window()
    }

    /// Fills a block: STATUS PDU first, then retransmissions, then new data. Returns whether the block has any content.
    //= TS 36.322 §5.1.3.1.1
    fn fill(
        &mut self,
        now: Time,
        size: Bytes,
        process: u8,
        answered: &mut am::Rx,
        reported: Option<BufferStatus>,
        events: &mut dyn BearerEvents,
    ) -> bool {
        let Acknowledged { rules, tx, rx, blocks, control_region, .. } = self;
        let block = &mut blocks[process as usize];
        block.clear();
        let sent_at = if reported.is_some() { now + *control_region } else { now };
        rules.fill(&mut am::Filling { tx, rx, answered, block, events, now, sent_at }, size, reported);
        let block = &blocks[process as usize];
        block.has_status || !block.data.is_empty()
    }
}
