//! The guard at the host that receives.

use crate::cgroup::Cgroup;
use crate::maps::Maps;
use crate::{Error, kernel, system};
use airwnd_units::{Span, Time};
use aya::programs::iter::IterLink;
use aya::programs::{Iter, ProgramError, SockOps, loaded_programs};
use aya::{Btf, Ebpf, include_bytes_aligned};
use std::io::{self, Read};
use std::path::PathBuf;

/// Name of the program in the kernel.
const PROGRAM: &str = "airwnd_receiver";

pub(crate) static OBJECT: &[u8] = include_bytes_aligned!(concat!(env!("OUT_DIR"), "/receiver.bpf.o"));

/// Programs for the sockets of cgroups, attached until the value is dropped.
///
/// If the process is killed, the programs stay attached and give each socket its own window back with its next ACK.
pub(crate) struct Receiver {
    pub maps: Maps,
    ebpf: Ebpf,
    cgroups: Vec<Cgroup>,
    /// The walk at the end, which the process may begin without privileges.
    release: Option<IterLink>,
}

impl Receiver {
    /// Loads the programs.
    pub fn load() -> Result<Receiver, Error> {
        let btf = Btf::from_sys_fs().map_err(|why| {
            Error::failed(
                "the kernel has no type information (CONFIG_DEBUG_INFO_BTF), which --cgroup and --all need; --forward \
                 on a router works without",
                &why,
            )
        })?;
        let mut ebpf = Ebpf::load(OBJECT).map_err(|why| Error::not_loaded(&why))?;
        let refused = |why: ProgramError| Error::not_loaded(&why);
        sock_ops(&mut ebpf).load().map_err(refused)?;
        for name in ["adopt", "release"] {
            iterator(&mut ebpf, name).load("tcp", &btf).map_err(refused)?;
        }
        let maps = Maps::take(&mut ebpf, 0)?;
        Ok(Receiver { maps, ebpf, cgroups: Vec::new(), release: None })
    }

    /// Loads the programs and attaches them to the cgroups, with all cgroups below.
    pub fn open(cgroups: &[PathBuf]) -> Result<Receiver, Error> {
        kernel::refuse_defects()?;
        let cgroups = cgroups.iter().map(|path| Cgroup::claim(path)).collect::<Result<Vec<_>, _>>()?;
        let mut receiver = Receiver::load()?;
        for cgroup in cgroups {
            detach_old(&cgroup);
            let program = sock_ops(&mut receiver.ebpf).fd().expect("the program is loaded");
            system::attach(cgroup.file(), program)
                .map_err(|why| Error::failed("cannot attach the eBPF program to the cgroup", &why))?;
            receiver.cgroups.push(cgroup);
        }
        let release = link(&mut receiver.ebpf, "release");
        receiver.release = Some(release.map_err(|why| Error::failed("cannot prepare the end", &why))?);
        Ok(receiver)
    }

    /// Starts to observe the connections that exist.
    pub fn adopt(&mut self) -> Result<(), Error> {
        link(&mut self.ebpf, "adopt")
            .and_then(walk)
            .map_err(|why| Error::failed("cannot adopt existing connections", &why))
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        // After this, the programs only give windows back.
        let _ = self.maps.allow_until(Time::ZERO, Span::ZERO);
        if let Some(release) = self.release.take() {
            let _ = walk(release);
        }
        let Ok(program) = sock_ops(&mut self.ebpf).fd() else { return };
        for cgroup in &self.cgroups {
            let _ = system::detach(cgroup.file(), program);
        }
    }
}

/// Detaches the program of a guard that was killed. Without CAP_SYS_ADMIN it stays, and does nothing.
fn detach_old(cgroup: &Cgroup) {
    let attached = system::attached(cgroup.file()).unwrap_or_default();
    let ours = loaded_programs()
        .filter_map(Result::ok)
        .filter(|program| program.name_as_str() == Some(PROGRAM) && attached.contains(&program.id()));
    for program in ours {
        if let Ok(program) = program.fd() {
            let _ = system::detach(cgroup.file(), &program);
        }
    }
}

fn sock_ops(ebpf: &mut Ebpf) -> &mut SockOps {
    let program = ebpf.program_mut(PROGRAM).expect("the object has this program");
    program.try_into().expect("a program for socket operations")
}

fn iterator<'a>(ebpf: &'a mut Ebpf, name: &str) -> &'a mut Iter {
    let program = ebpf.program_mut(name).expect("the object has this program");
    program.try_into().expect("an iterator")
}

/// Prepares a walk over the TCP sockets of the network namespace in which it will begin.
fn link(ebpf: &mut Ebpf, name: &str) -> io::Result<IterLink> {
    let program = iterator(ebpf, name);
    let id = program.attach().map_err(io::Error::other)?;
    program.take_link(id).map_err(io::Error::other)
}

fn walk(iterator: IterLink) -> io::Result<()> {
    let mut file = iterator.into_file().map_err(io::Error::other)?;
    // The programs write nothing; reading runs them.
    file.read_to_end(&mut Vec::new())?;
    Ok(())
}
