//! Tap that writes a capture file.

use crate::radio::{self, RadioFrames, RadioLayer};
use crate::{headers, pcap, pcapng};
use airwnd_lab::Scenario;
use airwnd_lab::radio::RadioRecord;
use airwnd_lab::tap::{Carried, Crossing, Node, Sight, Tap};
use airwnd_units::Time;
use std::io::{self, Write};
use std::sync::Arc;

/// Format of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// pcapng: any number of nodes, each an interface.
    Pcapng,
    /// The older pcap, of one node.
    Pcap,
}

/// Capture settings.
#[derive(Clone, Debug)]
pub struct Settings {
    /// File format.
    pub format: Format,
    /// Nodes to capture, in the order of their interfaces; exactly one for [`Format::Pcap`].
    pub nodes: Vec<Node>,
    /// Bytes kept of each packet; 0: all; `None`: the headers.
    pub snaplen: Option<u32>,
    /// Leave out packets of simulated flows, in an emulation.
    pub real_only: bool,
    /// Layers of the radio interface to capture, each an interface behind those of the nodes; only in pcapng.
    pub radio: Vec<RadioLayer>,
}

/// The bytes of real packets, in an emulation.
pub trait Frames: Send + Sync {
    /// Appends the bytes of the frame with this number.
    fn append(&self, number: u32, to: &mut Vec<u8>);
}

/// Writes the captured nodes' packets during a run.
///
/// A write error ends the run; [`finish`](Capture::finish) returns it.
pub struct Capture<W> {
    to: W,
    settings: Settings,
    /// Interface of each captured node, sorted by node.
    interfaces: Vec<(Node, u32)>,
    /// Number of packets in each UE's tunnel, downlink and uplink.
    in_tunnel: Vec<[u16; 2]>,
    /// `None` in a simulation.
    frames: Option<Arc<dyn Frames>>,
    /// `None` without layers of the radio interface.
    radio: Option<RadioFrames>,
    headers: Vec<u8>,
    record: Vec<u8>,
    failure: Option<io::Error>,
}

impl<W: Write> Capture<W> {
    /// Creates a capture and writes the file header.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn new(to: W, settings: Settings, scenario: &Scenario, seed: u64) -> io::Result<Capture<W>> {
        Capture::of_frames(to, settings, scenario, seed, None)
    }

    /// Creates a capture of an emulation with these frames.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn of_frames(
        to: W,
        settings: Settings,
        scenario: &Scenario,
        seed: u64,
        frames: Option<Arc<dyn Frames>>,
    ) -> io::Result<Capture<W>> {
        let mut interfaces: Vec<(Node, u32)> = settings.nodes.iter().copied().zip(0..).collect();
        interfaces.sort_unstable();
        let radio = scenario.radio_interface().filter(|_| !settings.radio.is_empty()).map(|interface| {
            RadioFrames::new(interface, Time::ZERO + scenario.warmup, settings.radio.clone())
        });
        let mut capture = Capture {
            to,
            settings,
            interfaces,
            in_tunnel: vec![[0; 2]; scenario.ues() as usize],
            frames,
            radio,
            headers: Vec::with_capacity(headers::LONGEST),
            record: Vec::new(),
            failure: None,
        };
        capture.begin(scenario, seed)?;
        Ok(capture)
    }

    fn begin(&mut self, scenario: &Scenario, seed: u64) -> io::Result<()> {
        let snaplen = self.settings.snaplen.unwrap_or(headers::LONGEST as u32);
        let link_type = match self.frames {
            _ if self.is_cooked() => pcapng::LINUX_SLL,
            Some(_) => pcapng::ANY_IP,
            None => pcapng::IPV4,
        };
        let Capture { to, settings, record, .. } = self;
        if settings.format == Format::Pcap {
            pcap::header(record, snaplen, link_type);
            return to.write_all(record);
        }
        let writer = format!("airwnd {}", env!("CARGO_PKG_VERSION"));
        let name = &scenario.name;
        pcapng::section(record, &writer, &format!("scenario: {name}\nseed: {seed}\n{writer}"));
        to.write_all(record)?;
        for node in &settings.nodes {
            pcapng::interface(record, &node.to_string(), node.interface(), snaplen, link_type);
            to.write_all(record)?;
        }
        for layer in &settings.radio {
            pcapng::interface(record, layer.word(), layer.interface(), 0, radio::EXPORTED_PDU);
            to.write_all(record)?;
        }
        Ok(())
    }

    /// Whether a header of [`pcapng::LINUX_SLL`] precedes each packet.
    fn is_cooked(&self) -> bool {
        self.frames.is_some() && self.interfaces.len() > 1
    }

    /// Flushes the file.
    ///
    /// # Errors
    /// If not all could be written.
    pub fn finish(mut self) -> io::Result<()> {
        match self.failure.take() {
            Some(failure) => Err(failure),
            None => self.to.flush(),
        }
    }
}

impl<W: Write + Send> Tap for Capture<W> {
    fn packet(&mut self, sight: &Sight) {
        let tunnel = &mut self.in_tunnel[sight.ue as usize][sight.direction as usize];
        let sequence = *tunnel;
        if matches!(sight.node, Node::Enb(_)) {
            *tunnel = tunnel.wrapping_add(1);
        }
        let Ok(place) = self.interfaces.binary_search_by_key(&sight.node, |(node, _)| *node) else { return };
        let mut length = match (sight.carried, &self.frames) {
            (Carried::Frame { number, ecn, .. }, Some(frames)) => {
                self.headers.clear();
                self.headers.resize(40, 0);
                frames.append(number, &mut self.headers);
                headers::frame(&mut self.headers, sight, ecn, sequence)
            }
            (_, Some(_)) if self.settings.real_only => return,
            _ => headers::packet(&mut self.headers, sight, sequence),
        };
        if self.is_cooked() {
            length += pcapng::cook(&mut self.headers, sight.crossing);
        }
        let kept = match self.settings.snaplen {
            None => self.headers.len().min(headers::LONGEST),
            Some(0) => length,
            Some(snaplen) => length.min(snaplen as usize),
        };
        let (shown, zeros) = match self.headers.get(..kept) {
            Some(cut) => (cut, 0),
            None => (&self.headers[..], kept - self.headers.len()),
        };
        let record = &mut self.record;
        match self.settings.format {
            Format::Pcap => pcap::packet(record, sight.at, length as u32, (shown, zeros)),
            Format::Pcapng => {
                let interface = self.interfaces[place].1;
                pcapng::packet(record, interface, sight.at, sight.crossing, length as u32, (shown, zeros));
            }
        }
        if self.failure.is_none() {
            self.failure = self.to.write_all(record).err();
        }
    }

    fn radio(&mut self, seen: &RadioRecord) {
        let Capture { radio: Some(radio), settings, to, record, failure, .. } = self else { return };
        let first = settings.nodes.len();
        radio.see(seen, &mut |place, at, frame| {
            let (interface, length) = ((first + place) as u32, frame.len() as u32);
            pcapng::packet(record, interface, at, Crossing::Out, length, (frame, 0));
            if failure.is_none() {
                *failure = to.write_all(record).err();
            }
        });
    }

    fn continues(&self) -> bool {
        self.failure.is_none()
    }
}
