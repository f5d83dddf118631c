//! A link that delays packets and keeps account of the windows that it carries.

use std::collections::{HashMap, VecDeque};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use airwnd_netns::Device;
use nix::poll::{PollFd, PollFlags, poll};
use nix::unistd::{read, write};

/// One-way delay at the start, in milliseconds: the guard leaves flows alone whose RTT is below 2 ms.
const DELAY_MS: u64 = 4;

/// An ACK of the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// Source port, which a later connection may have again.
    pub port: u16,
    /// Number of the connection among those of the wire.
    pub connection: usize,
    /// Acknowledgment number.
    pub number: u32,
    /// Bytes offered.
    pub window: u32,
    /// Bytes of a unit of the window field.
    pub unit: u32,
    /// Maximum segment size of the receiver.
    pub mss: u32,
}

/// Moves packets between two devices until it is dropped.
pub struct Wire {
    pub acks: Receiver<Ack>,
    delay_ms: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Wire {
    pub fn join(receiver: &Device, sender: &Device) -> Wire {
        let stop = Arc::new(AtomicBool::new(false));
        let [up, down] = [receiver, sender].map(|device| device.tun.try_clone().expect("a copy"));
        let (acks, seen) = channel();
        let stopped = stop.clone();
        let delay_ms = Arc::new(AtomicU64::new(DELAY_MS));
        let delay = delay_ms.clone();
        let thread = std::thread::spawn(move || {
            let mut windows = Windows { acks, ends: HashMap::new(), begun: 0 };
            let mut lines = [VecDeque::new(), VecDeque::new()];
            while !stopped.load(Ordering::Relaxed) {
                let mut events = [&up, &down].map(|fd| PollFd::new(fd.as_fd(), PollFlags::POLLIN));
                let _ = poll(&mut events, 1u8);
                let [upwards, downwards] = &mut lines;
                let delay = Duration::from_millis(delay.load(Ordering::Relaxed));
                pass(&up, &down, delay, upwards, |packet| windows.note(packet));
                pass(&down, &up, delay, downwards, |_| {});
            }
        });
        Wire { acks: seen, delay_ms, stop, thread: Some(thread) }
    }

    /// Makes the path longer, by a factor.
    pub fn lengthen(&self, factor: u64) {
        self.delay_ms.store(DELAY_MS * factor, Ordering::Relaxed);
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().expect("one thread").join().expect("no panic");
    }
}

type Line = VecDeque<(Instant, Vec<u8>)>;

fn pass(from: &OwnedFd, to: &OwnedFd, delay: Duration, line: &mut Line, mut note: impl FnMut(&[u8])) {
    let mut buffer = [0; 65536];
    while let Ok(length) = read(from, &mut buffer) {
        note(&buffer[..length]);
        line.push_back((Instant::now() + delay, buffer[..length].to_vec()));
    }
    while line.front().is_some_and(|(due, _)| *due <= Instant::now()) {
        let (_, packet) = line.pop_front().expect("just seen");
        let _ = write(to, &packet);
    }
}

/// Reads the window of each ACK that leaves the receiver.
struct Windows {
    acks: Sender<Ack>,
    /// Number of the latest connection, its shift and maximum segment size, by port.
    ends: HashMap<u16, (usize, u8, u32)>,
    /// Number of connections that have begun.
    begun: usize,
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
            let (shift, mss) = read_options(&tcp[20..header]);
            self.ends.insert(port, (self.begun, shift, mss));
            self.begun += 1;
        } else if let Some(&(connection, shift, mss)) = self.ends.get(&port)
            && tcp[13] & (FIN | RST) == 0
        {
            let window = u32::from(u16::from_be_bytes([tcp[14], tcp[15]])) << shift;
            let number = u32::from_be_bytes([tcp[8], tcp[9], tcp[10], tcp[11]]);
            let _ = self.acks.send(Ack { port, connection, number, window, unit: 1 << shift, mss });
        }
    }
}

const FIN: u8 = 1;
const SYN: u8 = 2;
const RST: u8 = 4;
/// Kinds of options.
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;

/// Window scale and maximum segment size of a SYN.
fn read_options(options: &[u8]) -> (u8, u32) {
    let shift = find_option(options, WINDOW_SCALE).map_or(0, |body| body[0]);
    let mss = find_option(options, MSS).map_or(536, |body| u16::from_be_bytes([body[0], body[1]]));
    (shift, mss.into())
}

/// Returns what follows kind and length of an option.
fn find_option(mut options: &[u8], wanted: u8) -> Option<&[u8]> {
    loop {
        options = match options {
            [1, rest @ ..] => rest,
            [kind, length, rest @ ..] if *kind > 1 => {
                let (body, rest) = rest.split_at_checked(usize::from(*length).saturating_sub(2))?;
                if *kind == wanted {
                    return Some(body);
                }
                rest
            }
            _ => return None,
        };
    }
}
