//! Whether the running kernel may clamp windows.

use crate::Error;
use std::fs;

/// The oldest kernel that the programs have been verified on.
const OLDEST: (u32, u32) = (6, 1);
/// First releases of the stable branches with commit 58d3aade20cd ("tcp: fix mid stream window clamp."). Before it, a
/// clamp that is set while the window is zero closes the window permanently.
const FIXED: [(u32, u32, u32); 2] = [(6, 1, 68), (6, 6, 7)];
const FIXED_FROM_THE_START: (u32, u32) = (6, 7);

/// A kernel release: 6.1.68.
type Release = (u32, u32, u32);

/// Refuses kernels whose receive windows must not be clamped.
pub(crate) fn refuse_defects() -> Result<(), Error> {
    let read = |name: &str| fs::read_to_string(format!("/proc/{name}")).unwrap_or_default();
    let (release, version) = (read("sys/kernel/osrelease"), read("sys/kernel/version"));
    judge(release.trim(), version.trim()).map_err(Error::new)
}

fn judge(release: &str, version: &str) -> Result<(), String> {
    let number = stable_release(release, version);
    let (major, minor, patch) =
        number.ok_or_else(|| format!("Linux {release}: the release is not a number"))?;
    if (major, minor) < OLDEST {
        return Err(format!("Linux {release}: needs Linux {}.{} or later", OLDEST.0, OLDEST.1));
    }
    let is_fixed = (major, minor) >= FIXED_FROM_THE_START
        || FIXED.iter().any(|fixed| (fixed.0, fixed.1) == (major, minor) && patch >= fixed.2);
    if is_fixed {
        return Ok(());
    }
    Err(format!(
        "Linux {release}: a lowered window may stay closed permanently (mended in 6.1.68, 6.6.7 and 6.7 by \
         58d3aade20cd); install a later kernel, or guard on a router with --forward"
    ))
}

/// Debian names its packages by the first release of a branch, and the release itself in the version.
fn stable_release(release: &str, version: &str) -> Option<Release> {
    let debian = version.split_once("Debian ").and_then(|(_, rest)| parse(rest));
    debian.or_else(|| parse(release))
}

fn parse(text: &str) -> Option<Release> {
    let end = text.find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap_or(text.len());
    let mut numbers = text[..end].split('.').map(str::parse);
    let (major, minor) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    Some((major, minor, numbers.next().map_or(Some(0), Result::ok)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_with_the_zero_window_defect_are_refused() {
        for (release, version, is_fine) in [
            ("6.18.44", "#1 SMP", true),
            ("6.7.0", "#1", true),
            ("6.8.0-45-generic", "#45-Ubuntu SMP", true),
            ("6.6.6", "#1", false),
            ("6.6.7", "#1", true),
            ("6.5.13", "#1", false),
            ("6.1.67", "#1", false),
            ("6.1.68", "#1", true),
            ("6.1.0-56-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.170-1 (2026-05-01)", true),
            ("6.1.0-13-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.55-1 (2023-09-29)", false),
            ("5.15.150", "#1", false),
            ("7.0-rc1", "#1", true),
            ("custom", "#1", false),
        ] {
            assert_eq!(judge(release, version).is_ok(), is_fine, "{release} {version}");
        }
        assert_eq!(judge("5.15.150", "").unwrap_err(), "Linux 5.15.150: needs Linux 6.1 or later");
    }
}
