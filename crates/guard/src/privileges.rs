//! Privileges of the process after the start.

use crate::{Error, system};

/// Linux capabilities as bits (capabilities(7), `linux/capability.h`).
pub(crate) const DAC_READ_SEARCH: u64 = 1 << 2;
pub(crate) const NET_ADMIN: u64 = 1 << 12;

/// Gives up all capabilities except `kept`, as far as the process has them, and the way to others through programs that
/// it starts. Capabilities are those of a thread; the guard has one.
///
/// The maps are reached through descriptors that are open, and removing a program from a cgroup needs the descriptors of
/// both. What the guard still reads are the rules: `DAC_READ_SEARCH` is kept if `is_readable` fails without it.
pub(crate) fn give_up(kept: u64, is_readable: impl FnOnce() -> bool) -> Result<(), Error> {
    let reduce = || {
        let all = system::permitted_capabilities()?;
        system::set_capabilities(all & kept, all)?;
        let kept = if is_readable() { kept } else { kept | DAC_READ_SEARCH };
        system::set_capabilities(all & kept, all & kept)?;
        system::gain_no_privileges()
    };
    reduce().map_err(|why| Error::failed("cannot give up privileges", &why))
}
