//! Receive-window control: what the receiver offers.
//!
//! A controller is policy. The [`Endpoint`](crate::Endpoint) bounds what it says by the free buffer, never
//! takes back what was offered unless the controller insists, avoids silly windows, and measures the
//! round-trip time that a receiver can see.

mod parts;

use crate::Config;
use airwnd_catalog::{Choice, family};
use airwnd_units::{BitRate, Bytes, Span, Time};
use std::fmt::Debug;
use std::num::NonZeroU8;

/// Receive-window control: what the receiver offers.
#[family(name = "rwnd", build = fn(ctx: &ReceiverContext) -> Box<dyn RwndController>)]
#[derive(Clone, Debug, PartialEq)]
pub enum Spec {
    Fixed(fixed::Params),
    Autotuning(autotuning::Params),
    Drwa(drwa::Params),
    Arwa(arwa::Params),
    Dfcsd(dfcsd::Params),
    Rtac(rtac::Params),
    Rtfc(rtfc::Params),
    Rledbat(rledbat::Params),
    Oracle(oracle::Params),
}

/// How a window code travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Carriage {
    /// In place of the window, as the ARWA paper has it: field values 1..=120 are codes.
    #[word = "window-field"]
    WindowField,
    /// In an experimental TCP option, beside an ordinary window.
    //= exception arwa-option
    #[word = "tcp-option"]
    TcpOption,
}

impl Spec {
    /// How this controller's codes travel, if it has codes.
    pub fn carriage(&self) -> Option<Carriage> {
        match self {
            Spec::Arwa(params) => Some(params.carriage),
            _ => None,
        }
    }

    /// The half of this controller that runs at the sender of the data, if it has one.
    pub fn sender_half(&self) -> Option<arwa::ArwaSender> {
        match self {
            Spec::Arwa(params) => Some(arwa::ArwaSender::new(params)),
            _ => None,
        }
    }
}

/// What a controller is told when its endpoint is made.
#[derive(Clone, Copy, Debug)]
pub struct ReceiverContext {
    /// Payload bytes of a full segment.
    pub mss: Bytes,
    /// The receive buffer, which no window exceeds.
    pub buffer: Bytes,
    /// Names the random draws of this connection; the same in every run with the same seed.
    pub seed: u64,
}

impl ReceiverContext {
    /// That of an endpoint with these parameters.
    pub fn of(config: &Config, seed: u64) -> ReceiverContext {
        ReceiverContext { mss: Bytes(u64::from(config.mss)), buffer: config.receive_buffer, seed }
    }
}

/// A data segment that arrived, new or not.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// When it arrived, by the simulation's clock.
    pub now: Time,
    /// When it was sent, by the same clock. A real receiver knows this no better than TSval tells: a
    /// controller that uses it has the clock's tick, offset and drift as parameters.
    pub sent_at: Time,
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
/// [wants](RwndController::wants) it; all else is as in [`Device::default`].
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
    fn offer(&self, window: Bytes, floor: u64) -> Advertisement {
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
        /// 1..=120, see [`arwa`].
        code: NonZeroU8,
        /// So many bytes beyond the acknowledgment.
        window: Bytes,
    },
}

/// Decides the receive window.
///
/// For each data segment the endpoint calls [`on_segment`](RwndController::on_segment), then, if the
/// application took data, [`on_copied`](RwndController::on_copied), then, if a segment goes out,
/// [`window`](RwndController::window), once for each segment.
pub trait RwndController: Debug + Send + Sync {
    /// What it wants to know of its device besides its own connection. It is told before each data segment.
    fn wants(&self) -> Wants {
        Wants::default()
    }
    /// A data segment arrived.
    fn on_segment(&mut self, _arrival: &Arrival, _view: &RecvView) {}
    /// The application took `copied` bytes: when it reads, or on arrival if it reads at once.
    fn on_copied(&mut self, _now: Time, _copied: Bytes, _view: &RecvView) {}
    /// What the segment that is about to go out says. A code is said once.
    fn window(&mut self, now: Time, view: &RecvView) -> Advertisement;
    /// Whether the last segment has opened the window: then it is acknowledged at once, as by Linux (tcp_grow_window),
    /// so that the sender hears of it.
    fn has_opened(&self) -> bool {
        false
    }
    /// Whether it is lost without timestamps.
    fn needs_timestamps(&self) -> bool {
        false
    }
    /// The largest shift of the window field (RFC 7323 §2.2) that leaves it its steps. A larger buffer than 65535 bytes
    /// times two to this power is not offered whole.
    fn max_shift(&self) -> u8 {
        14
    }
    /// Whether bytes that were offered may be taken back (RFC 9293 §3.8.6: strongly discouraged).
    fn may_shrink(&self) -> bool {
        false
    }
}

#[cfg(test)]
pub(crate) mod tests_support {
    use super::*;

    pub const MSS: u64 = 1000;

    pub fn ctx() -> ReceiverContext {
        ReceiverContext { mss: Bytes(MSS), buffer: Bytes(1 << 24), seed: 1 }
    }

    pub fn view(rtt: Option<Span>) -> RecvView {
        RecvView {
            mss: Bytes(MSS),
            free: Bytes(1 << 24),
            unread: Bytes::ZERO,
            early: Bytes::ZERO,
            offered: Bytes::ZERO,
            received: Bytes::ZERO,
            rtt,
            min_rtt: rtt,
            device: Device::default(),
        }
    }

    pub fn arrival(now: Time, sent_at: Time, len: u64) -> Arrival {
        Arrival {
            now,
            sent_at,
            len: Bytes(len),
            new: Bytes(len),
            in_order: true,
            rtt: None,
            retransmission: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::tests_support::*;
    use super::*;
    use airwnd_catalog::{Node, Param};
    use proptest::prelude::*;

    proptest! {
        /// No member starves a sender: whatever arrives, it offers two segments or speaks in codes.
        #[test]
        fn every_member_leaves_room_for_two_segments(
            events in prop::collection::vec((1..80_u64, 1..200_u64, 1..20_u64), 1..200),
        ) {
            for kind in Spec::kinds() {
                let node = Node::from_json(&format!("\"{kind}\""), "test").unwrap();
                let mut rwnd = Spec::read(&node).unwrap().build(&ctx());
                let mut now = Time(1_000_000_000);
                for &(gap, delay, segments) in &events {
                    now += Span::from_millis(gap);
                    let view = view(Some(Span::from_millis(delay)));
                    rwnd.on_segment(&arrival(now, now - Span::from_millis(delay), MSS), &view);
                    rwnd.on_copied(now, Bytes(segments * MSS), &view);
                    match rwnd.window(now, &view) {
                        Advertisement::Window(window) => prop_assert!(window >= Bytes(2 * MSS), "{}: {:?}", kind, window),
                        Advertisement::Code { code, .. } => prop_assert!(code.get() <= 120),
                    }
                }
            }
        }
    }
}
