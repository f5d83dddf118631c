//! The socket by which `guard status` asks a running guard for its state.

use crate::log::SHOWN;
use crate::processes::Processes;
use crate::{Error, names, system};
use serde_json::Value;
use std::fs::{self, Permissions};
use std::io::{self, BufWriter, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Folder of the sockets, unless systemd provides one. One socket per guard, named by its process and its network
/// namespace: in containers the numbers of processes begin anew.
const FOLDER: &str = "/run/airwnd-guard";
/// The bound sockets of the network namespace, those of all users.
const SOCKETS: &str = "/proc/net/unix";
/// A reader that does not read must not hold up heartbeats.
const PATIENCE: Duration = Duration::from_millis(50);
/// Bytes of a request, which is the number of flows to be shown; bytes of an answer that are sent at once.
const REQUEST: usize = 32;
const BUFFER: usize = 1 << 16;

fn folder() -> PathBuf {
    std::env::var_os("RUNTIME_DIRECTORY").map_or_else(|| FOLDER.into(), PathBuf::from)
}

/// End of the names of the sockets in this network namespace.
fn suffix() -> Result<String, Error> {
    let netns = system::netns_cookie();
    let netns = netns.map_err(|why| Error::failed("cannot identify the network namespace", &why))?;
    Ok(format!("-{netns}.sock"))
}

/// The guard's end; the socket is removed with the value.
pub(crate) struct Server {
    listener: UnixListener,
    path: PathBuf,
}

impl Server {
    /// Opens a socket that only its owner can use.
    pub fn open() -> Result<Server, Error> {
        let folder = folder();
        let path = folder.join(format!("{}{}", std::process::id(), suffix()?));
        let open = || {
            fs::create_dir_all(&folder)?;
            // The folder closes the gap between making the socket and its permissions.
            fs::set_permissions(&folder, Permissions::from_mode(0o700))?;
            remove_dead(&folder)?;
            let listener = UnixListener::bind(&path)?;
            fs::set_permissions(&path, Permissions::from_mode(0o600))?;
            listener.set_nonblocking(true)?;
            Ok(listener)
        };
        let failed = |why: io::Error| Error::failed(format!("cannot open {}", path.display()), &why);
        Ok(Server { listener: open().map_err(failed)?, path })
    }

    /// Answers the waiting readers with the number of flows that each asks for.
    pub fn answer(&self, state: impl Fn(&mut BufWriter<UnixStream>, usize) -> io::Result<()>) {
        while let Ok((stream, _)) = self.listener.accept() {
            let send = |mut stream: UnixStream| {
                stream.set_nonblocking(false)?;
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.set_write_timeout(Some(PATIENCE))?;
                let mut request = [0; REQUEST];
                let length = stream.read(&mut request)?;
                let shown = std::str::from_utf8(&request[..length]).ok();
                let shown = shown.and_then(|text| text.trim_end().parse().ok()).unwrap_or(SHOWN);
                let mut out = BufWriter::with_capacity(BUFFER, stream);
                state(&mut out, shown)?;
                out.flush()
            };
            // A reader that has gone needs no answer.
            let _ = send(stream);
        }
    }
}

impl AsFd for Server {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Removes the sockets of processes that were killed.
fn remove_dead(folder: &Path) -> io::Result<()> {
    let sockets =
        fs::read_dir(folder)?.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_socket()));
    for path in sockets.map(|entry| entry.path()) {
        if UnixStream::connect(&path).is_err_and(|why| why.kind() == io::ErrorKind::ConnectionRefused) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

/// Returns the state of each running guard with its process identifier.
fn ask(shown: usize) -> Result<Vec<(String, Value)>, Error> {
    let folder = folder();
    let entries = match fs::read_dir(&folder) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(|why| Error::failed(folder.display(), &why))?,
    };
    let mut states = Vec::new();
    for path in entries.flatten().map(|entry| entry.path()) {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let process = name.split('-').next().unwrap_or_default().to_string();
        match read(&path, shown) {
            Ok(text) => {
                let state = serde_json::from_str(&text)
                    .map_err(|why| Error::failed(format!("answer of guard {process}"), &why))?;
                states.push((process, state));
            }
            // The socket of a process that was killed.
            Err(why) if why.kind() == io::ErrorKind::ConnectionRefused => {}
            Err(why) => return Err(Error::failed(path.display(), &why)),
        }
    }
    Ok(states)
}

/// Returns the state of each running guard, with the processes of its flows: at most `shown` of each place.
pub(crate) fn states(processes: &mut Processes, shown: usize) -> Result<Vec<(String, Value)>, Error> {
    let asked = ask(shown);
    let answered: Vec<_> = asked.iter().flatten().map(|(process, _)| process.as_str()).collect();
    let others = others(&fs::read_to_string(SOCKETS).unwrap_or_default(), &suffix()?, &answered);
    let others: String = others.iter().map(|(process, folder)| described(process, folder)).collect();
    let mut states = match asked {
        Ok(states) if states.is_empty() => {
            return Err(Error::new(format!("no guard is running that this user may ask{others}")));
        }
        Ok(states) => states,
        Err(why) => return Err(Error::new(format!("{why}{others}"))),
    };
    if let Some(others) = others.strip_prefix("; ") {
        eprintln!("{others}");
    }
    processes.add(&mut states);
    Ok(states)
}

/// Returns process and folder of the guards among the bound sockets that have not answered.
fn others(sockets: &str, suffix: &str, answered: &[&str]) -> Vec<(String, PathBuf)> {
    let guard = |line: &str| {
        let path = Path::new(line.split_whitespace().nth(7)?);
        let process = path.file_name()?.to_str()?.strip_suffix(suffix)?;
        let is_other = process.parse::<u32>().is_ok() && !answered.contains(&process);
        is_other.then(|| (process.to_string(), path.parent().unwrap_or(path).to_path_buf()))
    };
    sockets.lines().filter_map(guard).collect()
}

/// Describes a guard that has not answered: "; another guard: NAME NUMBER in CGROUP, user NUMBER, socket in FOLDER".
fn described(process: &str, folder: &Path) -> String {
    let user = fs::metadata(format!("/proc/{process}"))
        .map_or("unknown".to_string(), |about| about.uid().to_string());
    let (name, folder) = (names::described(process), names::printable(&folder.display().to_string()));
    format!("; another guard{name}, user {user}, RUNTIME_DIRECTORY={folder}")
}

fn read(path: &Path, shown: usize) -> io::Result<String> {
    let mut text = String::new();
    let mut stream = UnixStream::connect(path)?;
    // In one piece: the guard answers what it has read first.
    stream.write_all(shown.to_string().as_bytes())?;
    stream.read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guards_that_have_not_answered_are_found_by_their_sockets() {
        let folder = std::env::temp_dir().join(format!("airwnd-guard-others-{}", std::process::id()));
        fs::create_dir(&folder).expect("a new folder");
        let [mine, other] = ["1-7.sock", "2-7.sock"].map(|name| folder.join(name));
        let _sockets = [&mine, &other, &folder.join("3-8.sock"), &folder.join("x-7.sock")]
            .map(|path| UnixListener::bind(path).expect("a socket"));
        let sockets = fs::read_to_string(SOCKETS).expect("Linux has it");
        fs::remove_dir_all(&folder).expect("ours");
        let sockets: Vec<_> = sockets.lines().filter(|line| line.contains("airwnd-guard-others-")).collect();
        assert_eq!(sockets.len(), 4);
        assert_eq!(others(&sockets.join("\n"), "-7.sock", &["1"]), [("2".to_string(), folder.clone())]);
        let found = described(&std::process::id().to_string(), &folder);
        assert!(found.ends_with(&format!(
            ", user {}, RUNTIME_DIRECTORY={}",
            nix::unistd::getuid(),
            folder.display()
        )));
    }

    #[test]
    fn a_start_removes_the_sockets_of_killed_guards_only() {
        let folder = std::env::temp_dir().join(format!("airwnd-guard-control-{}", std::process::id()));
        fs::create_dir(&folder).expect("a new folder");
        let [killed, running, other] = ["1-7.sock", "2-7.sock", "notes"].map(|name| folder.join(name));
        // A listener does not remove its path; that of a killed process remains like this one.
        drop(UnixListener::bind(&killed).expect("a socket"));
        let _running = UnixListener::bind(&running).expect("a socket");
        fs::write(&other, "").expect("a file");
        assert!(killed.exists());
        remove_dead(&folder).expect("readable");
        let found = [&killed, &running, &other].map(|path| path.exists());
        fs::remove_dir_all(&folder).expect("ours");
        assert_eq!(found, [false, true, true]);
    }
}
