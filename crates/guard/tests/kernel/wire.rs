//! A link that delays packets and keeps account of the windows that it carries.

use std::collections::{HashMap, VecDeque};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use airwnd_netns::Device;
use nix::poll::{PollFd, PollFlags, poll};
use nix::unistd::{read, write};

/// One-way delay: the guard leaves flows alone whose RTT is below 2 ms.
const DELAY: Duration = Duration::from_millis(4);

/// An ACK of the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// Source port.
    pub port: u16,
    /// Acknowledgment number.
    pub number: u32,
    /// Bytes offered.
    pub window: u32,
    /// Bytes of a unit of the window field.
    pub unit: u32,
}

/// Moves packets between two devices until it is dropped.
pub struct Wire {
    pub acks: Receiver<Ack>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Wire {
    pub fn join(receiver: &Device, sender: &Device) -> Wire {
        let stop = Arc::new(AtomicBool::new(false));
        let [up, down] = [receiver, sender].map(|device| device.tun.try_clone().expect("a copy"));
        let (acks, seen) = channel();
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            let mut windows = Windows { acks, shifts: HashMap::new() };
            let mut lines = [VecDeque::new(), VecDeque::new()];
            while !stopped.load(Ordering::Relaxed) {
                let mut events = [&up, &down].map(|fd| PollFd::new(fd.as_fd(), PollFlags::POLLIN));
                let _ = poll(&mut events, 1u8);
                let [upwards, downwards] = &mut lines;
                pass(&up, &down, upwards, |packet| windows.note(packet));
                pass(&down, &up, downwards, |_| {});
            }
        });
        Wire { acks: seen, stop, thread: Some(thread) }
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().expect("one thread").join().expect("no panic");
    }
}

type Line = VecDeque<(Instant, Vec<u8>)>;

fn pass(from: &OwnedFd, to: &OwnedFd, line: &mut Line, mut note: impl FnMut(&[u8])) {
    let mut buffer = [0; 65536];
    while let Ok(length) = read(from, &mut buffer) {
        note(&buffer[..length]);
        line.push_back((Instant::now() + DELAY, buffer[..length].to_vec()));
    }
    while line.front().is_some_and(|(due, _)| *due <= Instant::now()) {
        let (_, packet) = line.pop_front().expect("just seen");
        let _ = write(to, &packet);
    }
}

/// Reads the window of each ACK that leaves the receiver.
struct Windows {
    acks: Sender<Ack>,
    shifts: HashMap<u16, u8>,
}

impl Windows {
    fn note(&mut self, packet: &[u8]) {
        let tcp = match packet.first().map(|byte| byte >> 4) {
            Some(4) if packet.get(9) == Some(&6) => &packet[usize::from(packet[0] & 15) * 4..],
            Some(6) if packet.get(6) == Some(&6) => &packet[40..],
            _ => return,
        };
        let port = u16::from_be_bytes([tcp[0], tcp[1]]);
        let header = usize::from(tcp[12] >> 4) * 4;
        if tcp[13] & SYN != 0 {
            self.shifts.insert(port, shift(&tcp[20..header]).unwrap_or(0));
        } else if let Some(shift) = self.shifts.get(&port)
            && tcp[13] & (FIN | RST) == 0
        {
            let window = u32::from(u16::from_be_bytes([tcp[14], tcp[15]])) << shift;
            let number = u32::from_be_bytes([tcp[8], tcp[9], tcp[10], tcp[11]]);
            let _ = self.acks.send(Ack { port, number, window, unit: 1 << shift });
        }
    }
}

const FIN: u8 = 1;
const SYN: u8 = 2;
const RST: u8 = 4;

/// Window scale option of a SYN.
fn shift(mut options: &[u8]) -> Option<u8> {
    loop {
        match options {
            [1, rest @ ..] => options = rest,
            [3, 3, shift, ..] => return Some(*shift),
            [kind, length, ..] if *kind > 1 => options = options.get(usize::from(*length)..)?,
            _ => return None,
        }
    }
}
