//! Packet captures of a run, as Wireshark reads them.
//!
//! [`Capture`] taps a run ([`airwnd_lab::run_tapped`]) and writes what it sees as pcapng or pcap: [`headers`]
//! makes the bytes of a packet from what the model knows of it, [`hosts`] says who has which address, and
//! [`pcapng`] and [`pcap`] are the two formats.
//!
//! The three formats are written here and not by a library: payloads are zeros that nobody stores, whose share
//! in a checksum is nothing, and a writer needs three kinds of blocks of all that pcapng has.

mod capture;
pub mod headers;
pub mod hosts;
pub mod pcap;
pub mod pcapng;

pub use capture::{Capture, Format, Settings};
