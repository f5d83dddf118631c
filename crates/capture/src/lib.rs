//! Packet captures of a run, for Wireshark.
//!
//! [`Capture`] taps a run ([`airwnd_lab::run_tapped`]) and writes the observed packets as pcapng or pcap: [`headers`]
//! builds the bytes of a packet from the model's segment or datagram, [`hosts`] assigns addresses, and [`pcapng`] and
//! [`pcap`] implement the two formats. [`radio`] builds frames of MAC and RLC from the records of a run.
//!
//! No library is used for headers and files: payloads are zeros that are never stored and add nothing to a checksum,
//! and the writer needs only three kinds of pcapng blocks.

mod capture;
pub mod headers;
pub mod hosts;
pub mod pcap;
pub mod pcapng;
pub mod radio;

pub use capture::{Capture, Format, Frames, Settings};
