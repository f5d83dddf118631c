//! Arrivals and departures, from the program of a packet socket.

use crate::{Error, system};
use airwnd_shape::{Echo, Segment};
use airwnd_units::{Bytes, Span, Time};
use aya::maps::{Array, MapData, MapError, RingBuf};
use aya::programs::SocketFilter;
use aya::{Ebpf, include_bytes_aligned};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use std::os::fd::OwnedFd;

static OBJECT: &[u8] = include_bytes_aligned!(concat!(env!("OUT_DIR"), "/shape.bpf.o"));
const PROGRAM: &str = "airwnd_shape";
/// Bytes of `struct sample` of `bpf/shape.bpf.c`.
const SAMPLE: usize = 48;
/// Least time between two reports of a flow without an echo, and more for each flow.
const INTERVAL: Span = Span::from_millis(2);
const INTERVAL_COST: Span = Span::from_micros(50);

/// Bytes that an interface has received and sent.
pub(crate) struct Watch {
    totals: Array<MapData, [u64; 2]>,
    interval: Array<MapData, u64>,
    samples: RingBuf<MapData>,
    /// The kernel keeps the program as long as the socket is open.
    _socket: OwnedFd,
}

impl Watch {
    /// Loads the program.
    pub fn load() -> Result<Ebpf, Error> {
        let mut ebpf = Ebpf::load(OBJECT).map_err(|why| Error::not_loaded(&why))?;
        program(&mut ebpf).load().map_err(|why| Error::not_loaded(&why))?;
        Ok(ebpf)
    }

    /// Observes the interface with this index.
    pub fn open(index: u32) -> Result<Watch, Error> {
        let mut ebpf = Watch::load()?;
        let failed = |why: &(dyn std::error::Error + 'static)| Error::failed("cannot observe packets", why);
        // Without a protocol the socket receives nothing before it is bound, and then nothing that the program refuses: all.
        let socket = socket(AddressFamily::Packet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)
            .map_err(|why| failed(&why))?;
        program(&mut ebpf).attach(&socket).map_err(|why| failed(&why))?;
        system::bind_to_interface(&socket, index).map_err(|why| failed(&why))?;
        let mut map = |name: &str| ebpf.take_map(name).expect("the object has this map");
        let refused = |why: MapError| Error::failed("cannot open the maps of the eBPF programs", &why);
        let mut watch = Watch {
            totals: map("totals").try_into().map_err(refused)?,
            interval: map("interval").try_into().map_err(refused)?,
            samples: map("samples").try_into().map_err(refused)?,
            _socket: socket,
        };
        watch.report_for(0)?;
        Ok(watch)
    }

    /// Adapts the number of reports to that of flows.
    pub fn report_for(&mut self, flows: usize) -> Result<(), Error> {
        let interval = INTERVAL.max(INTERVAL_COST * flows as u64);
        self.interval
            .set(0, interval.0, 0)
            .map_err(|why| Error::failed("cannot reach the eBPF programs", &why))
    }

    /// Passes the segments since the last call to `on_segment`; returns the bytes received and sent so far.
    pub fn read(&mut self, mut on_segment: impl FnMut(&Segment)) -> Result<[Bytes; 2], Error> {
        while let Some(sample) = self.samples.next() {
            if let Some(segment) = segment(&sample) {
                on_segment(&segment);
            }
        }
        let totals = self.totals.get(&0, 0);
        Ok(totals.map_err(|why| Error::failed("cannot reach the eBPF programs", &why))?.map(Bytes))
    }
}

fn program(ebpf: &mut Ebpf) -> &mut SocketFilter {
    let program = ebpf.program_mut(PROGRAM).expect("the object has this program");
    program.try_into().expect("the filter of a socket")
}

/// Reads `struct sample`; `None`: it is shorter.
fn segment(sample: &[u8]) -> Option<Segment> {
    let sample: &[u8; SAMPLE] = sample.get(..SAMPLE)?.try_into().ok()?;
    let word = |number: usize| {
        let bytes = &sample[8 * number..8 * number + 8];
        u64::from_ne_bytes(bytes.try_into().expect("eight bytes"))
    };
    let ts_val = u32::from_ne_bytes(sample[40..44].try_into().expect("four bytes"));
    let echo = Echo { sent: Time(word(3)), sent_bytes: Bytes(word(4)) };
    Some(Segment {
        now: Time(word(0)),
        flow: word(1),
        ts_val,
        echo: (word(3) != 0).then_some(echo),
        received: Bytes(word(2)),
    })
}

#[cfg(test)]
mod tests;
