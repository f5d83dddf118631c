//! Errors of one line, with the command that mends what is missing.

use std::fmt;
use std::fs;
use std::io;

use nix::errno::Errno;

/// A side or a part of it could not be made. The text is one line: what failed and, where one is known, the command
/// that mends it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(String);

impl Error {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// "what: why".
    pub(crate) fn failed(what: impl fmt::Display, why: impl Into<io::Error>) -> Self {
        Self(format!("{what}: {}", reason(&why.into())))
    }

    pub(crate) fn namespaces(why: Errno) -> Self {
        Self::with_remedy(
            "cannot create a user and a network namespace",
            why,
            namespace_remedy(why, &read_sysctl),
        )
    }

    pub(crate) fn tun(path: &str, why: Errno) -> Self {
        Self::with_remedy(&format!("cannot open {path}"), why, tun_remedy(path, why).unwrap_or_default())
    }

    /// A step inside a new user namespace was refused.
    pub(crate) fn refused(what: &str, why: Errno) -> Self {
        Self::with_remedy(what, why, apparmor_remedy(why, &read_sysctl).unwrap_or_default())
    }

    /// A system call was refused that every Linux since 5.3 has.
    pub(crate) fn refused_call(what: &str, call: &str, why: io::Error) -> Self {
        let forbidden = matches!(why.raw_os_error(), Some(libc::EPERM | libc::ENOSYS));
        let remedy = "; Linux before 5.3 lacks the call, and a seccomp filter may refuse it; in a container, start that \
                      with: --security-opt seccomp=unconfined";
        Self(format!("{what}: {call}: {}{}", reason(&why), if forbidden { remedy } else { "" }))
    }

    fn with_remedy(what: &str, why: Errno, remedy: String) -> Self {
        let separator = if remedy.is_empty() { "" } else { "; " };
        Self(format!("{what}: {}{separator}{remedy}", reason(&why.into())))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

/// The system's text without the number that `io::Error` adds.
fn reason(error: &io::Error) -> String {
    error.raw_os_error().map_or_else(|| error.to_string(), |code| Errno::from_raw(code).desc().to_string())
}

fn read_sysctl(name: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/sys/{}", name.replace('.', "/"))).ok()?;
    Some(text.trim().to_string())
}

/// Remedy for the first setting that forbids namespaces, in the order in which the kernel asks.
fn namespace_remedy(why: Errno, sysctl: &dyn Fn(&str) -> Option<String>) -> String {
    let is = |name: &str, value: &str| sysctl(name).as_deref() == Some(value);
    if is("kernel.unprivileged_userns_clone", "0") {
        return set("kernel.unprivileged_userns_clone", "1");
    }
    // ENOSPC without a zero means that as many are in use; user namespaces have most users.
    let limits = ["user", "mnt", "net", "pid"].map(|kind| format!("user.max_{kind}_namespaces"));
    let exhausted = limits.iter().find(|name| is(name, "0"));
    if let Some(name) = exhausted.or((why == Errno::ENOSPC).then_some(&limits[0])) {
        return set(name, "15000");
    }
    apparmor_remedy(why, sysctl).unwrap_or_else(|| {
        "a container or a security module forbids it; in a container, start that with: \
         --cap-add SYS_ADMIN --cap-add NET_ADMIN --security-opt seccomp=unconfined --security-opt apparmor=unconfined"
            .to_string()
    })
}

fn apparmor_remedy(why: Errno, sysctl: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let name = "kernel.apparmor_restrict_unprivileged_userns";
    let refused = matches!(why, Errno::EPERM | Errno::EACCES);
    (refused && sysctl(name).as_deref() == Some("1")).then(|| set(name, "0"))
}

fn set(name: &str, value: &str) -> String {
    format!("allow it with: sudo sysctl -w {name}={value}")
}

fn tun_remedy(path: &str, why: Errno) -> Option<String> {
    match why {
        Errno::ENOENT | Errno::ENODEV | Errno::ENXIO => Some(
            "load it with: sudo modprobe tun; in a container, start that with: --device /dev/net/tun"
                .to_string(),
        ),
        Errno::EACCES => Some(format!("allow it with: sudo chmod 666 {path}")),
        Errno::EPERM => Some("in a container, start that with: --device /dev/net/tun".to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remedy(why: Errno, name: &'static str, value: &'static str) -> String {
        namespace_remedy(why, &|asked| (asked == name).then(|| value.to_string()))
    }

    #[test]
    fn each_restriction_has_its_command() {
        for (why, name, value, command) in [
            (
                Errno::EPERM,
                "kernel.unprivileged_userns_clone",
                "0",
                "sysctl -w kernel.unprivileged_userns_clone=1",
            ),
            (Errno::ENOSPC, "user.max_user_namespaces", "0", "sysctl -w user.max_user_namespaces=15000"),
            (Errno::ENOSPC, "user.max_net_namespaces", "0", "sysctl -w user.max_net_namespaces=15000"),
            (
                Errno::EPERM,
                "kernel.apparmor_restrict_unprivileged_userns",
                "1",
                "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
            ),
        ] {
            let text = remedy(why, name, value);
            assert!(text.contains(command), "{name}={value}: {text}");
        }
        assert!(remedy(Errno::EPERM, "other", "").contains("container"));
    }

    #[test]
    fn an_inaccessible_device_has_its_command() {
        let text = Error::tun("/dev/net/tun", Errno::EACCES).to_string();
        assert_eq!(
            text,
            "cannot open /dev/net/tun: Permission denied; allow it with: sudo chmod 666 /dev/net/tun"
        );
        assert!(Error::tun("/dev/net/tun", Errno::ENOENT).to_string().contains("sudo modprobe tun"));
        assert!(!Error::tun("/dev/net/tun", Errno::EBUSY).to_string().contains(';'));
    }
}
