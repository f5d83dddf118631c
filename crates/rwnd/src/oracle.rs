//! The BDP window of an ideal receiver that knows the link.

use super::parts::small_windows::MIN_SEGMENTS;
use super::{
    Advertisement, Capabilities, DeviceLink, DeviceNeeds, ReceiverContext, RecvView, RwndController,
};
use airwnd_catalog::Params;
use airwnd_units::{Bytes, Span, Time};

/// Oracle: rwnd = known link rate x base RTT plus a small standing queue; an upper bound, not deployable.
///
/// The window is a share of the link's BDP, at least two segments:
///
/// ```math
/// \mathrm{rwnd} = \frac{\mathrm{rate} \cdot (\mathit{RTT}_{\text{base}} + \mathrm{standing}) +
/// \mathrm{extra} \cdot \mathrm{MSS}}{\mathrm{connections}}
/// ```
///
/// The rate is the payload rate at which full segments can reach the device now: the minimum along the path of each
/// wire's rate, the capacity of each link trace over the next RTT, and the rate of the cell at the UE's newest CQI
/// report. Each is shared equally with the other devices that have backlogged senders, after subtracting the traffic of
/// devices without one. RTTbase follows from the route: its delays, the transmission of a full segment and an ACK, and
/// the delays of an idle cell.
///
/// In a cell with a channel-aware scheduler (PF) this is no bound on throughput among several devices: a backlogged UE
/// is served at its channel peaks and receives more than an equal share.
///
/// The oracle has these values at no cost and without delay, and the sharing of links and cells with a delay of about
/// 10 ms; no receiver can have them. It does not predict its sender: a sender that loses segments, or reduces cwnd for
/// other reasons, leaves the link idle.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(
    source = "Kleinrock: Power and Deterministic Rules of Thumb for Probabilistic Problems in Computer \
              Communications, ICC 1979: power is maximal with rate * RTTbase in flight; the rest is \
              airwnd's"
)]
pub struct Params {
    /// Queueing delay of the standing queue that keeps the link busy.
    #[param(default = Span::from_millis(2), range = Span::ZERO..=Span::from_secs(10))]
    #[param(
        unit = "time",
        source = "not in the paper: one TTI in which ACKs accumulate, and one in which segments do"
    )]
    pub standing: Span,
    /// Additional segments of the standing queue.
    #[param(default = 2, range = 0..=1000)]
    #[param(
        unit = "segments",
        source = "not in the paper: an ACK waits for the second segment (RFC 1122 §4.2.3.2), which \
                  releases two segments at once"
    )]
    pub extra: u64,
}

/// State of an oracle.
#[derive(Clone, Debug)]
pub struct Oracle {
    params: Params,
}

impl Oracle {
    /// Creates an oracle, which gets the link's figures with each view.
    pub fn new(params: Params, _: &ReceiverContext) -> Oracle {
        Oracle { params }
    }

    fn share(&self, link: &DeviceLink, view: &RecvView) -> Bytes {
        let bytes = link.rate.0 as f64 * (link.base_rtt + self.params.standing).as_secs() / 8.0;
        let whole = bytes + (view.mss * self.params.extra).0 as f64;
        Bytes((whole / f64::from(view.device.connections.max(1))) as u64)
    }
}

impl RwndController for Oracle {
    fn capabilities(&self) -> Capabilities {
        Capabilities { needs: DeviceNeeds { connections: true, link: true }, ..Capabilities::default() }
    }

    fn window(&self, _: Time, view: &RecvView) -> Advertisement {
        view.offer(view.device.link.map_or(Bytes::ZERO, |link| self.share(&link, view)), MIN_SEGMENTS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Device;
    use crate::tests_support::{MSS, ctx, view};
    use airwnd_units::BitRate;
    use proptest::prelude::*;

    proptest! {
        /// Compares with the formula in floating-point seconds over random links.
        #[test]
        fn agrees_with_a_literal_transcription(
            rate in 0..2_000_000_000_u64,
            base_ms in 1..500_u64,
            connections in 0..50_u32,
            free in 2..30_000_u64,
        ) {
            let link = Some(DeviceLink { rate: BitRate(rate), base_rtt: Span::from_millis(base_ms) });
            let mut view = RecvView { free: Bytes(free * MSS), ..view(None) };
            view.device = Device { connections, link, ..Device::default() };
            let bandwidth_delay = rate as f64 / 8.0 * (base_ms as f64 + 2.0) / 1000.0;
            let expected = ((bandwidth_delay + 2.0 * MSS as f64) / f64::from(connections.max(1)))
                .max(2.0 * MSS as f64)
                .min((free * MSS) as f64);
            let Advertisement::Window(window) = Oracle::new(Params::default(), &ctx()).window(Time::ZERO, &view) else {
                panic!("no codes")
            };
            prop_assert!((window.0 as f64 - expected).abs() <= 1.0 + 1e-9 * expected, "{} {}", window.0, expected);
        }
    }
}
