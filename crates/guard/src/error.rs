//! Errors of one line.

use std::fmt;

/// Why the guard cannot run. The text is one line: what failed and, where one is known, the command that mends it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(String);

impl Error {
    pub(crate) fn new(text: impl Into<String>) -> Error {
        Error(text.into())
    }

    /// The kernel does not load an eBPF program or a map.
    pub(crate) fn not_loaded(why: &(dyn std::error::Error + 'static)) -> Error {
        let mut causes = std::iter::successors(Some(why), |why| why.source());
        let is_forbidden = causes.any(|why| {
            let code = why.downcast_ref::<std::io::Error>().and_then(std::io::Error::raw_os_error);
            code == Some(libc::EPERM)
        });
        if is_forbidden {
            return Error::new(
                "no permission to load eBPF programs; run it with: sudo, or with the capabilities CAP_BPF, \
                 CAP_NET_ADMIN and CAP_PERFMON",
            );
        }
        Error::failed("the kernel refuses the eBPF programs", why)
    }

    /// "what: why", with the causes of `why`.
    pub(crate) fn failed(what: impl fmt::Display, why: &(dyn std::error::Error + 'static)) -> Error {
        let causes = std::iter::successors(Some(why), |why| why.source());
        let texts = causes.map(|why| in_one_line(&why.to_string()));
        let mut reasons: Vec<String> = Vec::new();
        for text in texts {
            // Errors often repeat the text of their cause.
            if !reasons.last().is_some_and(|last| last.contains(&text)) {
                reasons.push(text);
            }
        }
        Error(format!("{what}: {}", reasons.join(": ")))
    }
}

/// The output of the kernel's verifier has many lines; the reason is in the last one before the statistics.
fn in_one_line(text: &str) -> String {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines().next().unwrap_or_default();
    let statistics = ["processed ", "verification time", "stack depth"];
    let is_statistics = |line: &&str| statistics.iter().any(|start| line.starts_with(start));
    match lines().skip(1).filter(|line| !is_statistics(line)).last() {
        Some(last) => format!("{first}: {last}"),
        None => first.to_string(),
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

impl From<airwnd_catalog::Error> for Error {
    fn from(error: airwnd_catalog::Error) -> Error {
        Error(error.to_string())
    }
}
