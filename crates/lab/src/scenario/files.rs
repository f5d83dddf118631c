//! Files named by a scenario.

use crate::scenario::recordings;
use airwnd_catalog::{File, Files, Opened};
use std::io::{BufReader, Cursor, Read as _};
use std::path::Path;

/// First bytes of a file compressed with gzip (RFC 1952 §2.3.1).
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// Maximum size of a file in bytes.
const MAX_BYTES: u64 = 256 << 20;

/// Returns the text of a path that is neither a file nor a folder, or a message that names the path; `None`: nothing is
/// there.
///
/// A pipe can be read once and may block, so the caller reads it: it keeps the text for further scenarios of the same
/// source, also when the pipe is gone, and can be interrupted.
pub type ReadPipe<'a> = &'a dyn Fn(&Path) -> Option<Result<String, String>>;

/// Refuses pipes.
pub(crate) fn no_pipe(path: &Path) -> Option<Result<String, String>> {
    path.exists().then(|| Err(format!("{} cannot be read: it is not a regular file", path.display())))
}

/// Folder to which the file names of a scenario are relative.
pub(crate) struct Folder<'a> {
    pub path: &'a Path,
    pub read_pipe: ReadPipe<'a>,
}

impl Files for Folder<'_> {
    fn read(&self, name: &str) -> Result<File, String> {
        let path = self.path.join(name);
        let origin = path.display().to_string();
        if let Some(text) = self.piped(&path) {
            return Ok(File { origin, text: text?.into() });
        }
        match text(&path) {
            Ok(text) => Ok(File { origin, text: text.into() }),
            Err(why) => Err(unreadable(&origin, &why)),
        }
    }

    fn open(&self, name: &str) -> Result<Opened, String> {
        let path = self.path.join(name);
        let origin = path.display().to_string();
        if let Some(text) = self.piped(&path) {
            return Ok(Opened { origin, input: Box::new(Cursor::new(text?)) });
        }
        match open(&path) {
            Ok(file) => Ok(Opened { origin, input: Box::new(BufReader::new(file)) }),
            Err(why) => Err(unreadable(&origin, &why)),
        }
    }

    fn read_trace(&self, name: &str) -> Result<File, String> {
        if let Some(text) = recordings::shipped(name) {
            return Ok(File { origin: name.into(), text: text.into() });
        }
        self.read(name).map_err(|why| {
            format!("{why}; included link traces: `{}`", recordings::link_traces().join("`, `"))
        })
    }
}

impl Folder<'_> {
    /// The text of a pipe; `None`: the path is not one.
    fn piped(&self, path: &Path) -> Option<Result<String, String>> {
        if path.is_file() || path.is_dir() { None } else { (self.read_pipe)(path) }
    }
}

fn unreadable(origin: &str, why: &str) -> String {
    format!("{origin} cannot be read: {why}")
}

/// Opens a file that is not a folder.
fn open(path: &Path) -> Result<std::fs::File, String> {
    if path.is_dir() { Err("it is a folder".into()) } else { std::fs::File::open(path).map_err(reason) }
}

/// The system's text without the number that `io::Error` adds.
fn reason(error: std::io::Error) -> String {
    let text = error.to_string();
    let number = error.raw_os_error().map(|code| format!(" (os error {code})"));
    number.and_then(|number| text.strip_suffix(&number)).unwrap_or(&text).to_string()
}

/// Reads the text of a regular file, without a byte order mark. Lines may end with a carriage return alone.
///
/// The limit applies while reading, because the length of a kernel file (as in `/proc`) is not known in advance.
fn text(path: &Path) -> Result<String, String> {
    let mut bytes = Vec::new();
    open(path)?.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(reason)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(format!("it has more than {} MiB", MAX_BYTES >> 20));
    }
    if bytes.starts_with(&GZIP) {
        return Err(
            "it is compressed with gzip; decompress it, or give it as a pipe, as in <(zcat FILE)".into()
        );
    }
    let text = String::from_utf8(bytes).map_err(|_| "it is not a text in UTF-8".to_string())?;
    let text = text.strip_prefix('\u{feff}').map(str::to_string).unwrap_or(text);
    // Only where it ends lines: the digest of a link trace is that of its text.
    Ok(if text.contains('\n') { text } else { text.replace('\r', "\n") })
}
