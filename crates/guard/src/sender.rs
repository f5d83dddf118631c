//! The sender's part of ARWA.

use crate::cgroup;
use crate::congestion::Congestion;
use crate::error::Error;
use crate::signals::Signals;
use airwnd_rwnd::arwa;
use aya::maps::Array;
use aya::programs::{CgroupAttachMode, SockOps};
use aya::{Ebpf, include_bytes_aligned};
use std::fs::File;
use std::path::PathBuf;

/// Name of the congestion control.
pub(crate) const NAME: &str = "airwnd_arwa";
/// Functions of a congestion control, and the programs that implement them.
const FUNCTIONS: [(&str, &str); 4] = [
    ("ssthresh", "arwa_ssthresh"),
    ("cong_avoid", "arwa_cong_avoid"),
    ("undo_cwnd", "arwa_undo_cwnd"),
    ("in_ack_event", "arwa_in_ack_event"),
];

static OBJECT: &[u8] = include_bytes_aligned!(concat!(env!("OUT_DIR"), "/sender.bpf.o"));

/// The registered congestion control and the program that reads options, until the value is dropped.
pub(crate) struct Sender {
    ebpf: Ebpf,
    _congestion: Congestion,
}

impl Sender {
    /// Loads the programs and registers the congestion control.
    pub fn load(parameters: &arwa::Params) -> Result<Sender, Error> {
        let mut ebpf = Ebpf::load(OBJECT).map_err(|why| Error::not_loaded(&why))?;
        let program: &mut SockOps = sock_ops(&mut ebpf);
        program.load().map_err(|why| Error::not_loaded(&why))?;
        let limits = ebpf.map_mut("limits").expect("the object has this map");
        let mut limits: Array<_, [u64; 2]> = limits.try_into().expect("an array");
        limits
            .set(0, [parameters.floor.0, parameters.ceiling.0], 0)
            .map_err(|why| Error::failed("cannot reach the eBPF programs", &why))?;
        let congestion = Congestion::register(OBJECT, &ebpf, NAME, &FUNCTIONS).map_err(|why| {
            if why.raw_os_error() == Some(libc::EEXIST) {
                return Error::new(format!(
                    "congestion control {NAME}: registered by another process already"
                ));
            }
            Error::failed(format!("cannot register congestion control {NAME}"), &why)
        })?;
        Ok(Sender { ebpf, _congestion: congestion })
    }

    /// Reads options of new connections of a cgroup and of those below.
    fn attach(&mut self, cgroup: &PathBuf) -> Result<(), Error> {
        let what = || format!("cgroup {}", cgroup.display());
        if !cgroup::is_cgroup(cgroup) {
            return Err(Error::new(format!("{}: not a folder of cgroup version 2", what())));
        }
        let folder = File::open(cgroup).map_err(|why| Error::failed(what(), &why))?;
        // As a link, it never excludes others.
        sock_ops(&mut self.ebpf)
            .attach(folder, CgroupAttachMode::Single)
            .map_err(|why| Error::failed(what(), &why))?;
        Ok(())
    }
}

fn sock_ops(ebpf: &mut Ebpf) -> &mut SockOps {
    let program = ebpf.program_mut("airwnd_sender").expect("the object has this program");
    program.try_into().expect("a program for socket operations")
}

/// Offers the congestion control to the senders of these cgroups until SIGINT or SIGTERM.
pub(crate) fn run(cgroups: &[PathBuf], parameters: &arwa::Params) -> Result<(), Error> {
    let signals = Signals::open()?;
    let mut sender = Sender::load(parameters)?;
    cgroups.iter().try_for_each(|cgroup| sender.attach(cgroup))?;
    eprintln!("congestion control {NAME} is available");
    signals.wait()
}
