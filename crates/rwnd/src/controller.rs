//! The receive-window controller: inputs, decisions and declared capabilities.

use crate::{Carriage, Queued};
use airwnd_units::{BitRate, Bytes, Span, Time};
use std::fmt::Debug;
use std::num::NonZeroU8;

/// Connection properties known from the start.
#[derive(Clone, Copy, Debug)]
pub struct ReceiverContext {
    /// Payload bytes of a full segment.
    pub mss: Bytes,
    /// Receive buffer: maximum of any window.
    pub buffer: Bytes,
    /// Seed of this connection's random draws; runs with the same seed draw the same numbers.
    pub seed: u64,
}

/// Arrival of data, new or not: one segment, or several that the host has merged into one observation.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Arrival time by any monotonic clock.
    pub now: Time,
    /// Time since the segment was sent, by both ends' clocks; off by a constant if these differ. `None`: unknown. A
    /// controller that depends on it [declares](Capabilities::uses_one_way_delay) so.
    pub one_way_delay: Option<Span>,
    /// Number of merged segments, at least 1.
    pub segments: u32,
    /// Payload bytes.
    pub len: Bytes,
    /// Payload bytes received for the first time.
    pub new: Bytes,
    /// Whether the data starts at the next expected byte.
    pub in_order: bool,
    /// RTT sample completed by this arrival, measured at the receiver: from a TSval sent on an ACK to the first data
    /// that echoes it, or without timestamps the time in which one window of data arrived. Includes the time in which
    /// the sender had nothing to send.
    pub rtt: Option<Span>,
    /// Whether this data is a retransmission, or a segment refused as a duplicate since the last arrival was one. A
    /// retransmission starts below the highest byte received and has a newer TSval than the segment that brought that
    /// byte (RFC 9840 §4.3). A reordered segment has an older TSval, or the same within a tick. Without timestamps,
    /// data counts as retransmitted if it brings no new bytes, or if a gap has existed for half the minimum RTT.
    pub retransmission: bool,
}

/// Receiver state after the current event.
#[derive(Clone, Copy, Debug)]
pub struct RecvView {
    /// Payload bytes of a full segment.
    pub mss: Bytes,
    /// Ordinary window: the receive buffer less unread bytes.
    pub free: Bytes,
    /// Bytes in order that the application has not read yet.
    pub unread: Bytes,
    /// Bytes from the next expected one to the end of the data received out of order.
    pub early: Bytes,
    /// Bytes offered and not yet received in order.
    pub offered: Bytes,
    /// Bytes received in order since the start.
    pub received: Bytes,
    /// RTT: mean of the samples of the last round trip.
    pub rtt: Option<Span>,
    /// Minimum of these means.
    pub min_rtt: Option<Span>,
    /// State of the device beyond this connection.
    pub device: Device,
}

/// State of a device: all its connections, and its link.
///
/// Equal for all connections of the device that receive in the same direction. Filled in only for a controller that
/// [needs](Capabilities::needs) it; other fields are as in [`Device::default`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Device {
    /// Connections that receive data, from handshake to FIN, including this one. Those whose controller does not need the
    /// device state do not count.
    pub connections: u32,
    /// Minimum over these connections of the bytes received in order.
    pub min_received: Bytes,
    /// Maximum over these connections of the bytes received in order.
    pub max_received: Bytes,
    /// Payload bytes that have arrived in all connections of the device, in order or not, including those that have
    /// ended.
    pub received: Bytes,
    /// Bytes that have arrived at the device in any other traffic, with headers: datagrams, and connections that no such
    /// controller limits; zero: unknown.
    pub others: Bytes,
    /// Bytes that the device has sent, with headers: ACKs, and its uploads; zero: unknown.
    pub sent: Bytes,
    /// Minimum RTT sample of all connections of the device, including those that have ended; `None`: unknown, or their
    /// paths differ. The guard has minima by peer, see [`RwndController::on_path_rtt`].
    pub min_rtt: Option<Span>,
    /// Intervals of the device's arrivals in the presence of a queue, by the [queueing
    /// delays](RwndController::queueing_delay) of all connections, up to the arrival before this one; `None`: unknown.
    pub queued: Option<Queued>,
    /// Link to the device; `None`: unknown.
    pub link: Option<DeviceLink>,
}

/// Link to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceLink {
    /// Payload rate at which full segments can reach the device now, over all its connections.
    pub rate: BitRate,
    /// RTT of such a segment and its ACK through an empty network.
    pub base_rtt: Span,
}

/// Device state that a controller uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceNeeds {
    /// The connections of the device.
    pub connections: bool,
    /// The link to the device.
    pub link: bool,
}

impl RecvView {
    /// Offers `window`, at least `floor` segments and at most the free buffer.
    pub(crate) fn offer(&self, window: Bytes, floor: u64) -> Advertisement {
        Advertisement::Window(window.max(self.mss * floor).min(self.free))
    }
}

/// Advertisement carried by an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advertisement {
    /// Bytes beyond the acknowledgment number.
    Window(Bytes),
    /// An instruction to the sender, with a window. If codes take the place of the window, the sender keeps the largest
    /// window offered so far, so `window` must not be smaller.
    Code {
        /// Code in 1..=120, see [`arwa`](crate::arwa).
        code: NonZeroU8,
        /// Bytes beyond the acknowledgment number.
        window: Bytes,
    },
}

/// Needs and permissions of a controller, fixed by its parameters and equal for all connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Whether the controller requires timestamps, because its RTT samples are those of single segments or because it
    /// uses one-way delay.
    pub needs_timestamps: bool,
    /// Whether the controller uses [`Arrival::one_way_delay`]. Where that is `None` it restricts nothing, or counts the
    /// queues of both directions.
    pub uses_one_way_delay: bool,
    /// Whether the controller may take back offered bytes (RFC 9293 §3.8.6: strongly discouraged).
    pub may_shrink: bool,
    /// Maximum shift of the window field (RFC 7323 §2.2), at most 14, that keeps the field fine enough. With this shift
    /// a receiver offers at most 65535 bytes times two to this power, even if the buffer is larger.
    pub max_window_scale: u8,
    /// Carriage of codes to the [sender half](RwndController::sender_half); `None`: no sender half.
    pub sender_half: Option<Carriage>,
    /// Device state that the controller uses, up to date at each data segment.
    pub needs: DeviceNeeds,
    /// Whether the window follows from the free buffer alone. The controller is then not notified of arrivals or of data
    /// that is read on arrival, and of advertisements only when the window may have changed.
    pub is_static: bool,
}

impl Default for Capabilities {
    /// No needs, no shrinking, any window scale.
    fn default() -> Capabilities {
        Capabilities {
            needs_timestamps: false,
            uses_one_way_delay: false,
            may_shrink: false,
            max_window_scale: 14,
            sender_half: None,
            needs: DeviceNeeds::default(),
            is_static: false,
        }
    }
}

/// A receive-window controller.
///
/// # Contract
///
/// - An arrival of data calls [`on_segment`](RwndController::on_segment), then, when the application takes data,
///   [`on_copied`](RwndController::on_copied). `now` never decreases.
/// - Arrivals may be aggregated: one call for several consecutive segments (GRO), or for all of a millisecond.
///   [`Arrival::segments`] counts them, lengths are sums, and the RTT and the one-way delay are those of the newest
///   segment. `tests/aggregation.rs` states for each controller how far its windows may then differ from those for
///   single segments, and why.
/// - [`window`](RwndController::window) may be called any number of times, also for segments that are never sent.
///   [`on_advertised`](RwndController::on_advertised) reports what was sent.
/// - The caller limits the window to the free buffer and never takes back offered bytes unless
///   [`Capabilities::may_shrink`] allows it; [`Observer`](crate::Observer) does both.
/// - A controller allocates no memory after construction.
pub trait RwndController: Debug + Send + Sync {
    /// Returns the needs and permissions of the controller.
    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }
    /// Called when data arrives.
    fn on_segment(&mut self, _arrival: &Arrival, _view: &RecvView) {}
    /// Called when the path is known to have had this RTT, from other connections to the same peer, at any time after
    /// construction. The minimum RTT of the path is then at most `rtt`. The simulator does not call it.
    fn on_path_rtt(&mut self, _now: Time, _rtt: Span) {}
    /// Called when the application takes `copied` bytes: when it reads, or on arrival if it reads at once.
    fn on_copied(&mut self, _now: Time, _copied: Bytes, _view: &RecvView) {}
    /// Returns the advertisement for a segment that is sent now.
    fn window(&self, now: Time, view: &RecvView) -> Advertisement;
    /// Called when a segment was sent with this advertisement.
    fn on_advertised(&mut self, _now: Time, _advertisement: &Advertisement) {}
    /// Sets the window from outside. Returns whether the controller takes it.
    fn set_window(&mut self, _window: Bytes) -> bool {
        false
    }
    /// Returns the queueing delay of the newest segment, if the controller measures it.
    fn queueing_delay(&self) -> Option<Span> {
        None
    }
    /// Returns whether the controller leaves the sender to its own congestion control, because the queue is that of others.
    fn is_released(&self) -> bool {
        false
    }
    /// Returns whether other traffic of the device may keep the queue: the controller is released beside it, or probes
    /// whether it has gone.
    fn is_beside_others(&self) -> bool {
        false
    }
    /// Returns whether the last arrival has opened the window. The receiver then acknowledges at once, as Linux does
    /// (tcp_grow_window), so that the sender can use the larger window.
    fn has_opened(&self) -> bool {
        false
    }
    /// Returns the part that runs at the data sender, for controllers that [declare](Capabilities::sender_half) one.
    fn sender_half(&self) -> Option<Box<dyn SenderHalf>> {
        None
    }
}

/// An ACK as the input of a sender half.
#[derive(Clone, Copy, Debug)]
pub struct Instruction {
    /// Code carried by the ACK, if any.
    pub code: Option<NonZeroU8>,
    /// Congestion window after the sender's own congestion control has processed the ACK; an ACK with a code has not
    /// grown it.
    pub cwnd: Bytes,
    /// Largest window offered by the receiver so far.
    pub largest_window: Bytes,
}

/// Part of a receive-window control that runs at the data sender.
pub trait SenderHalf: Debug + Send + Sync {
    /// Returns the congestion window after an ACK that arrived outside loss recovery.
    fn on_ack(&mut self, instruction: &Instruction) -> Bytes;
}
