//! A window from what only an oracle knows.

use super::parts::small_windows::LEAST;
use super::{Advertisement, Capabilities, DeviceLink, ReceiverContext, RecvView, RwndController, Wants};
use airwnd_catalog::Params;
use airwnd_units::{Bytes, Span, Time};

/// Oracle: the bound that a receiver could reach, told the link's rate and the empty round trip. It cannot be deployed.
///
/// rwnd = (rate * (RTTbase + `standing`) + `extra` segments) / connections, at least two segments. The rate is what
/// full segments' payload can come at to the device now: the least on its way of each wire's rate, what each
/// recording will carry in the next round trip, and what the cell would carry at the UE's newest report,
/// shared equally with the other devices whose senders have more to send, after what those take that do not. RTTbase
/// follows from the route: its delays, the transmission of a full segment and an ACK, and an idle cell's own delays.
///
/// In a cell whose scheduler follows the channel (PF) it is no bound on throughput among several devices: who always
/// has a queue is served at his best moments, and gets more than an equal share of the whole.
///
/// It knows these at no cost and at once, and who shares what some 10 ms later; no receiver can. It does not know
/// what its sender will do: one that loses segments or reduces cwnd for other reasons leaves the link idle.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(
    source = "Kleinrock, ICC 1979: power is greatest with rate * RTTbase under way; the rest is airwnd's"
)]
pub struct Params {
    /// Time for which a standing queue keeps the link busy.
    #[param(default = Span::from_millis(2), range = Span::ZERO..=Span::from_secs(10))]
    #[param(unit = "time", source = "not given; a TTI in which ACKs gather, and one in which segments do")]
    pub standing: Span,
    /// Segments of a standing queue besides.
    #[param(default = 2, range = 0..=1000)]
    #[param(
        unit = "segments",
        source = "not given; an ACK waits for the second segment (RFC 1122 §4.2.3.2), and then two go at \
                  once"
    )]
    pub extra: u64,
}

/// The state of an oracle.
#[derive(Clone, Debug)]
pub struct Oracle {
    params: Params,
}

impl Oracle {
    /// A receiver that will be told.
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
        Capabilities { wants: Wants { connections: true, link: true }, ..Capabilities::default() }
    }

    fn window(&self, _: Time, view: &RecvView) -> Advertisement {
        view.offer(view.device.link.map_or(Bytes::ZERO, |link| self.share(&link, view)), LEAST)
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
        /// Its formula in floating seconds over random links.
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
