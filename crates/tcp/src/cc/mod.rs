//! Congestion control: how much a sender may have in the network.
//!
//! A controller is policy. What is lost, what is sent again and when, and how the flight comes down during
//! recovery belong to the [`Endpoint`](crate::Endpoint).

pub mod outside;

use airwnd_catalog::{Error, Node, family};
use airwnd_units::{BitRate, Bytes, Span, Time};
use outside::Plugins;
use std::fmt::Debug;
use std::path::Path;

family! {
    /// Congestion control: how much the sender may have in the network.
    pub family Spec ("cc") { newreno: Newreno, fixed: Fixed, plugin: Plugin, python: Python }
    build fn build(ctx: &Ctx) -> Box<dyn CongestionControl>;
}

impl Spec {
    /// Whether it comes from outside the engine, and may therefore [fail](CongestionControl::failure).
    pub fn is_outside(&self) -> bool {
        matches!(self, Spec::Plugin(_) | Spec::Python(_))
    }

    /// Finds what makes a controller from outside; the engine's own have it already. `node` is what the
    /// user wrote, `folder` the one that files are relative to.
    ///
    /// # Errors
    /// A plug-in that is not registered, or what it has against its settings.
    pub fn link(&mut self, node: &Node, folder: &Path, plugins: &Plugins) -> Result<(), Error> {
        match self {
            Spec::Plugin(params) => *params = plugins.find_plugin(&params.head, node, folder)?,
            Spec::Python(params) => *params = plugins.find_python(&params.head, node, folder)?,
            _ => {}
        }
        Ok(())
    }
}

/// What a controller is told when the handshake ends.
#[derive(Clone, Copy, Debug)]
pub struct Ctx {
    /// Payload bytes of a full segment.
    pub mss: Bytes,
    /// The window to begin with.
    pub initial_window: Bytes,
    /// The slow-start threshold to begin with.
    pub initial_ssthresh: Bytes,
}

/// An ACK that made progress while the congestion window governs.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// When it arrived.
    pub now: Time,
    /// Bytes that it newly reports as arrived, cumulatively or by SACK. Zero is possible: an ACK may
    /// advance over bytes that SACKs reported before.
    pub acked: Bytes,
    /// The round-trip time that it measured, if it measured one.
    pub rtt: Option<Span>,
    /// Smoothed round-trip time.
    pub srtt: Option<Span>,
    /// Least round-trip time so far.
    pub min_rtt: Option<Span>,
    /// Bytes in the network after it.
    pub in_flight: Bytes,
    /// Round trips so far: a new one begins when data is acknowledged that was sent after the last began.
    pub round: u64,
    /// Bytes delivered to the receiver so far.
    pub delivered: Bytes,
}

/// What happened to the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Duplicate ACKs or SACKs showed a loss; at most once per window of data.
    Loss,
    /// The retransmission timer expired for a segment that it had not expired for before.
    Timeout,
    /// The timer expired once more for the same segment.
    RepeatedTimeout,
}

/// A sign of congestion.
#[derive(Clone, Copy, Debug)]
pub struct Congestion {
    /// When it was noticed.
    pub now: Time,
    /// Which sign.
    pub signal: Signal,
    /// The flight to compute a new threshold from, as `loss_flight` of [`Config`](crate::Config) has it.
    pub in_flight: Bytes,
}

/// Decides the congestion window.
///
/// [`on_ack`](CongestionControl::on_ack) comes for ACKs of new data outside loss recovery (after a timeout
/// slow start is part of it again), [`on_congestion`](CongestionControl::on_congestion) once when recovery
/// begins and at timeouts; [`cwnd`](CongestionControl::cwnd) is read after either and must be at least one
/// segment. While a loss is being repaired the endpoint limits the flight itself and comes down to `cwnd`.
pub trait CongestionControl: Debug + Send + Sync {
    /// An ACK made progress.
    fn on_ack(&mut self, ack: &Ack);
    /// The network showed congestion: `cwnd` is what it shall be when the loss is repaired, one segment after
    /// a timeout.
    fn on_congestion(&mut self, event: &Congestion);
    /// The congestion window.
    fn cwnd(&self) -> Bytes;
    /// The slow-start threshold.
    fn ssthresh(&self) -> Bytes;
    /// Somebody else decided: a window code ([`rwnd::arwa`](crate::rwnd::arwa)), or a restart after idleness.
    fn set_cwnd(&mut self, cwnd: Bytes);
    /// The rate to pace at, if at all.
    fn pacing_rate(&self) -> Option<BitRate> {
        None
    }
    /// Why it cannot go on, if it cannot: the run ends with this. The engine's own never fail, and are not
    /// asked.
    fn failure(&self) -> Option<&Error> {
        None
    }
}

#[cfg(test)]
pub(crate) mod tests_support {
    use super::*;

    pub fn ctx(mss: u64, segments: u64) -> Ctx {
        Ctx { mss: Bytes(mss), initial_window: Bytes(mss * segments), initial_ssthresh: Bytes(u64::MAX) }
    }

    pub fn ack(bytes: u64) -> Ack {
        Ack {
            now: Time::ZERO,
            acked: Bytes(bytes),
            rtt: None,
            srtt: None,
            min_rtt: None,
            in_flight: Bytes::ZERO,
            round: 0,
            delivered: Bytes(bytes),
        }
    }

    pub fn congestion(signal: Signal, in_flight: u64) -> Congestion {
        Congestion { now: Time::ZERO, signal, in_flight: Bytes(in_flight) }
    }
}

#[cfg(test)]
mod tests {
    use super::tests_support::{ack, congestion, ctx};
    use super::*;
    use airwnd_catalog::{Node, Param};
    use proptest::prelude::*;

    proptest! {
        /// What every member of the engine's own must keep, whatever happens.
        #[test]
        fn every_window_holds_at_least_one_segment(events in prop::collection::vec((0..5_u8, 0..20_000_u64), 1..300)) {
            for kind in ["newreno", "fixed"] {
                let node = Node::from_json(&format!("\"{kind}\""), "test").unwrap();
                let mut cc = Spec::read(&node).unwrap().build(&ctx(1000, 10));
                for &(event, bytes) in &events {
                    match event {
                        0 => cc.on_congestion(&congestion(Signal::Loss, bytes)),
                        1 => cc.on_congestion(&congestion(Signal::Timeout, bytes)),
                        _ => {
                            let before = cc.cwnd();
                            cc.on_ack(&ack(bytes));
                            prop_assert!(cc.cwnd() >= before.min(Bytes(1000)), "{} lost its window", kind);
                        }
                    }
                    prop_assert!(cc.cwnd() >= Bytes(1000), "{} below one segment", kind);
                }
            }
        }
    }
}
