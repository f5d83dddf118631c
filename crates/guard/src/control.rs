//! The socket by which `guard status` asks a running guard for its state.

use crate::log::SHOWN;
use crate::processes::Processes;
use crate::{Error, system};
use serde_json::Value;
use std::fs::{self, Permissions};
use std::io::{self, BufWriter, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Folder of the sockets, unless systemd provides one. One socket per guard, named by its process and its network
/// namespace: in containers the numbers of processes begin anew.
const FOLDER: &str = "/run/airwnd-guard";
/// A reader that does not read must not hold up heartbeats.
const PATIENCE: Duration = Duration::from_millis(50);
/// Bytes of a request, which is the number of flows to be shown; bytes of an answer that are sent at once.
const REQUEST: usize = 32;
const BUFFER: usize = 1 << 16;

fn folder() -> PathBuf {
    std::env::var_os("RUNTIME_DIRECTORY").map_or_else(|| FOLDER.into(), PathBuf::from)
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
        let netns = system::netns_cookie()
            .map_err(|why| Error::failed("cannot identify the network namespace", &why))?;
        let path = folder.join(format!("{}-{netns}.sock", std::process::id()));
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
    let mut states = ask(shown)?;
    if states.is_empty() {
        return Err(Error::new("no guard is running that this user may ask"));
    }
    processes.add(&mut states);
    Ok(states)
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
