//! Receive-window control: controllers at the receiver, and receiver-side measurements from TCP headers.
//!
//! A [controller](RwndController) sets the window. An [`Observer`] reads the headers of one direction of a connection
//! and measures the inputs of controllers: arrivals, RTT samples, retransmissions. It also keeps the right edge of the
//! window, with rounding and silly-window avoidance. Neither depends on an endpoint, a clock or a simulator. Simulated
//! and real endpoints drive them in the same way:
//!
//! * each incoming data segment, or several merged: [`Observer::on_segment`], [`RwndController::on_segment`] and, when
//!   the application takes data, [`RwndController::on_copied`];
//! * each outgoing ACK: [`RwndController::window`], [`Observer::edge_for`], then [`Observer::on_sent`] and
//!   [`RwndController::on_advertised`].
//!
//! A controller declares its needs as [`Capabilities`]. One that sends instructions to the data sender also implements
//! [`SenderHalf`]. The [`Carriage`] selects the header field that carries the instructions.
//!
//! ```
//! use airwnd_catalog::{Node, Param};
//! use airwnd_rwnd::{Advertisement, Device, Incoming, Observer, Outgoing, ReceiverContext, Seq, Spec};
//! use airwnd_units::{Bytes, Time};
//!
//! let spec = Spec::read(&Node::from_toml("kind = \"drwa\"", "example").unwrap()).unwrap();
//! let (mss, buffer) = (Bytes(1448), Bytes(1 << 20));
//! let mut controller = spec.build(&ReceiverContext { mss, buffer, seed: 1 });
//! let mut observer = Observer::new(mss, controller.capabilities().may_shrink);
//! observer.synchronise(Seq(100), None);
//! observer.set_shift(7);
//!
//! let ack = |observer: &mut Observer, controller: &mut dyn airwnd_rwnd::RwndController, now| {
//!     let view = observer.view(buffer, Bytes::ZERO, Device::default());
//!     let advertisement = controller.window(now, &view);
//!     let edge = observer.edge_for(&advertisement, view.free);
//!     observer.on_sent(now, &Outgoing { ack: observer.nxt(), edge, ts_val: None });
//!     controller.on_advertised(now, &advertisement);
//!     observer.field(observer.nxt())
//! };
//! assert_eq!(ack(&mut observer, &mut *controller, Time(0)), 512); // 64 KiB in units of 128 B
//!
//! let segment = Incoming {
//!     seq: Seq(101),
//!     len: 1448,
//!     segments: 1,
//!     fin: false,
//!     timestamps: None,
//!     one_way_delay: None,
//! };
//! let now = Time(20_000_000);
//! let observed = observer.on_segment(now, &segment);
//! let view = observer.view(buffer, Bytes::ZERO, Device::default());
//! controller.on_segment(&observed.arrival, &view);
//! controller.on_copied(now, Bytes(observed.in_order.into()), &view);
//! assert_eq!(observer.received(), 1448);
//! ```

mod carriage;
mod controller;
pub mod ledbat;
mod observer;
mod outside;
mod parts;
mod queued;
mod ranges;
mod seq;
pub mod timestamps;

pub use carriage::{Carriage, Decoded, Encoded};
pub use controller::{
    Advertisement, Arrival, Capabilities, Device, DeviceLink, DeviceNeeds, Instruction, ReceiverContext,
    RecvView, RwndController, SenderHalf,
};
pub use observer::{Incoming, Observed, Observer, Outgoing};
pub use parts::downlink::Queue;
pub use parts::small_windows::MAX_SHIFT;
pub use queued::{Queued, QueuedMeter};
pub use seq::{Seq, SeqRange};
pub use timestamps::{TimestampClock, Timestamps};

use airwnd_catalog::family;
use airwnd_units::Bytes;

/// Receive-window control: the window that the receiver advertises.
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
    Standing(standing::Params),
    #[outside]
    Plugin(plugin::Params),
    #[outside]
    Python(python::Params),
    // An example of docs/how-to/add-an-algorithm.md.
    #[cfg(test)]
    #[path = "../../../docs/how-to/algorithms/paced.rs"]
    Paced(paced::Params),
}

impl Spec {
    /// Name in results; a plug-in's with its settings, and `whole` with its file or module.
    pub fn label(&self, whole: bool) -> String {
        match self {
            Spec::Plugin(plugin) => plugin.name(whole),
            Spec::Python(class) => class.name(whole),
            _ => self.kind(),
        }
    }
}

/// Placeholder connection: capabilities do not depend on the connection.
const ANY: ReceiverContext = ReceiverContext { mss: Bytes(1460), buffer: Bytes(65_535), seed: 0 };

impl Spec {
    /// Returns the capabilities of a controller with these parameters. A class in Python is not executed for it, and needs
    /// nothing.
    pub fn capabilities(&self) -> Capabilities {
        match self {
            Spec::Python(_) => Capabilities::default(),
            Spec::Plugin(params) => params.sample(&ANY).capabilities(),
            _ => self.build(&ANY).capabilities(),
        }
    }

    /// Returns these parameters with those of the guard in place of the paper's where neither was chosen: an uplink's queue
    /// does not count, and where the queue is that of others the sender competes.
    pub fn for_real_links(mut self) -> Spec {
        if let Spec::Drwa(drwa::Params { queue, .. }) | Spec::Rledbat(rledbat::Params { queue, .. }) =
            &mut self
        {
            queue.get_or_insert(Queue::Downlink);
        }
        if let Spec::Drwa(drwa::Params { competes, .. }) = &mut self {
            competes.get_or_insert(true);
        }
        self
    }

    /// Returns the part of this controller that runs at the data sender, and the carriage of its instructions; `None`:
    /// no such part.
    pub fn sender_half(&self) -> Option<(Carriage, Box<dyn SenderHalf>)> {
        let carriage = self.capabilities().sender_half?;
        Some((carriage, self.build(&ANY).sender_half()?))
    }
}

#[cfg(test)]
pub(crate) mod tests_support {
    use super::*;
    use airwnd_units::{Span, Time};

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
            one_way_delay: Some(now - sent_at),
            segments: 1,
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
    use airwnd_units::{Span, Time};
    use proptest::prelude::*;

    proptest! {
        /// Every algorithm offers at least two segments, or sends a code, after any sequence of arrivals.
        #[test]
        fn every_algorithm_offers_at_least_two_segments(
            events in prop::collection::vec((1..80_u64, 1..200_u64, 1..20_u64), 1..200),
        ) {
            for kind in Spec::built_in() {
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
