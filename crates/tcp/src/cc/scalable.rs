//! Scalable TCP: multiplicative increase, multiplicative decrease.

use super::parts::window::{Window, keeps_window};
use super::{Ack, Congestion, CongestionControl, SenderContext};
use airwnd_catalog::Params;

/// Scalable TCP: cwnd grows by a constant fraction per RTT and shrinks by a constant fraction at a loss.
///
/// Each acknowledged segment adds a = `increase` segments:
///
/// ```math
/// \mathrm{cwnd} \leftarrow \mathrm{cwnd} + a
/// ```
///
/// A congestion event removes the fraction b = `decrease` of the bytes in flight:
///
/// ```math
/// \mathrm{cwnd} \leftarrow (1 - b) \, \mathrm{FlightSize}
/// ```
///
/// Up to `legacy_window` it is NewReno: 1 / cwnd per acknowledged segment, and half of the bytes in flight.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(
    source = "Kelly: Scalable TCP: Improving Performance in Highspeed Wide Area Networks, CCR 33(2), 2003"
)]
pub struct Params {
    /// Increase of cwnd per acknowledged segment, in segments (a); 1/50 in Linux and ns-3.44.
    #[param(basic, default = 0.01, range = 0.0001..=1.0)]
    #[param(unit = "1", source = "Kelly 2003, section 2 (a); ns-3.44 TcpScalable::AIFactor")]
    pub increase: f64,
    /// Fraction of the bytes in flight removed at a congestion event (b).
    #[param(basic, default = 0.125, range = 0.01..=0.9)]
    #[param(unit = "1", source = "Kelly 2003, section 2 (b); ns-3.44 TcpScalable::MDFactor")]
    pub decrease: f64,
    /// Window up to which it behaves as NewReno; 50 in Linux and ns-3.44.
    #[param(default = 16.0, range = 1.0..=10000.0)]
    #[param(unit = "segments", source = "Kelly 2003, section 2 (lwnd)")]
    pub legacy_window: f64,
}

/// State of Scalable TCP.
#[derive(Clone, Debug)]
pub struct Scalable {
    params: Params,
    window: Window,
}

impl Scalable {
    /// Creates the controller of a new connection.
    pub fn new(params: Params, ctx: &SenderContext) -> Scalable {
        Scalable { params, window: Window::new(ctx) }
    }
}

impl CongestionControl for Scalable {
    fn on_ack(&mut self, ack: &Ack) {
        let acked = self.window.count(ack.acked);
        let w = self.window.segments();
        if self.window.in_slow_start() {
            self.window.slow_start(acked.min(1.0));
        } else if w <= self.params.legacy_window {
            self.window.add(acked / w);
        } else {
            self.window.add(acked * self.params.increase);
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let w = self.window.count(event.in_flight);
        let taken = if w <= self.params.legacy_window { 0.5 } else { self.params.decrease };
        self.window.reduce(event, (1.0 - taken) * w);
    }

    keeps_window!(window);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Signal;
    use crate::cc::tests_support::{ack, congestion, ctx};
    use airwnd_units::Bytes;

    #[test]
    fn increase_of_a_hundredth_and_decrease_of_an_eighth() {
        let mut scalable = Scalable::new(Params::default(), &ctx(1000, 80));
        scalable.on_congestion(&congestion(Signal::Loss, 80_000));
        // 80 (1 - 1/8)
        assert_eq!(scalable.cwnd(), Bytes(70_000));
        // 70 segments are acknowledged
        scalable.on_ack(&ack(70_000));
        assert_eq!(scalable.cwnd(), Bytes(70_700));
    }

    #[test]
    fn small_windows_behave_as_newreno() {
        let mut scalable = Scalable::new(Params::default(), &ctx(1000, 16));
        scalable.on_congestion(&congestion(Signal::Loss, 16_000));
        assert_eq!(scalable.cwnd(), Bytes(8000));
        scalable.on_ack(&ack(8000));
        assert_eq!(scalable.cwnd(), Bytes(9000));
    }
}
