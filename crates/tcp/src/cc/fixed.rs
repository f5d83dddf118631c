//! A constant congestion window.

use super::{Ack, Congestion, CongestionControl, SenderContext};
use airwnd_catalog::Params;
use airwnd_units::{BitRate, Bytes};

/// Fixed window: a constant cwnd, independent of loss and delay.
///
/// Losses are still repaired, and the bytes in flight never exceed the window. This is the constant phase of
/// constant-cwnd TCP (`constant`), and a neutral sender for studies of receive-window controls.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "RFC 5681 §2 (definition of cwnd)")]
pub struct Params {
    /// Congestion window.
    #[param(basic, default = 20, range = 1..=1_000_000)]
    #[param(unit = "segments", source = "ns-2 windowInit_ = 20 (default of window_)")]
    pub segments: u32,
}

/// State of the fixed window.
#[derive(Clone, Debug)]
pub struct Fixed {
    mss: Bytes,
    cwnd: Bytes,
    pacing_rate: Option<BitRate>,
}

impl Fixed {
    /// Creates the controller of a new connection.
    pub fn new(params: Params, ctx: &SenderContext) -> Fixed {
        Fixed { mss: ctx.mss, cwnd: ctx.mss * u64::from(params.segments), pacing_rate: None }
    }
}

impl CongestionControl for Fixed {
    fn on_ack(&mut self, _: &Ack) {}

    fn on_congestion(&mut self, _: &Congestion) {}

    fn cwnd(&self) -> Bytes {
        self.cwnd
    }

    fn ssthresh(&self) -> Bytes {
        self.cwnd
    }

    fn set_cwnd(&mut self, cwnd: Bytes) {
        self.cwnd = cwnd.max(self.mss);
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        self.pacing_rate
    }

    fn pace_at(&mut self, rate: Option<BitRate>) -> bool {
        self.pacing_rate = rate;
        true
    }
}
