//! Two sides, joined by a loop that copies packets: `two_sides COMMAND [ARGUMENTS...]` runs the command on side
//! `ue-0`, where the name `server` resolves to the other one, which runs the shell command in `SERVER`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, BorrowedFd};
use std::process::ExitCode;

use airwnd_netns::{DeviceSetup, Error, Setup, Side, child};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::{read, write};

const HELPER: &str = "helper";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [first, socket] = arguments.as_slice()
        && first == HELPER
    {
        child(socket.parse().expect("the number of a descriptor"));
    }
    match run(arguments) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn run(command: Vec<String>) -> Result<u8, Error> {
    let program = std::env::current_exe().expect("the path of this program").display().to_string();
    let helper = [program, HELPER.to_string()];
    let mut server = setup("server", 1);
    if let Ok(command) = std::env::var("SERVER") {
        server.command = ["sh", "-c", &command].map(str::to_string).to_vec();
    }
    let mut phone = setup("ue-0", 2);
    phone.command = command;
    phone.terminal = true;
    let mut server = Side::prepare(&helper, &server)?;
    let mut phone = Side::prepare(&helper, &phone)?;
    if std::env::var("SERVER").is_ok() {
        server.start()?;
    }
    phone.start()?;
    let exit = copy_until_exit(&server, &mut phone.process, phone.device.tun.as_fd());
    for (name, side) in [("server", &mut server), ("ue-0", &mut phone)] {
        eprintln!("{name}: {:?}", side.device.stats());
        eprintln!("{name}: {:?}", side.device.diag.tcp());
    }
    Ok(exit.code() as u8)
}

fn setup(name: &str, number: u8) -> Setup {
    let v6 = |number: u8| Ipv6Addr::new(0xfd00, 0x64, 0, 0, 0, 0, 0, number.into());
    let mut setup = Setup::new(name, DeviceSetup::new(Ipv4Addr::new(100, 64, 0, number), Some(v6(number))));
    setup.hosts = [
        ("server", IpAddr::from([100, 64, 0, 1])),
        ("server", v6(1).into()),
        ("ue-0", IpAddr::from([100, 64, 0, 2])),
        ("ue-0", v6(2).into()),
    ]
    .map(|(name, address)| (name.to_string(), address))
    .to_vec();
    setup
}

fn copy_until_exit(
    server: &Side,
    phone: &mut airwnd_netns::Process,
    device: BorrowedFd<'_>,
) -> airwnd_netns::Exit {
    loop {
        let mut events = [
            PollFd::new(server.device.tun.as_fd(), PollFlags::POLLIN),
            PollFd::new(device, PollFlags::POLLIN),
            PollFd::new(phone.as_fd(), PollFlags::POLLIN),
        ];
        while poll(&mut events, PollTimeout::NONE) == Err(Errno::EINTR) {}
        let ended = events[2].any().unwrap_or(false);
        copy(server.device.tun.as_fd(), device);
        copy(device, server.device.tun.as_fd());
        if ended && let Some(exit) = phone.try_wait() {
            return exit;
        }
    }
}

fn copy(from: BorrowedFd<'_>, to: BorrowedFd<'_>) {
    let mut packet = [0; 65536];
    while let Ok(length) = read(from, &mut packet) {
        // A packet that the other device refuses is lost, as on any link.
        let _ = write(to, &packet[..length]);
    }
}
