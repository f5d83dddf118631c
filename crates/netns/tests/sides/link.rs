//! A server side and a UE side, joined by a thread that copies packets.

use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use airwnd_netns::{Device, DeviceSetup, Error, Exit, Setup, Side, Stdio};
use nix::poll::{PollFd, PollFlags, poll};
use nix::unistd::{read, write};

use crate::roles;

pub const SERVER_V4: Ipv4Addr = Ipv4Addr::new(100, 64, 0, 1);
pub const SERVER_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0x64, 0, 0, 0, 0, 0, 1);
const UE_V4: Ipv4Addr = Ipv4Addr::new(100, 64, 0, 2);
const UE_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0x64, 0, 0, 0, 0, 0, 2);

/// A UE that runs `command`, with its output in a pipe.
pub fn ue(command: &[&str]) -> Setup {
    let mut setup = Setup::new("ue-0", DeviceSetup::new(UE_V4, Some(UE_V6)));
    setup.command = command.iter().map(ToString::to_string).collect();
    setup.hosts =
        [IpAddr::from(SERVER_V4), IpAddr::from(SERVER_V6)].map(|ip| ("server".to_string(), ip)).to_vec();
    setup.stdin = Stdio::Null;
    setup.stdout = Stdio::Piped;
    setup
}

pub fn server(command: &[&str]) -> Setup {
    let device = DeviceSetup::new(SERVER_V4, Some(SERVER_V6));
    Setup { name: "server".to_string(), device, ..ue(command) }
}

pub fn prepare(setup: &Setup) -> Result<Side, Error> {
    Side::prepare(&roles::helper(), setup)
}

/// Runs the command of one side without another end. Returns its output.
pub fn run(setup: &Setup) -> Result<(Exit, String), Error> {
    let mut side = prepare(setup)?;
    side.start()?;
    Ok(finish(&mut side))
}

/// Runs the command of a UE with a server at the other end.
pub fn run_with_server(setup: &Setup) -> Result<(Exit, String), Error> {
    let mut side = prepare(setup)?;
    let other = prepare(&server(&[]))?;
    let _wire = Wire::join(&side.device, &other.device);
    side.start()?;
    Ok(finish(&mut side))
}

fn finish(side: &mut Side) -> (Exit, String) {
    let mut text = String::new();
    if let Some(mut stdout) = side.process.stdout.take() {
        // Ends although init, which had the same pipe, is alive.
        stdout.read_to_string(&mut text).expect("text");
    }
    (side.wait(), text)
}

/// Copies packets between two devices until it is dropped.
pub struct Wire {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Wire {
    pub fn join(a: &Device, b: &Device) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let [a, b] = [a, b].map(|device| device.tun.try_clone().expect("a copy"));
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                let mut events = [&a, &b].map(|fd| PollFd::new(fd.as_fd(), PollFlags::POLLIN));
                let _ = poll(&mut events, 10u8);
                copy(a.as_fd(), b.as_fd());
                copy(b.as_fd(), a.as_fd());
            }
        });
        Self { stop, thread: Some(thread) }
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().expect("one thread").join().expect("no panic");
    }
}

fn copy(from: BorrowedFd<'_>, to: BorrowedFd<'_>) {
    for packet in packets(from) {
        let _ = write(to, &packet);
    }
}

/// Packets that the device holds now.
pub fn packets(device: BorrowedFd<'_>) -> Vec<Vec<u8>> {
    let mut buffer = [0; 65536];
    let next = || read(device, &mut buffer).ok().map(|length| buffer[..length].to_vec());
    std::iter::from_fn(next).collect()
}
