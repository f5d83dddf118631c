//! A file.

use super::{Source, Transport, Write};
use airwnd_catalog::params;
use airwnd_units::{Bytes, Time};

params! {
    /// Transfer: a fixed number of bytes over one TCP connection, which is then closed.
    ///
    /// Its flow completion time runs from the first SYN to the arrival of the last byte in order.
    pub struct Params ("DFCSD 2019 §5.1: flows of 64 KB to 10 MB") {
        /// Bytes to send.
        pub size: Bytes = Bytes(1 << 20), unit "B", range Bytes(1)..=Bytes(1 << 40), source "a typical object";
    }
}

/// A source of one object.
pub struct Transfer {
    size: Bytes,
}

impl Transfer {
    /// A source of an object of this size.
    pub fn new(params: Params) -> Self {
        Transfer { size: params.size }
    }
}

impl Source for Transfer {
    fn transport(&self) -> Transport {
        Transport::Tcp
    }
    fn write(&mut self, _now: Time) -> Write {
        Write::Whole(self.size)
    }
    fn size(&self) -> Option<Bytes> {
        Some(self.size)
    }
}
