//! Registers a congestion control whose functions are eBPF programs (struct_ops), which aya cannot.
#![expect(unsafe_code, reason = "system calls")]

use crate::layout::{self, Layout};
use aya::Ebpf;
use aya_obj::{Function, Object};
use nix::errno::Errno;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

// Numbers of include/uapi/linux/bpf.h.
const MAP_CREATE: libc::c_long = 0;
const MAP_UPDATE_ELEM: libc::c_long = 2;
const MAP_DELETE_ELEM: libc::c_long = 3;
const PROG_LOAD: libc::c_long = 5;
const BTF_LOAD: libc::c_long = 18;
const LINK_CREATE: libc::c_long = 28;
const MAP_TYPE_STRUCT_OPS: u32 = 26;
const PROG_TYPE_STRUCT_OPS: u32 = 27;
const STRUCT_OPS: u32 = 44;
const F_LINK: u32 = 1 << 13;

/// Congestion controls that unprivileged processes may choose (include/net/tcp.h).
const TCP_CONG_NON_RESTRICTED: u32 = 1;
/// Room for the messages of the verifier.
const LOG: usize = 1 << 16;

/// Arguments of a system call, of which the rest is zero.
#[repr(C, align(8))]
struct Attributes([u8; 160]);

impl Attributes {
    fn new() -> Attributes {
        Attributes([0; 160])
    }

    fn u32(mut self, at: usize, value: u32) -> Attributes {
        self.0[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        self
    }

    fn fd(self, at: usize, fd: &impl AsFd) -> Attributes {
        self.u32(at, fd.as_fd().as_raw_fd() as u32)
    }

    fn pointer<T>(mut self, at: usize, data: &[T]) -> Attributes {
        self.0[at..at + 8].copy_from_slice(&(data.as_ptr() as u64).to_ne_bytes());
        self
    }

    fn name(mut self, at: usize, name: &str) -> Attributes {
        self.0[at..at + name.len()].copy_from_slice(name.as_bytes());
        self
    }

    /// Makes the call. The memory behind pointers must be valid for what the kernel reads and writes there.
    unsafe fn call(&self, command: libc::c_long) -> io::Result<libc::c_long> {
        // SAFETY: the kernel reads the attributes, of this size; the caller answers for the pointers in them.
        Ok(Errno::result(unsafe { libc::syscall(libc::SYS_bpf, command, self.0.as_ptr(), self.0.len()) })?)
    }

    /// As `call`, for commands that return a file descriptor.
    unsafe fn open(&self, command: libc::c_long) -> io::Result<OwnedFd> {
        // SAFETY: the kernel has opened the descriptor for this call alone.
        unsafe { Ok(OwnedFd::from_raw_fd(self.call(command)? as i32)) }
    }
}

/// A registered congestion control, until the value is dropped. Connections that use it keep it.
#[derive(Debug)]
pub(crate) struct Congestion {
    map: OwnedFd,
    /// `None`: this kernel has no such links (before 6.4), the entry of the map counts.
    link: Option<OwnedFd>,
}

impl Congestion {
    /// Registers `name` with these functions, each a member of `struct tcp_congestion_ops` and a program of `object`.
    /// `ebpf` has the maps of `object`.
    pub fn register(
        object: &[u8],
        ebpf: &Ebpf,
        name: &str,
        functions: &[(&str, &str)],
    ) -> io::Result<Congestion> {
        let btf = layout::read()?;
        let missing = |what: &str| io::Error::other(format!("the kernel has no {what}"));
        let find = |name: &str| layout::find(&btf, name).ok_or_else(|| missing(name));
        let operations = find("tcp_congestion_ops")?;
        let value = find("bpf_struct_ops_tcp_congestion_ops")?;
        let (_, start) = value.member("data").ok_or_else(|| missing("data of congestion controls"))?;
        let object = relocated(object, ebpf)?;
        let mut image = vec![0_u8; value.size];
        let mut put = |member: &str, bytes: &[u8]| {
            let (index, at) = operations.member(member).ok_or_else(|| missing(member))?;
            image[start + at..start + at + bytes.len()].copy_from_slice(bytes);
            Ok::<usize, io::Error>(index)
        };
        put("name", name.as_bytes())?;
        put("flags", &TCP_CONG_NON_RESTRICTED.to_ne_bytes())?;
        let mut programs = Vec::new();
        for (member, program) in functions {
            let function = function(&object, program)?;
            let (index, _) = operations.member(member).ok_or_else(|| missing(member))?;
            let program = load(function, member, &object.license, operations.id, index)?;
            put(member, &u64::from(program.as_raw_fd() as u32).to_ne_bytes())?;
            programs.push(program);
        }
        install(&value, &image)
    }
}

impl Drop for Congestion {
    fn drop(&mut self) {
        if self.link.is_none() {
            let key = [0_u32];
            let attributes = Attributes::new().fd(0, &self.map).pointer(8, &key);
            // SAFETY: the kernel reads the key.
            let _ = unsafe { attributes.call(MAP_DELETE_ELEM) };
        }
    }
}

/// Reads the object file, with fields and maps relocated.
fn relocated(object: &[u8], ebpf: &Ebpf) -> io::Result<Object> {
    let mut object = Object::parse(object).map_err(io::Error::other)?;
    let btf = aya_obj::btf::Btf::from_sys_fs().map_err(io::Error::other)?;
    object.relocate_btf(&btf).map_err(io::Error::other)?;
    let text_sections = object.functions.keys().map(|(section, _)| *section).collect();
    let parsed = object.maps.clone();
    let maps = parsed.iter().filter_map(|(name, map)| Some((name.as_str(), fd_of(ebpf, name)?, map)));
    object.relocate_maps(maps, &text_sections).map_err(io::Error::other)?;
    Ok(object)
}

fn fd_of(ebpf: &Ebpf, name: &str) -> Option<i32> {
    use aya::maps::Map;
    match ebpf.map(name)? {
        Map::Array(data) | Map::SkStorage(data) => Some(data.fd().as_fd().as_raw_fd()),
        _ => None,
    }
}

fn function<'a>(object: &'a Object, name: &str) -> io::Result<&'a Function> {
    let program = object.programs.get(name);
    let function = program.and_then(|program| object.functions.get(&program.function_key()));
    function.ok_or_else(|| io::Error::other(format!("no program {name}")))
}

/// Loads a program as the function `index` of the structure `kind`.
fn load(function: &Function, name: &str, license: &CString, kind: u32, index: usize) -> io::Result<OwnedFd> {
    let mut log = vec![0_u8; LOG];
    let attributes = Attributes::new()
        .u32(0, PROG_TYPE_STRUCT_OPS)
        .u32(4, function.instructions.len() as u32)
        .pointer(8, &function.instructions)
        .pointer(16, license.as_bytes_with_nul())
        .u32(24, 1)
        .u32(28, LOG as u32)
        .pointer(32, &log)
        .name(48, name)
        .u32(68, index as u32)
        .u32(108, kind);
    // SAFETY: the kernel reads the instructions and the licence, and writes at most `LOG` bytes to `log`.
    let loaded = unsafe { attributes.open(PROG_LOAD) };
    loaded.map_err(|why| {
        log.truncate(log.iter().position(|byte| *byte == 0).unwrap_or(LOG));
        let log = String::from_utf8_lossy(&log);
        let last = log.lines().rfind(|line| !line.starts_with("processed ")).unwrap_or_default();
        if last.is_empty() { why } else { io::Error::other(format!("{why}: {last}")) }
    })
}

/// Creates the structure and registers it.
fn install(value: &Layout, image: &[u8]) -> io::Result<Congestion> {
    let types = own_types()?;
    let create = |flags: u32| {
        let attributes = Attributes::new()
            .u32(0, MAP_TYPE_STRUCT_OPS)
            .u32(4, 4)
            .u32(8, value.size as u32)
            .u32(12, 1)
            .u32(16, flags)
            .name(28, "airwnd_arwa")
            .fd(48, &types)
            .u32(60, value.id);
        // SAFETY: there are no pointers.
        unsafe { attributes.open(MAP_CREATE) }
    };
    let (map, has_links) = match create(F_LINK) {
        Ok(map) => (map, true),
        Err(why) if why.raw_os_error() == Some(libc::EINVAL) => (create(0)?, false),
        Err(why) => return Err(why),
    };
    let key = [0_u32];
    let update = Attributes::new().fd(0, &map).pointer(8, &key).pointer(16, image);
    // SAFETY: the kernel reads the key and as many bytes of the image as values of the map have.
    unsafe { update.call(MAP_UPDATE_ELEM)? };
    let link = Attributes::new().fd(0, &map).u32(8, STRUCT_OPS);
    // SAFETY: there are no pointers.
    let link = has_links.then(|| unsafe { link.open(LINK_CREATE) }).transpose()?;
    Ok(Congestion { map, link })
}

/// Type information of this process, with one integer. The kernel wants some with the map and does not use it.
fn own_types() -> io::Result<OwnedFd> {
    const STRINGS: &[u8; 5] = b"\0int\0";
    const INTEGER: [u32; 4] = [1, 1 << 24, 4, 32];
    let mut btf = 0xeb9f_u16.to_ne_bytes().to_vec();
    btf.extend([1, 0]);
    let length = size_of_val(&INTEGER) as u32;
    let header = [24, 0, length, length, STRINGS.len() as u32];
    btf.extend(header.into_iter().chain(INTEGER).flat_map(u32::to_ne_bytes));
    btf.extend(STRINGS);
    let attributes = Attributes::new().pointer(0, &btf).u32(16, btf.len() as u32);
    // SAFETY: the kernel reads as many bytes as given.
    unsafe { attributes.open(BTF_LOAD) }
}
