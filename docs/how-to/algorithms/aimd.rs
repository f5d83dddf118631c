//! Additive increase and multiplicative decrease with free constants.

use super::{Ack, Congestion, CongestionControl, SenderContext, Signal};
use airwnd_catalog::Params;
use airwnd_units::Bytes;

/// AIMD: additive increase of cwnd per RTT, multiplicative decrease at a congestion event.
///
/// On each ACK, and at a congestion event:
///
/// ```math
/// \mathrm{cwnd} \leftarrow \mathrm{cwnd} + \mathrm{increase} \cdot \mathrm{MSS} \cdot \frac{\mathrm{acked}}{\mathrm{cwnd}}
/// ```
///
/// ```math
/// \mathrm{cwnd} \leftarrow \mathrm{keep} \cdot \mathrm{flight}
/// ```
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "Chiu and Jain, Computer Networks and ISDN Systems 17, 1989, section 3")]
pub struct Params {
    /// Growth of cwnd per RTT.
    #[param(basic, default = 1.0, range = 0.01..=100.0)]
    #[param(unit = "segments", source = "Chiu and Jain 1989, eq. 7 (a_I)")]
    pub increase: f64,
    /// Fraction of the bytes in flight kept at a congestion event.
    #[param(basic, default = 0.5, range = 0.01..=0.99, unit = "1", source = "Chiu and Jain 1989, eq. 7 (b_D)")]
    pub keep: f64,
}

/// The state of AIMD.
#[derive(Clone, Debug)]
pub struct Aimd {
    params: Params,
    mss: f64,
    cwnd: f64,
}

impl Aimd {
    /// Creates the controller of a new connection.
    pub fn new(params: Params, ctx: &SenderContext) -> Aimd {
        Aimd { params, mss: ctx.mss.0 as f64, cwnd: ctx.initial_window.0 as f64 }
    }
}

impl CongestionControl for Aimd {
    fn on_ack(&mut self, ack: &Ack) {
        self.cwnd += self.params.increase * self.mss * ack.acked.0 as f64 / self.cwnd;
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let kept = match event.signal {
            Signal::Loss | Signal::Ecn => self.params.keep * event.in_flight.0 as f64,
            Signal::Timeout | Signal::RepeatedTimeout => self.mss,
        };
        self.cwnd = kept.max(self.mss);
    }

    fn cwnd(&self) -> Bytes {
        Bytes(self.cwnd as u64)
    }

    fn ssthresh(&self) -> Bytes {
        self.cwnd()
    }

    fn set_cwnd(&mut self, cwnd: Bytes) {
        self.cwnd = (cwnd.0 as f64).max(self.mss);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_of_acks_adds_the_increase() {
        let initial_ssthresh = Bytes(u64::MAX);
        let (initial_window, identity) = (Bytes(10_000), Default::default());
        let ctx = SenderContext { mss: Bytes(1000), initial_window, initial_ssthresh, seed: 1, identity };
        let mut aimd = Aimd::new(Params::default(), &ctx);
        let ack = Ack { acked: Bytes(10_000), round: 1, ..Ack::default() };
        // 10 kB + 1 x 1000 B x 10 kB / 10 kB
        aimd.on_ack(&ack);
        assert_eq!(aimd.cwnd(), Bytes(11_000));
    }
}
