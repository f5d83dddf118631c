//! Exchange of frames on the shared medium.

use super::backoff::Backoff;
use super::phy::{FRAMING, Timing};
use super::{Errors, Params};
use crate::link::{self, Queue, Refused};
use crate::loss::{Loss, Passing};
use airwnd_kernel::{Direction, Stream};
use airwnd_units::{Bytes, Span, Time};
use std::collections::VecDeque;

/// A packet that leaves the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed<T> {
    /// Station of the packet: its destination or source.
    pub station: u32,
    /// Direction of the packet.
    pub direction: Direction,
    /// The packet.
    pub item: T,
    /// Outcome on the medium.
    pub exit: Exit,
}

/// Outcome of a packet on the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Received.
    Arrived,
    /// Lost by residual errors after link-layer recovery.
    Lost,
    /// Dropped after the maximum number of attempts.
    GivenUp,
}

/// Counters of a medium in one direction. Sizes are those of frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Packets carried and queued.
    pub link: link::Figures,
    /// Packets dropped after the maximum number of attempts.
    pub given_up: u64,
    /// Attempts to send a packet, or the RTS before it.
    pub attempts: u64,
    /// Attempts that collided with another sender's.
    pub collisions: u64,
    /// Attempts that failed by a channel error.
    pub errors: u64,
    /// Attempts after a failed one with the same packet.
    pub retries: u64,
    /// Airtime, with control frames and the spaces between; overlapping frames of a collision count once.
    pub airtime: Span,
}

/// One channel with an access point and stations, all within range of each other.
///
/// Each sender has a FIFO queue; the access point has one for all stations. After each call the owner schedules an
/// event at [`Medium::next_event`] and then calls [`Medium::advance`]. An event made obsolete by a later call has no
/// effect.
//= exception wifi-no-hidden-stations
pub struct Medium<T> {
    params: Params,
    timing: Timing,
    /// Limits of each sender's queue, without the frame that it is about to send.
    queue: Queue,
    /// The access point, then the stations.
    senders: Vec<Sender<T>>,
    /// Loss models of each station, down and up.
    channels: Vec<[Channel; 2]>,
    phase: Phase,
    /// Start of the frames on the air.
    began: Time,
    /// Current senders.
    on_air: Vec<u32>,
    figures: [Figures; 2],
    /// Backlog over all senders of a direction.
    waiting: [Waiting; 2],
    draws: Stream,
}

#[derive(Clone, Copy, Default)]
struct Waiting {
    packets: u64,
    bytes: Bytes,
}

struct Sender<T> {
    queue: VecDeque<Frame<T>>,
    /// Total size of the frames behind the first.
    waiting_bytes: Bytes,
    backoff: Backoff,
    /// Failed attempts with the packet at the head: frames without RTS or RTS frames (short), and frames after an RTS
    /// (long).
    short: u64,
    long: u64,
}

struct Frame<T> {
    station: u32,
    direction: Direction,
    size: Bytes,
    entered: Time,
    item: T,
}

struct Channel {
    loss: Box<dyn Loss>,
    /// Number of frames evaluated by the loss model.
    evaluated: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The medium is idle.
    Idle,
    /// Frames are on the air until this time: one, or several that collide.
    Frames(Time),
    /// An ACK and the space before it last until this time.
    Ack(Time),
}

impl<T> Medium<T> {
    /// Creates an idle medium with an access point; countdowns are drawn from `draws`.
    pub fn new(params: Params, queue: Queue, draws: Stream) -> Medium<T> {
        let mut medium = Medium {
            timing: Timing::new(&params),
            queue,
            senders: Vec::new(),
            channels: Vec::new(),
            phase: Phase::Idle,
            began: Time::ZERO,
            on_air: Vec::new(),
            figures: Default::default(),
            waiting: Default::default(),
            draws,
            params,
        };
        medium.add_sender();
        medium
    }

    /// Adds a station with these loss models; returns its number.
    pub fn join(&mut self, down: Box<dyn Loss>, up: Box<dyn Loss>) -> u32 {
        self.add_sender();
        self.channels.push([down, up].map(|loss| Channel { loss, evaluated: 0 }));
        self.channels.len() as u32 - 1
    }

    fn add_sender(&mut self) {
        let draws = self.draws.child(self.senders.len() as u64);
        self.senders.push(Sender {
            queue: VecDeque::with_capacity(16),
            waiting_bytes: Bytes::ZERO,
            backoff: Backoff::new(draws, self.params.cw_min(), self.params.cw_max),
            short: 0,
            long: 0,
        });
        // All senders may collide.
        self.on_air.reserve(self.senders.len());
    }

    /// Enqueues a packet for or from a station at its sender; returns whether the packet is to be marked if it is
    /// ECN-capable.
    ///
    /// # Errors
    /// Returns the packet if the sender's queue is full. A sender with an empty queue accepts any packet.
    pub fn send(
        &mut self,
        now: Time,
        station: u32,
        direction: Direction,
        size: Bytes,
        item: T,
    ) -> Result<bool, Refused<T>> {
        let idle = self.phase == Phase::Idle;
        let sender = &mut self.senders[sender_of(station, direction)];
        let figures = &mut self.figures[direction as usize];
        let (size, waiting) = (size + FRAMING, sender.waiting());
        let free = sender.queue.is_empty();
        if !free && !self.queue.has_room(waiting, sender.waiting_bytes, size) {
            figures.link.refused += 1;
            return Err(Refused(item));
        }
        let mark = self.queue.marks(waiting);
        if free {
            sender.backoff.begin(now, idle, self.timing.slot);
        } else {
            sender.waiting_bytes += size;
            let all = &mut self.waiting[direction as usize];
            all.packets += 1;
            all.bytes += size;
            figures.link.note_queue(all.packets, all.bytes);
        }
        sender.queue.push_back(Frame { station, direction, size, entered: now, item });
        Ok(mark)
    }

    /// Counts a packet that was marked.
    pub fn count_mark(&mut self, direction: Direction) {
        self.figures[direction as usize].link.marked += 1;
    }

    /// Returns the time of the next event, if no packet is sent before.
    pub fn next_event(&self) -> Option<Time> {
        match self.phase {
            Phase::Frames(until) | Phase::Ack(until) => Some(until),
            Phase::Idle => self.contenders().map(|(_, begins)| begins).min(),
        }
    }

    /// Processes the event of this instant, and appends the packets that leave the medium to `passed`.
    pub fn advance(&mut self, now: Time, passed: &mut Vec<Passed<T>>) {
        if self.next_event() != Some(now) {
            return;
        }
        match self.phase {
            Phase::Idle => self.access(now),
            Phase::Frames(_) => self.end_of_frames(now, passed),
            Phase::Ack(_) => self.end_of_ack(now),
        }
    }

    /// Returns the number of packets that wait at the sender for or from a station, without the one about to be sent.
    pub fn waiting(&self, station: u32, direction: Direction) -> u64 {
        self.senders[sender_of(station, direction)].waiting()
    }

    /// Returns the number of bytes that wait there.
    pub fn waiting_bytes(&self, station: u32, direction: Direction) -> Bytes {
        self.senders[sender_of(station, direction)].waiting_bytes
    }

    /// Returns the packets inside.
    pub fn inside(&self) -> impl Iterator<Item = &T> {
        self.senders.iter().flat_map(|sender| sender.queue.iter().map(|frame| &frame.item))
    }

    /// Returns the counters of one direction until now.
    pub fn figures(&self, direction: Direction, now: Time) -> Figures {
        let mut figures = self.figures[direction as usize];
        let senders = match direction {
            Direction::Down => &self.senders[..1],
            Direction::Up => &self.senders[1..],
        };
        let waiting = senders.iter().flat_map(|sender| sender.queue.iter().skip(1));
        waiting.for_each(|frame| figures.link.add_wait(frame.size, now.since(frame.entered)));
        if let (Phase::Ack(until), [number]) = (self.phase, &self.on_air[..])
            && (*number == 0) == (direction == Direction::Down)
        {
            // The airtime of the exchange was counted together with its ACK.
            figures.airtime -= until.since(now);
        }
        figures
    }

    /// Returns the senders with a packet, and the times at which they will send unless another sender is earlier.
    fn contenders(&self) -> impl Iterator<Item = (u32, Time)> {
        let slot = self.timing.slot;
        let senders = self.senders.iter().enumerate().filter(|(_, sender)| !sender.queue.is_empty());
        senders.map(move |(number, sender)| (number as u32, sender.backoff.ends(slot)))
    }

    /// Starts the transmissions of the senders whose countdowns end now; the other senders suspend their countdowns.
    // Propagation and channel assessment take up to a slot; countdowns that start together end in the same slot or at
    // least one slot apart.
    fn access(&mut self, now: Time) {
        self.on_air.clear();
        self.began = now;
        let mut until = now;
        for number in 0..self.senders.len() {
            let sender = &mut self.senders[number];
            match sender.queue.front() {
                Some(frame) if sender.backoff.ends(self.timing.slot) == now => {
                    let figures = &mut self.figures[frame.direction as usize];
                    figures.attempts += 1;
                    figures.retries += u64::from(sender.short + sender.long > 0);
                    until = until.max(now + self.params.first_frame(&self.timing, frame.size));
                    self.on_air.push(number as u32);
                }
                _ => sender.backoff.freeze(now, self.timing.slot),
            }
        }
        if let [number] = self.on_air[..] {
            let frame = self.senders[number as usize].head();
            until = now + self.params.exchange(&self.timing, frame.size);
        }
        self.phase = Phase::Frames(until);
    }

    fn end_of_frames(&mut self, now: Time, passed: &mut Vec<Passed<T>>) {
        match self.on_air[..] {
            [number] => match self.received(now, number as usize) {
                true => self.deliver(now, number as usize, passed),
                false => self.fail(now, passed),
            },
            _ => self.fail(now, passed),
        }
    }

    /// Returns whether the only frame on the air is decoded by its receiver.
    // Control frames have 14 or 20 bytes at the minimum rate: at a bit error rate of 1e-5 an ACK is lost in 0.1 % of
    // the exchanges, a data frame of 1076 bytes in 8 %.
    fn received(&mut self, now: Time, number: usize) -> bool {
        self.params.errors == Errors::Packets || !self.is_lost(now, number)
    }

    /// Returns whether the loss model of the channel loses the packet at a sender's head.
    fn is_lost(&mut self, now: Time, number: usize) -> bool {
        let frame = self.senders[number].head();
        let channel = &mut self.channels[frame.station as usize][frame.direction as usize];
        let passing = Passing { number: channel.evaluated, size: frame.size, at: now };
        channel.evaluated += 1;
        channel.loss.loses(passing)
    }

    fn deliver(&mut self, now: Time, number: usize, passed: &mut Vec<Passed<T>>) {
        let lost = self.params.errors == Errors::Packets && self.is_lost(now, number);
        let sender = &mut self.senders[number];
        let direction = sender.head().direction;
        let figures = &mut self.figures[direction as usize];
        let frame = sender.pop(now, figures, &mut self.waiting[direction as usize]);
        figures.airtime += self.params.exchange(&self.timing, frame.size) + self.timing.answer();
        if lost {
            figures.link.lost += 1;
        } else {
            figures.link.packets += 1;
            figures.link.bytes += frame.size;
        }
        let exit = if lost { Exit::Lost } else { Exit::Arrived };
        passed.push(Passed { station: frame.station, direction: frame.direction, item: frame.item, exit });
        self.phase = Phase::Ack(now + self.timing.answer());
    }

    fn end_of_ack(&mut self, now: Time) {
        let [number] = self.on_air[..] else { unreachable!("an ACK follows exactly one frame") };
        self.senders[number as usize].backoff.succeed();
        for sender in &mut self.senders {
            sender.backoff.resume(now + self.timing.difs);
        }
        self.phase = Phase::Idle;
    }

    /// Handles the failure of all frames on the air: no receiver decodes them, and no ACK follows.
    fn fail(&mut self, now: Time, passed: &mut Vec<Passed<T>>) {
        //= IEEE 802.11-2012 §9.3.2.3.7
        for sender in &mut self.senders {
            sender.backoff.resume(now + self.timing.eifs);
        }
        let collision = self.on_air.len() > 1;
        let mut on_air = [Span::ZERO; 2];
        for place in 0..self.on_air.len() {
            let sender = &mut self.senders[self.on_air[place] as usize];
            let frame = sender.head();
            let direction = frame.direction as usize;
            let figures = &mut self.figures[direction];
            let announced = self.params.is_announced(frame.size);
            let airtime = if collision {
                figures.collisions += 1;
                self.params.first_frame(&self.timing, frame.size)
            } else {
                figures.errors += 1;
                self.params.exchange(&self.timing, frame.size)
            };
            on_air[direction] = on_air[direction].max(airtime);
            let exhausted = if announced && !collision {
                // The RTS was answered by a CTS.
                sender.short = 0;
                sender.long += 1;
                sender.long >= self.params.long_retries
            } else {
                sender.short += 1;
                sender.short >= self.params.short_retries
            };
            if exhausted {
                let frame = sender.pop(now, figures, &mut self.waiting[direction]);
                figures.given_up += 1;
                passed.push(Passed {
                    station: frame.station,
                    direction: frame.direction,
                    item: frame.item,
                    exit: Exit::GivenUp,
                });
                sender.backoff.succeed();
            } else {
                sender.backoff.fail();
            }
            //= IEEE 802.11-2012 §9.3.4.3
            let idle_for_sender = now.max(self.began + airtime + self.timing.timeout);
            sender.backoff.resume(idle_for_sender + self.timing.difs);
        }
        for (figures, airtime) in self.figures.iter_mut().zip(on_air) {
            figures.airtime += airtime;
        }
        self.phase = Phase::Idle;
    }
}

impl<T> Sender<T> {
    /// Returns the number of packets behind the one about to be sent.
    fn waiting(&self) -> u64 {
        self.queue.len().saturating_sub(1) as u64
    }

    /// Returns the packet about to be sent or being sent.
    fn head(&self) -> &Frame<T> {
        self.queue.front().expect("a sender on the air has a packet")
    }

    /// Removes the packet at the head; the next packet no longer counts as waiting.
    fn pop(&mut self, now: Time, figures: &mut Figures, waiting: &mut Waiting) -> Frame<T> {
        (self.short, self.long) = (0, 0);
        let head = self.queue.pop_front().expect("a sender on the air has a packet");
        if let Some(next) = self.queue.front() {
            self.waiting_bytes -= next.size;
            waiting.packets -= 1;
            waiting.bytes -= next.size;
            figures.link.add_wait(next.size, now - next.entered);
        }
        head
    }
}

impl Timing {
    /// Returns the duration of an ACK or CTS with the space before it.
    fn answer(&self) -> Span {
        self.sifs + self.ack
    }
}

impl Params {
    /// Returns whether an RTS precedes a frame of this size.
    fn is_announced(&self, size: Bytes) -> bool {
        self.rts_threshold.is_some_and(|threshold| size > threshold)
    }

    /// Returns the airtime of a sender in a collision: the RTS, or the frame.
    fn first_frame(&self, timing: &Timing, size: Bytes) -> Span {
        if self.is_announced(size) { timing.rts } else { timing.data(size) }
    }

    /// Returns the time from the start of an exchange to the end of its data frame.
    fn exchange(&self, timing: &Timing, size: Bytes) -> Span {
        let data = timing.data(size);
        if self.is_announced(size) { timing.rts + timing.answer() + timing.sifs + data } else { data }
    }
}

/// Returns the index of the sender for this direction.
fn sender_of(station: u32, direction: Direction) -> usize {
    match direction {
        Direction::Down => 0,
        Direction::Up => station as usize + 1,
    }
}
