//! The receive-window controller: its inputs, its decisions, its declared capabilities.

use crate::Carriage;
use airwnd_units::{BitRate, Bytes, Span, Time};
use std::fmt::Debug;
use std::num::NonZeroU8;

/// What a controller knows of its connection from the start.
#[derive(Clone, Copy, Debug)]
pub struct ReceiverContext {
    /// Payload bytes of a full segment.
    pub mss: Bytes,
    /// The receive buffer, which no window exceeds.
    pub buffer: Bytes,
    /// Names the random draws of this connection; the same in every run with the same seed.
    pub seed: u64,
}

/// Data that arrived, new or not: a segment, or several that the host has merged into one observation.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// When it arrived, by any clock that does not go back.
    pub now: Time,
    /// Time since it was sent, by both ends' clocks: right up to a constant if these differ. `None` where it is not
    /// known; a controller that cannot do without [declares](Capabilities::needs_one_way_delay) so.
    pub one_way_delay: Option<Span>,
    /// Segments that it stands for, at least 1.
    pub segments: u32,
    /// Payload bytes.
    pub len: Bytes,
    /// Payload bytes that had not arrived before.
    pub new: Bytes,
    /// Whether it is the next expected segment.
    pub in_order: bool,
    /// A round-trip time that it completes, seen from here: from a TSval sent on an ACK to the first data
    /// that echoes it, or without timestamps the time in which one window of data arrived. Includes the time
    /// that the sender had nothing to send.
    pub rtt: Option<Span>,
    /// Whether the sender sent it, or one since the last arrival that was refused for being here already, for a second
    /// time: it begins below the highest byte that has come, and its TSval is newer than the one that came with that byte
    /// (RFC 9840 §4.3). What was overtaken has an older one, or the same within a tick. Without timestamps: it brings
    /// nothing, or something has been missing for half the least round trip.
    pub retransmission: bool,
}

/// The receiver's state after the event at hand.
#[derive(Clone, Copy, Debug)]
pub struct RecvView {
    /// Payload bytes of a full segment.
    pub mss: Bytes,
    /// The ordinary window: the receive buffer less what the application has yet to read.
    pub free: Bytes,
    /// Bytes that the application has yet to read.
    pub unread: Bytes,
    /// Bytes from the next expected one to the end of what has arrived before its turn.
    pub early: Bytes,
    /// Bytes offered and not yet arrived in order.
    pub offered: Bytes,
    /// Bytes received in order since the start.
    pub received: Bytes,
    /// The round-trip time: the mean of the samples of the last round trip.
    pub rtt: Option<Span>,
    /// The least of these means.
    pub min_rtt: Option<Span>,
    /// What is known beyond this connection.
    pub device: Device,
}

/// What a device knows that one of its connections does not: what its other connections do, and its link.
///
/// The same for all connections of the device that receive in the same direction. Told only to a controller that
/// [wants](Capabilities::wants) it; all else is as in [`Device::default`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Device {
    /// Connections that receive data now, from their handshake to their FIN, this one included.
    pub connections: u32,
    /// Bytes that the one of these that has received the least has received in order.
    pub least_received: Bytes,
    /// The same of the one that has received the most.
    pub most_received: Bytes,
    /// What is known of the link.
    pub link: Option<DeviceLink>,
}

/// What is known of the link to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceLink {
    /// The rate at which payload can come to the device now in full segments, all its connections together.
    pub rate: BitRate,
    /// The round trip of such a segment and its ACK through an empty network.
    pub base_rtt: Span,
}

/// What a controller wants to know of its device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wants {
    /// Of its connections.
    pub connections: bool,
    /// Of its link.
    pub link: bool,
}

impl RecvView {
    /// A window of at least so many segments that the buffer has room for.
    pub(crate) fn offer(&self, window: Bytes, floor: u64) -> Advertisement {
        Advertisement::Window(window.max(self.mss * floor).min(self.free))
    }
}

/// What an ACK shall say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advertisement {
    /// So many bytes beyond the acknowledgment.
    Window(Bytes),
    /// An instruction to the sender, along with a window. Where codes take the place of the window, the
    /// sender goes on with the largest window that it was told, so `window` must not be smaller.
    Code {
        /// 1..=120, see [`arwa`](crate::arwa).
        code: NonZeroU8,
        /// So many bytes beyond the acknowledgment.
        window: Bytes,
    },
}

/// Needs and permissions of a controller: fixed by its parameters, the same for all connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Whether it cannot work without timestamps: its round trips are those of single segments, or it goes by
    /// one-way delays.
    pub needs_timestamps: bool,
    /// Whether it decides by [`Arrival::one_way_delay`]. Where that is `None` it restricts nothing.
    pub needs_one_way_delay: bool,
    /// Whether bytes that were offered may be taken back (RFC 9293 §3.8.6: strongly discouraged).
    pub may_shrink: bool,
    /// The largest shift of the window field (RFC 7323 §2.2), at most 14, that leaves it its steps. A larger buffer than
    /// 65535 bytes times two to this power is not offered whole.
    pub max_window_scale: u8,
    /// How codes travel to its [half at the sender](RwndController::sender_half); `None` if it has no such half.
    pub sender_half: Option<Carriage>,
    /// Knowledge of the device that it uses besides its own connection, up to date at each data segment.
    pub wants: Wants,
}

impl Default for Capabilities {
    /// Needs nothing, never takes back, any scale.
    fn default() -> Capabilities {
        Capabilities {
            needs_timestamps: false,
            needs_one_way_delay: false,
            may_shrink: false,
            max_window_scale: 14,
            sender_half: None,
            wants: Wants::default(),
        }
    }
}

/// Decides the receive window.
///
/// # Contract
///
/// - For data that arrives comes [`on_segment`](RwndController::on_segment), then, when the application takes data,
///   [`on_copied`](RwndController::on_copied). `now` does not go back.
/// - Arrivals may be aggregated: one call for several consecutive segments (GRO), or for all of a millisecond.
///   [`Arrival::segments`] counts them, lengths are sums, the round-trip time and the one-way delay are those
///   of the newest segment. `tests/aggregation.rs` states for each controller how far its windows may then differ from
///   those for single segments, and why.
/// - [`window`](RwndController::window) may be called any number of times, also for segments that are never sent.
///   [`on_advertised`](RwndController::on_advertised) reports what was sent.
/// - The caller bounds the window by the free buffer and never takes back what was offered unless
///   [`Capabilities::may_shrink`] allows that; [`Observer`](crate::Observer) does both.
/// - Nothing is allocated after construction.
pub trait RwndController: Debug + Send + Sync {
    /// Its needs and permissions.
    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }
    /// Data arrived.
    fn on_segment(&mut self, _arrival: &Arrival, _view: &RecvView) {}
    /// The application took `copied` bytes: when it reads, or on arrival if it reads at once.
    fn on_copied(&mut self, _now: Time, _copied: Bytes, _view: &RecvView) {}
    /// The advertisement for a segment that goes out now.
    fn window(&self, now: Time, view: &RecvView) -> Advertisement;
    /// A segment was sent with this advertisement.
    fn on_advertised(&mut self, _now: Time, _said: &Advertisement) {}
    /// Whether the last arrival has opened the window: then it is acknowledged at once, as by Linux (tcp_grow_window),
    /// so that the sender hears of it.
    fn has_opened(&self) -> bool {
        false
    }
    /// The half that runs at the sender of the data, for controllers whose capabilities
    /// [say](Capabilities::sender_half) that they have one.
    fn sender_half(&self) -> Option<Box<dyn SenderHalf>> {
        None
    }
}

/// An ACK as the sender's half of a control sees it.
#[derive(Clone, Copy, Debug)]
pub struct Instruction {
    /// The code that the ACK carries, if any.
    pub code: Option<NonZeroU8>,
    /// The congestion window, after the sender's own congestion control has seen the ACK; with a code that has not grown it.
    pub cwnd: Bytes,
    /// The largest window that the receiver has offered.
    pub largest_window: Bytes,
}

/// The half of a receive-window control that runs at the sender of the data.
pub trait SenderHalf: Debug + Send + Sync {
    /// Returns the congestion window after an ACK that arrived outside loss recovery.
    fn on_ack(&mut self, instruction: &Instruction) -> Bytes;
}
