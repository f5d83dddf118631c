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
/// Most observations that are processed before other tasks have their turn.
const BATCH: usize = 4096;

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
    /// Segments that the other end would refuse, on a router.
    pub implausible: u64,
    /// Windows that the map of the programs had no room for: these flows keep their own.
    pub full: u64,
}

/// The maps of one object file.
pub(crate) struct Maps {
    control: Array<MapData, [u64; 4]>,
    targets: HashMap<MapData, u64, [u64; 2]>,
    observations: RingBuf<MapData>,
    counters: PerCpuArray<MapData, u64>,
    netns: u64,
    /// Bytes before the IP header, on a router.
    link_header: u64,
    /// Windows as they were written.
    written: std::collections::HashMap<u64, Target>,
    full: u64,
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
            full: 0,
        })
    }

    /// Lets the programs act until `deadline`, and report each flow once in `interval`.
    pub fn allow_until(&mut self, deadline: Time, interval: Span) -> Result<(), Error> {
        self.control
            .set(0, [deadline.0, self.netns, self.link_header, interval.0], 0)
            .map_err(|why| Error::failed("cannot reach the eBPF programs", &why))
    }

    /// Passes waiting observations to `on_observation`; returns whether there were any.
    pub fn observe(&mut self, mut on_observation: impl FnMut(&Observation) -> Option<Target>) -> bool {
        for number in 0..BATCH {
            let Some(report) = self.observations.next() else { return number > 0 };
            let Some(seen) = Observation::read(&report) else { continue };
            drop(report);
            let target = on_observation(&seen);
            self.write(&seen, target);
        }
        true
    }

    fn write(&mut self, seen: &Observation, target: Option<Target>) {
        let id = seen.flow;
        let Some((Bytes(window), target)) = target.and_then(|target| Some((target.window?, target))) else {
            self.remove(id);
            return;
        };
        // Both programs round up to the unit of the window field.
        let unit = 1 << seen.shift;
        let is_current = self.written.get(&id).is_some_and(|last| {
            let in_force = last.window.unwrap_or_default().0.next_multiple_of(unit);
            in_force == window.next_multiple_of(unit) && seen.time + RENEW < last.valid_until
        });
        if is_current {
            return;
        }
        if self.targets.insert(id, [window, target.valid_until.0], 0).is_ok() {
            self.written.insert(id, target);
        } else {
            self.full += 1;
        }
    }

    /// Removes the window of a flow.
    pub fn remove(&mut self, flow: u64) {
        if self.written.remove(&flow).is_some() {
            // The program has removed it when the connection ended.
            let _ = self.targets.remove(&flow);
        }
    }

    /// Sets the window of a flow for good.
    #[cfg(test)]
    pub fn limit(&mut self, flow: u64, window: u64) {
        self.targets.insert(flow, [window, u64::MAX], 0).expect("room");
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
            implausible: total(7),
            full: self.full,
        }
    }
}

/// Readable when observations wait.
impl AsFd for Maps {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.observations.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::tests::observation;
    use crate::receiver::OBJECT;
    use aya::EbpfLoader;

    /// Nothing is attached. Without the privilege to load maps the message is checked instead.
    #[test]
    fn a_flow_without_room_keeps_its_own_window() {
        let mut ebpf = match EbpfLoader::new().map_max_entries("targets", 2).load(OBJECT) {
            Ok(ebpf) => ebpf,
            Err(why) => {
                let message = Error::not_loaded(&why).to_string();
                assert!(!message.contains('\n'), "{message}");
                return;
            }
        };
        let mut maps = Maps::take(&mut ebpf, 0).unwrap();
        let seen = observation(Span::from_millis(20));
        let target = |window| Some(Target { window, valid_until: seen.time + Span::from_secs(2) });
        let offer = |maps: &mut Maps, flow, window: Option<u64>| {
            maps.write(&Observation { flow, ..seen.clone() }, target(window.map(Bytes)));
            maps.counters().full
        };
        let fulls: Vec<u64> = (0..4).map(|flow| offer(&mut maps, flow, Some(10_000 + flow))).collect();
        assert_eq!(fulls, [0, 0, 1, 2]);
        assert!(maps.targets.get(&3, 0).is_err());
        // Room again: a flow has ended.
        offer(&mut maps, 0, None);
        assert_eq!(offer(&mut maps, 3, Some(20_000)), 2);
        assert_eq!(maps.targets.get(&3, 0).unwrap()[0], 20_000);
        // The shift of the window field is 7.
        offer(&mut maps, 3, Some(19_970));
        assert_eq!(maps.targets.get(&3, 0).unwrap()[0], 20_000);
        offer(&mut maps, 3, Some(19_960));
        assert_eq!(maps.targets.get(&3, 0).unwrap()[0], 19_960);
    }
}
