//! AVQ: adaptive virtual queue.

use super::fifo::delegate_to_fifo;
use super::parts::limit::Limit;
use super::parts::pace::Pace;
use super::{Cause, Fifo, QueueContext, QueueDisc, QueueEvents, Waiting};
use airwnd_catalog::Params;
use airwnd_units::{BitRate, Bytes, Span, Time};

/// AVQ: drops packets that overflow a virtual queue whose capacity adapts to a target link utilisation.
///
/// The virtual queue has the buffer of the real one and is served at a virtual capacity V, at most the capacity C of
/// the link. Each arrival of b bytes, t seconds after the last, updates V:
///
/// ```math
/// V \leftarrow \max(\min(V + \alpha \gamma C \, t, C) - \alpha b, 0)
/// ```
///
/// V decreases while the arrival rate exceeds gamma C.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "Kunniyur, Srikant: Analysis and Design of an Adaptive Virtual Queue (AVQ) Algorithm for \
              Active Queue Management, SIGCOMM 2001")]
pub struct Params {
    /// Adaptation rate of the virtual capacity.
    #[param(default = 0.15, range = 0.0..=1000.0, unit = "1/s", source = "Kunniyur and Srikant 2001 §5")]
    pub alpha: f64,
    /// Target utilisation of the link.
    #[param(basic, default = 0.98, range = 0.0..=1.0, unit = "1", source = "Kunniyur and Srikant 2001 §5")]
    pub gamma: f64,
    /// Capacity C of the link; `none`: its rate, measured if the rate varies.
    #[param(default = None, range = BitRate(1)..=BitRate(1_000_000_000_000))]
    #[param(unit = "bit/s", source = "Kunniyur and Srikant 2001, figure 1")]
    pub capacity: Option<BitRate>,
    /// Mark ECN-capable packets instead of dropping them.
    #[param(basic, default = true, unit = "true or false", source = "Kunniyur and Srikant 2001, figure 1")]
    pub ecn: bool,
    /// Buffer size of the real and the virtual queue.
    #[param(basic, default = Bytes(100_000), range = Bytes(1)..=Bytes(1 << 40))]
    #[param(unit = "B", source = "Kunniyur and Srikant 2001 §5: 100 packets of 1000 B")]
    pub buffer: Bytes,
    /// Maximum number of packets in the real queue, including a partly sent one; `none`: no limit.
    #[param(default = None, range = 1..=1_000_000_000)]
    #[param(unit = "packets", source = "Kunniyur and Srikant 2001, figure 1")]
    pub packets: Option<u64>,
}

/// A FIFO with a virtual queue.
pub struct Avq {
    params: Params,
    limit: Limit,
    queue: Fifo,
    pace: Pace,
    /// Bytes in the virtual queue.
    virtual_queue: f64,
    /// In bytes per second; `None`: the real capacity is not known yet.
    virtual_capacity: Option<f64>,
    /// Time of the last arrival.
    last: Time,
}

impl Avq {
    /// Creates an empty queue.
    pub fn new(params: Params, ctx: &QueueContext) -> Self {
        Avq {
            limit: Limit { bytes: Some(params.buffer), packets: params.packets },
            pace: Pace::new(params.capacity.or(ctx.rate)),
            params,
            queue: Fifo::default(),
            virtual_queue: 0.0,
            virtual_capacity: None,
            last: Time::ZERO,
        }
    }

    /// Returns whether a packet of this size overflows the virtual queue, and updates it.
    //= Kunniyur and Srikant 2001, figure 1
    fn overflows(&mut self, now: Time, size: Bytes) -> bool {
        let Params { alpha, gamma, buffer, .. } = self.params;
        let Some(capacity) = self.pace.bytes_per_second() else { return false };
        let virtual_capacity = self.virtual_capacity.unwrap_or(capacity);
        let (passed, size) = (now.since(self.last).as_secs(), size.0 as f64);
        self.virtual_queue = (self.virtual_queue - virtual_capacity * passed).max(0.0);
        let overflows = self.virtual_queue + size > buffer.0 as f64;
        if !overflows {
            self.virtual_queue += size;
        }
        let risen = (virtual_capacity + alpha * gamma * capacity * passed).min(capacity);
        self.virtual_capacity = Some((risen - alpha * size).max(0.0));
        self.last = now;
        overflows
    }
}

impl QueueDisc for Avq {
    fn enqueue(&mut self, now: Time, mut packet: Waiting, held: Bytes, events: &mut dyn QueueEvents) {
        let is_hit = self.overflows(now, packet.size);
        if is_hit && !(self.params.ecn && packet.ecn.is_capable()) {
            return events.dropped(packet, Cause::Early);
        }
        if !self.limit.admits(self.queue.backlog(), held, packet.size) {
            return events.dropped(packet, Cause::Full);
        }
        if is_hit {
            packet.mark(events);
        }
        self.queue.push(packet);
    }

    fn dequeue(&mut self, now: Time, _events: &mut dyn QueueEvents) -> Option<Waiting> {
        let packet = self.queue.pop()?;
        self.pace.left(now, packet.size, !self.queue.is_empty());
        Some(packet)
    }

    fn expire(&mut self, now: Time, lifetime: Span, expired: &mut dyn FnMut(Waiting)) {
        self.queue.expire(now, lifetime, expired);
        if self.queue.is_empty() {
            self.pace.emptied();
        }
    }

    delegate_to_fifo!(queue);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::tests::{Seen, ctx, packet};
    use airwnd_units::Span;

    /// Sends packets of 1000 B at even gaps through a queue of 1 MB/s, each dequeued at once.
    fn drops(gap_us: u64, count: u32) -> (Avq, usize) {
        let ctx = QueueContext { rate: Some(BitRate(8_000_000)), ..ctx() };
        let (mut queue, mut seen) = (Avq::new(Params::default(), &ctx), Seen::default());
        for key in 0..count {
            let now = Time::ZERO + Span::from_micros(gap_us * u64::from(key));
            queue.enqueue(now, packet(key, 1000, now), Bytes::ZERO, &mut seen);
            queue.dequeue(now, &mut seen);
        }
        (queue, seen.dropped.len())
    }

    /// A load below gamma C passes unchanged, and the virtual capacity stays at that of the link.
    #[test]
    fn a_load_below_the_target_passes() {
        let (queue, dropped) = drops(1030, 100_000);
        assert_eq!(dropped, 0);
        // Each arrival subtracts alpha b after the capacity has returned to C.
        assert!((queue.virtual_capacity.unwrap() - (1e6 - 0.15 * 1000.0)).abs() < 1.0);
    }

    /// dV/dt = alpha (gamma C - lambda): a load of 1.25 C reduces V by 0.15 * 0.27 of C per second.
    #[test]
    fn an_overload_lowers_the_virtual_capacity() {
        let (queue, dropped) = drops(800, 12_500);
        let expected = 1e6 * (1.0 - 0.15 * (1.25 - 0.98) * 10.0);
        let found = queue.virtual_capacity.unwrap();
        assert!((found / expected - 1.0).abs() < 0.001, "{found} {expected}");
        assert!(dropped > 1000, "{dropped}");
    }
}
