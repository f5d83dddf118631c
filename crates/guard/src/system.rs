//! System calls without a safe wrapper elsewhere.
#![expect(unsafe_code, reason = "system calls")]

use airwnd_units::Time;
use nix::errno::Errno;
use nix::time::{ClockId, clock_gettime};
use nix::unistd::ForkResult;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixDatagram;
use std::time::Duration;

/// Time of the clock that eBPF programs read.
pub(crate) fn now() -> Time {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("Linux has this clock");
    Time(now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64)
}

/// Time of the clock by which the kernel states the arrival of datagrams.
pub(crate) fn real_time() -> Duration {
    clock_gettime(ClockId::CLOCK_REALTIME).expect("Linux has this clock").into()
}

/// Limits the data of a TCP connection that the kernel holds beyond its cwnd.
pub(crate) fn limit_unsent(socket: impl AsFd, bytes: u32) -> io::Result<()> {
    let (level, option) = (libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT);
    let size = size_of::<u32>() as libc::socklen_t;
    // SAFETY: the kernel reads `size` bytes of `bytes`.
    Errno::result(unsafe {
        libc::setsockopt(socket.as_fd().as_raw_fd(), level, option, (&raw const bytes).cast(), size)
    })?;
    Ok(())
}

/// Bytes of `struct tcp_info` of linux/tcp.h up to the end of `tcpi_bytes_acked`: 8 bytes, 24 words of 32 bits, and three
/// of 64 bits, of which it is the last one.
const TCP_INFO: usize = 8 + 24 * 4 + 3 * 8;

/// Returns the bytes of a TCP connection that the other end has acknowledged.
pub(crate) fn bytes_acked(socket: impl AsFd) -> io::Result<u64> {
    let mut info = [0_u8; TCP_INFO];
    let mut size = TCP_INFO as libc::socklen_t;
    // SAFETY: the kernel writes at most `size` bytes to `info`.
    Errno::result(unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut size,
        )
    })?;
    Ok(u64::from_ne_bytes(*info.last_chunk().expect("longer than a word")))
}

/// Cookie of the network namespace of this thread.
pub(crate) fn netns_cookie() -> io::Result<u64> {
    // A socket without an address: the loopback interface may be down.
    let socket = UnixDatagram::unbound()?;
    let mut cookie = 0_u64;
    let mut size = size_of::<u64>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `size` bytes to `cookie`.
    Errno::result(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_NETNS_COOKIE,
            (&raw mut cookie).cast(),
            &raw mut size,
        )
    })?;
    Ok(cookie)
}

/// BPF_CGROUP_SOCK_OPS of `enum bpf_attach_type`.
const CGROUP_SOCK_OPS: u32 = 3;
const PROG_ATTACH: libc::c_long = 8;
const PROG_DETACH: libc::c_long = 9;
const ALLOW_MULTI: u32 = 2;

/// The part of `union bpf_attr` for attaching programs.
#[repr(C)]
struct Attachment {
    target: RawFd,
    program: RawFd,
    kind: u32,
    flags: u32,
    replaced: u32,
}

/// Attaches a program for socket operations to a cgroup, beside others. In contrast to a link of aya, the attachment
/// outlives this process: after a SIGKILL the program still gives the sockets their windows back.
pub(crate) fn attach(cgroup: impl AsFd, program: impl AsFd) -> io::Result<()> {
    change(PROG_ATTACH, cgroup.as_fd(), program.as_fd(), ALLOW_MULTI)
}

/// Detaches a program.
pub(crate) fn detach(cgroup: impl AsFd, program: impl AsFd) -> io::Result<()> {
    change(PROG_DETACH, cgroup.as_fd(), program.as_fd(), 0)
}

const PROG_QUERY: libc::c_long = 16;
/// Most programs of a cgroup that are looked at.
const PROGRAMS: usize = 64;

/// The part of `union bpf_attr` for queries.
#[repr(C)]
struct Query {
    target: RawFd,
    kind: u32,
    query_flags: u32,
    attach_flags: u32,
    programs: u64,
    count: u32,
    reserved: u32,
}

/// Returns the identifiers of the programs for socket operations that are attached to this cgroup itself.
pub(crate) fn attached(cgroup: impl AsFd) -> io::Result<Vec<u32>> {
    let mut programs = [0_u32; PROGRAMS];
    let mut query = Query {
        target: cgroup.as_fd().as_raw_fd(),
        kind: CGROUP_SOCK_OPS,
        query_flags: 0,
        attach_flags: 0,
        programs: programs.as_mut_ptr() as u64,
        count: PROGRAMS as u32,
        reserved: 0,
    };
    // SAFETY: the kernel reads and writes `query`, of this size, and writes at most `count` numbers to `programs`.
    Errno::result(unsafe { libc::syscall(libc::SYS_bpf, PROG_QUERY, &raw mut query, size_of::<Query>()) })?;
    Ok(programs[..(query.count as usize).min(PROGRAMS)].to_vec())
}

fn change(
    command: libc::c_long,
    cgroup: BorrowedFd<'_>,
    program: BorrowedFd<'_>,
    flags: u32,
) -> io::Result<()> {
    let attachment = Attachment {
        target: cgroup.as_raw_fd(),
        program: program.as_raw_fd(),
        kind: CGROUP_SOCK_OPS,
        flags,
        replaced: 0,
    };
    // SAFETY: the kernel reads `attachment`, of this size; both descriptors are open.
    Errno::result(unsafe {
        libc::syscall(libc::SYS_bpf, command, &raw const attachment, size_of::<Attachment>())
    })?;
    Ok(())
}

/// Version of the structures for capabilities with 64 bits.
const CAPABILITIES: u32 = 0x2008_0522;

/// `struct __user_cap_header_struct`
#[repr(C)]
struct CapabilityHeader {
    version: u32,
    thread: i32,
}

/// `struct __user_cap_data_struct`, for the lower and the upper 32 capabilities.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct CapabilitySets {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

static THIS_THREAD: CapabilityHeader = CapabilityHeader { version: CAPABILITIES, thread: 0 };

/// Returns the capabilities that this thread may use.
pub(crate) fn permitted_capabilities() -> io::Result<u64> {
    let mut sets = [CapabilitySets::default(); 2];
    // SAFETY: the kernel reads the header and writes the two sets of this version.
    Errno::result(unsafe { libc::syscall(libc::SYS_capget, &raw const THIS_THREAD, sets.as_mut_ptr()) })?;
    Ok(u64::from(sets[0].permitted) | u64::from(sets[1].permitted) << 32)
}

/// Sets the capabilities of this thread; it passes none on to programs.
pub(crate) fn set_capabilities(effective: u64, permitted: u64) -> io::Result<()> {
    let sets = [0, 32].map(|shift| CapabilitySets {
        effective: (effective >> shift) as u32,
        permitted: (permitted >> shift) as u32,
        inheritable: 0,
    });
    // SAFETY: the kernel reads the header and the two sets of this version.
    Errno::result(unsafe { libc::syscall(libc::SYS_capset, &raw const THIS_THREAD, sets.as_ptr()) })?;
    Ok(())
}

/// Makes sure that programs that this thread starts have no more privileges than it has.
pub(crate) fn gain_no_privileges() -> io::Result<()> {
    // SAFETY: no pointers are passed.
    Errno::result(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) })?;
    Ok(())
}

/// Makes a second process. Call it while this one has one thread: a lock that another holds would stay held.
pub(crate) fn fork() -> nix::Result<ForkResult> {
    // SAFETY: the caller has one thread.
    unsafe { nix::unistd::fork() }
}

/// Ends this process without the handlers and buffers that it has in common with the one that it was forked from.
pub(crate) fn exit_now() -> ! {
    // SAFETY: no pointers are passed.
    unsafe { libc::_exit(0) }
}

/// Closes all descriptors but this one, which becomes another one.
pub(crate) fn close_others(kept: OwnedFd) -> io::Result<OwnedFd> {
    // SAFETY: no pointers are passed, and no value of this process uses the descriptors any more: `kept` is forgotten, and
    // the first descriptor becomes that of the value that is returned.
    unsafe {
        Errno::result(libc::dup2(kept.into_raw_fd(), 0))?;
        Errno::result(libc::syscall(libc::SYS_close_range, 1, libc::c_uint::MAX, 0))?;
        Ok(OwnedFd::from_raw_fd(0))
    }
}

/// Binds a packet socket to the packets of all protocols of an interface, of both directions.
pub(crate) fn bind_to_interface(socket: impl AsFd, index: u32) -> io::Result<()> {
    // SAFETY: zero is a value of each field.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as libc::c_ushort;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = index.cast_signed();
    let size = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the kernel reads `address`, of this size.
    Errno::result(unsafe { libc::bind(socket.as_fd().as_raw_fd(), (&raw const address).cast(), size) })?;
    Ok(())
}

/// Returns memory to the system that was used for the start: the type information of the kernel takes 40 MB.
pub(crate) fn return_free_memory() {
    // musl does so by itself.
    #[cfg(target_env = "gnu")]
    // SAFETY: no pointers are passed.
    unsafe {
        libc::malloc_trim(0);
    }
}
