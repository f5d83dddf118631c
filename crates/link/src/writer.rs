//! Writes the packets that leave the network to their devices.
//!
//! The kernel runs the receiver's TCP within the call that writes a packet. The packets of a turn that are many are
//! therefore written by a thread of the device's own, so that the network is simulated on another core meanwhile.

use crate::clock::{Clock, cpu_time};
use crate::offload::{Batch, Partial};
use crate::report::Totals;
use airwnd_units::{Span, Time};
use std::fs::File;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

/// Writes of a turn from which on the device's thread does them: waking it costs as much CPU time as a few writes.
const MIN_WRITES: usize = 16;
/// Packets of a turn that do not await the rest of it: when a gap in a cell closes, those of several slots leave at once.
const MAX_PACKETS: usize = 32;
/// Turns whose packets await the thread at the same time. A thread that falls further behind holds up the relay.
const MAX_PENDING: usize = 64;

/// A device with the packets on their way to it.
pub struct Writer {
    device: Arc<File>,
    /// Packets of the present turn.
    turn: Turn,
    /// Emptied turns, whose memory is used again.
    spare: Vec<Turn>,
    writing: Writing,
    /// Started with the first turn that it writes.
    thread: Option<Thread>,
}

/// The thread of a device.
struct Thread {
    turns: Sender<(Turn, Clock)>,
    written: Receiver<Turn>,
    pending: usize,
    /// Packets of the pending turns.
    packets: u64,
    handle: JoinHandle<()>,
}

/// Packets that leave in the same turn.
#[derive(Default)]
struct Turn {
    batch: Batch,
    departures: Vec<Departure>,
    /// Result of each write, in order.
    results: Vec<(Time, io::Result<usize>)>,
    /// CPU time of the thread for them.
    cpu: Span,
}

/// How packets are written.
#[derive(Clone, Copy, Debug, Default)]
pub struct Writing {
    /// Whether consecutive segments that leave in the same turn are written as one packet.
    pub coalesces: bool,
    /// Whether each device has a thread for turns of many packets.
    pub is_threaded: bool,
}

/// A packet that has left the network.
#[derive(Clone, Copy)]
pub struct Departure {
    /// When it left.
    pub at: Time,
    /// Whether the network has marked it (ECN).
    pub is_marked: bool,
}

impl Writer {
    /// Creates a writer to a device.
    pub fn new(device: Arc<File>, writing: Writing) -> Writer {
        Writer { device, turn: Turn::default(), spare: Vec::new(), writing, thread: None }
    }

    /// Adds a packet to those that [`Writer::flush`] writes.
    pub fn append(&mut self, packet: &[u8], partial: Option<Partial>, departure: Departure) {
        self.turn.batch.append(packet, partial, self.writing.coalesces);
        self.turn.departures.push(departure);
    }

    /// Whether so many packets have been added that they should be written before others are.
    pub fn is_full(&self) -> bool {
        self.turn.departures.len() >= MAX_PACKETS
    }

    /// Packets that the thread has not yet reported as written.
    pub fn pending(&self) -> u64 {
        self.thread.as_ref().map_or(0, |thread| thread.packets)
    }

    /// Writes the packets of the turn, or passes them to the thread, and counts those written since the last call.
    pub fn flush(&mut self, clock: &Clock, totals: &mut Totals) {
        self.collect(totals);
        let writes = self.turn.batch.len();
        if writes == 0 {
            return;
        }
        // Packets that await the thread go first.
        let is_long = writes >= MIN_WRITES || self.is_full();
        if self.pending() > 0 || (self.writing.is_threaded && is_long) {
            self.pass_on(clock, totals);
        } else {
            self.turn.write(&self.device, clock);
            self.turn.count(totals);
        }
    }

    /// Waits until all packets are written, and ends the thread.
    pub fn finish(&mut self, totals: &mut Totals) {
        let Some(Thread { turns, written, handle, .. }) = self.thread.take() else { return };
        drop(turns);
        written.iter().for_each(|mut turn| turn.count(totals));
        handle.join().expect("the thread of a device does not panic");
    }

    fn pass_on(&mut self, clock: &Clock, totals: &mut Totals) {
        let device = &self.device;
        let thread = self.thread.get_or_insert_with(|| Thread::start(device.clone()));
        if thread.pending == MAX_PENDING {
            let written = thread.written.recv().expect("the thread does not end before the writer");
            thread.returned(written, &mut self.spare, totals);
        }
        let turn = std::mem::replace(&mut self.turn, self.spare.pop().unwrap_or_default());
        thread.pending += 1;
        thread.packets += turn.departures.len() as u64;
        thread.turns.send((turn, *clock)).expect("the thread does not end before the writer");
    }

    fn collect(&mut self, totals: &mut Totals) {
        let Some(thread) = &mut self.thread else { return };
        while let Ok(turn) = thread.written.try_recv() {
            thread.returned(turn, &mut self.spare, totals);
        }
    }
}

impl Thread {
    fn start(device: Arc<File>) -> Thread {
        let (turns, waiting) = mpsc::channel::<(Turn, Clock)>();
        let (done, written) = mpsc::channel();
        let work = move || {
            for (mut turn, clock) in waiting {
                let begin = cpu_time();
                turn.write(&device, &clock);
                turn.cpu = Span(cpu_time().0 - begin.0);
                if done.send(turn).is_err() {
                    return;
                }
            }
        };
        // The scheduling of the relay is that of the threads it starts.
        let handle =
            thread::Builder::new().name("airwnd-writer".into()).spawn(work).expect("a thread starts");
        Thread { turns, written, pending: 0, packets: 0, handle }
    }

    /// Counts a turn that the thread has written, and keeps its memory.
    fn returned(&mut self, mut turn: Turn, spare: &mut Vec<Turn>, totals: &mut Totals) {
        self.pending -= 1;
        self.packets -= turn.departures.len() as u64;
        turn.count(totals);
        spare.push(turn);
    }
}

impl Turn {
    fn write(&mut self, mut device: &File, clock: &Clock) {
        for (bytes, _) in self.batch.writes() {
            let result = device.write(bytes);
            self.results.push((clock.now(), result));
        }
    }

    /// Counts the packets of a written turn, and empties it.
    fn count(&mut self, totals: &mut Totals) {
        let mut departures = self.departures.drain(..);
        for ((at, result), (_, packets)) in self.results.drain(..).zip(self.batch.writes()) {
            for departure in departures.by_ref().take(packets) {
                totals.lateness.record(Span(at.0.saturating_sub(departure.at.0)));
                totals.packets.marked += u64::from(result.is_ok() && departure.is_marked);
            }
            match result {
                Ok(_) => totals.packets.out += packets as u64,
                Err(_) => totals.packets.refused += packets as u64,
            }
        }
        drop(departures);
        totals.cpu_of_writers += std::mem::take(&mut self.cpu);
        self.batch.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offload::HEADER;
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixDatagram;

    fn device() -> (Arc<File>, UnixDatagram) {
        let (ours, theirs) = UnixDatagram::pair().unwrap();
        (Arc::new(OwnedFd::from(ours).into()), theirs)
    }

    fn received(device: &UnixDatagram) -> u32 {
        let mut buffer = [0; 64];
        let length = device.recv(&mut buffer).unwrap();
        u32::from_be_bytes(buffer[HEADER..length].try_into().unwrap())
    }

    /// Turns of any size are written in their order, with a thread or without, and each packet is counted once.
    #[test]
    fn packets_are_written_in_order_and_counted() {
        for is_threaded in [false, true] {
            let (device, far) = device();
            let mut writer = Writer::new(device, Writing { coalesces: false, is_threaded });
            let clock = Clock::start(Time::ZERO);
            let mut totals = Totals::default();
            let sizes = (0..2 * MAX_PENDING).map(|turn| [1, 40, 3][turn % 3]);
            let all: usize = sizes.clone().sum();
            let reader = thread::spawn(move || (0..all).map(|_| received(&far)).collect::<Vec<_>>());
            let mut next = 0_u32;
            for size in sizes {
                for _ in 0..size {
                    let departure = Departure { at: Time::ZERO, is_marked: next.is_multiple_of(2) };
                    writer.append(&next.to_be_bytes(), None, departure);
                    next += 1;
                }
                writer.flush(&clock, &mut totals);
                assert_eq!(totals.packets.out + writer.pending(), u64::from(next));
                assert_eq!(writer.thread.is_some(), is_threaded && next > 1);
            }
            writer.finish(&mut totals);
            assert_eq!(reader.join().unwrap(), (0..next).collect::<Vec<_>>());
            let packets = totals.packets;
            assert_eq!(
                (packets.out, packets.marked, packets.refused),
                (all as u64, all.div_ceil(2) as u64, 0)
            );
            assert_eq!(totals.lateness.figures().count, all as u64);
            assert_eq!(totals.cpu_of_writers > Span::ZERO, is_threaded);
        }
    }

    #[test]
    fn a_device_that_is_gone_refuses_the_packets_of_either_way() {
        for is_threaded in [false, true] {
            let (device, far) = device();
            drop(far);
            let mut writer = Writer::new(device, Writing { coalesces: false, is_threaded });
            let mut totals = Totals::default();
            for _ in 0..20 {
                writer.append(&[1; 4], None, Departure { at: Time::ZERO, is_marked: true });
            }
            writer.flush(&Clock::start(Time::ZERO), &mut totals);
            writer.finish(&mut totals);
            assert_eq!((totals.packets.refused, totals.packets.out, totals.packets.marked), (20, 0, 0));
        }
    }
}
