//! The maps that user space shares with the programs.

use crate::observation::Observation;
use crate::policy::Target;
use crate::{Error, system};
use airwnd_units::{Bytes, Span, Time};
use aya::Ebpf;
use aya::maps::{Array, HashMap, Map, MapData, MapError, PerCpuArray, RingBuf};
use std::os::fd::{AsFd, BorrowedFd};

/// A window is written again when it lapses within this time.
const RENEW: Span = Span::from_secs(1);

/// Counters of the programs, in the order of `enum counter` in `bpf/shared.h`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Outgoing ACKs.
    pub acks: u64,
    /// ACKs with a window that the guard has lowered.
    pub clamped: u64,
    /// Windows that the kernel has refused.
    pub refused: u64,
    /// Observations that found the ring buffer full.
    pub lost: u64,
    /// ACKs whose window could not be lowered further without taking back what was offered.
    pub held: u64,
    /// ACKs of connections whose handshake was not seen, on a router.
    pub unknown: u64,
    /// ACKs that must not be changed, on a router: MPTCP, TCP-AO, TCP-MD5, RST, urgent data.
    pub exempt: u64,
}

/// The maps of one object file.
pub(crate) struct Maps {
    control: Array<MapData, [u64; 3]>,
    targets: HashMap<MapData, u64, [u64; 3]>,
    observations: RingBuf<MapData>,
    counters: PerCpuArray<MapData, u64>,
    netns: u64,
    /// Bytes before the IP header, on a router.
    link_header: u64,
    /// Windows and codes as they were written.
    written: std::collections::HashMap<u64, (Target, u64)>,
    /// Number of the last code, of any flow.
    codes: u32,
}

impl Maps {
    pub fn take(ebpf: &mut Ebpf, link_header: u64) -> Result<Maps, Error> {
        let mut map = |name: &str| ebpf.take_map(name).expect("the object has this map");
        let failed = |why: MapError| Error::failed("cannot open the maps of the eBPF programs", &why);
        let netns = system::netns_cookie()
            .map_err(|why| Error::failed("cannot identify the network namespace", &why))?;
        let control: Map = map("control");
        Ok(Maps {
            control: control.try_into().map_err(failed)?,
            targets: map("targets").try_into().map_err(failed)?,
            observations: map("observations").try_into().map_err(failed)?,
            counters: map("counters").try_into().map_err(failed)?,
            netns,
            link_header,
            written: std::collections::HashMap::new(),
            codes: 0,
        })
    }

    /// Lets the programs act until `deadline`.
    pub fn allow_until(&mut self, deadline: Time) -> Result<(), Error> {
        self.control
            .set(0, [deadline.0, self.netns, self.link_header], 0)
            .map_err(|why| Error::failed("cannot reach the eBPF programs", &why))
    }

    /// Passes each waiting observation to `on_observation`.
    pub fn observe(&mut self, mut on_observation: impl FnMut(&Observation) -> Option<Target>) {
        // The place in the buffer is free again before the flow's window is written.
        while let Some(report) = self.observations.next().map(|report| Observation::read(&report)) {
            if let Some(seen) = report {
                let target = on_observation(&seen);
                self.write(&seen, target);
            }
        }
    }

    fn write(&mut self, seen: &Observation, target: Option<Target>) {
        let id = seen.flow;
        let Some((target, Bytes(window))) = target.and_then(|target| Some((target, target.window?))) else {
            self.remove(id);
            return;
        };
        let last = self.written.get(&id);
        let is_current = target.code.is_none()
            && last.is_some_and(|(last, _)| {
                last.window == target.window && seen.time + RENEW < last.valid_until
            });
        if is_current {
            return;
        }
        // Until an ACK has left, the last code is not sent yet.
        let code = target.code.map_or(last.map_or(0, |(_, code)| *code), |code| {
            // Zero is no number.
            self.codes = self.codes.checked_add(1).unwrap_or(1);
            u64::from(code.get()) | u64::from(self.codes) << 32
        });
        // A full map leaves the flow its own window.
        if self.targets.insert(id, [window, target.valid_until.0, code], 0).is_ok() {
            self.written.insert(id, (target, code));
        }
    }

    /// Removes the window of a flow.
    pub fn remove(&mut self, flow: u64) {
        if self.written.remove(&flow).is_some() {
            // The program has removed it when the connection ended.
            let _ = self.targets.remove(&flow);
        }
    }

    pub fn counters(&self) -> Counters {
        let total = |index: u32| self.counters.get(&index, 0).map_or(0, |values| values.iter().sum());
        Counters {
            acks: total(0),
            clamped: total(1),
            refused: total(2),
            lost: total(3),
            held: total(4),
            unknown: total(5),
            exempt: total(6),
        }
    }
}

/// Readable when observations wait.
impl AsFd for Maps {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.observations.as_fd()
    }
}
