//! Standard output.

use crate::Error;
use std::io::{self, ErrorKind, Write as _};

/// Prints text at once. A reader such as `head` may have seen enough: a closed pipe is no error.
pub(crate) fn print(text: impl AsRef<[u8]>) -> Result<(), Error> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_ref()).and_then(|()| out.flush()) {
        Err(why) if why.kind() != ErrorKind::BrokenPipe => Err(Error::failed("standard output", &why)),
        _ => Ok(()),
    }
}
